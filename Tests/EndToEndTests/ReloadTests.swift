import Foundation
import Glibc
import Testing

@Suite("SIGHUP, seen from outside", .timeLimit(.minutes(30))) struct ReloadTests {
    @Test("a configuration that cannot be read is told in the log; the server goes on, and heeds SIGTERM")
    func pipe() async throws {
        let program = try Program()
        let configuration = "\(program.folder)/c.json5"
        try Data("{}".utf8).write(to: URL(filePath: configuration))
        let server = try program.serve("--config", configuration)
        // Nobody ever writes to it.
        #expect(unlink(configuration) == 0 && mkfifo(configuration, 0o600) == 0)
        func log() throws -> String { try String(contentsOfFile: program.folder + "/server.log", encoding: .utf8) }

        kill(server.process.processIdentifier, SIGHUP)
        try await wait { try log().contains("reload_refused") || !server.process.isRunning }

        #expect(try log().contains("is no regular file"))
        #expect(try server.stop().code == 0)
    }
}
