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

    @Test("a server takes its configuration from a pipe at its start")
    func pipeAtStart() async throws {
        let program = try Program()
        let configuration = "\(program.folder)/c.json5"
        #expect(mkfifo(configuration, 0o600) == 0)
        let process = program.process(["serve", "--print-config", "--config", configuration])
        let output = "\(program.folder)/output"
        try Data().write(to: URL(filePath: output))
        process.standardOutput = try FileHandle(forWritingTo: URL(filePath: output))
        try Program.start(process)

        try Data("{shutdown_grace:'PT7S'}".utf8).write(to: URL(filePath: configuration))
        process.waitUntilExit()

        #expect(process.terminationStatus == 0)
        #expect(try String(contentsOfFile: output, encoding: .utf8).contains("PT7S"))
    }
}
