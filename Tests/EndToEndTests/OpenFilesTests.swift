import Foundation
import Testing

@Suite("Files that others may use, seen from outside") struct OpenFilesTests {
    private func shop() throws -> Program {
        let program = try Program()
        #expect(try program.run("admin", "vendor", "create", "--slug", "acme").code == 0)
        return program
    }

    @Test(
        "a server does not start where others may write, and says what to do",
        arguments: ["", "/countersign.db", "/write.lock"]
    )
    func refused(name: String) throws {
        let program = try shop()
        let path = program.data + name
        try #require(chmod(path, 0o777) == 0)

        let outcome = try program.run("serve", "--listen", "127.0.0.1:0")

        #expect(outcome.code == 1 && outcome.output.isEmpty)
        #expect(outcome.errors.contains("fix: chmod o= \(path)"), "\(outcome.errors)")
    }

    @Test(
        "what a group may do, or others read, is told in the log once",
        arguments: [0o770, 0o2770, 0o755] as [mode_t]
    )
    func told(mode: mode_t) throws {
        let program = try shop()
        try #require(chmod(program.data, mode) == 0)

        let server = try program.serve()
        #expect(try server.stop().code == 0)

        let log = try String(contentsOfFile: program.folder + "/server.log", encoding: .utf8)
        let lines = log.split(separator: "\n").filter { $0.contains(#""files_open""#) }
        #expect(lines.count == 1)
        #expect(lines.first?.contains(#""level":"warning""#) == true && lines.first?.contains("chmod go=") == true)
    }

    @Test("nothing is told of files that are closed")
    func closed() throws {
        let program = try shop()
        let server = try program.serve()
        #expect(try server.stop().code == 0)

        let log = try String(contentsOfFile: program.folder + "/server.log", encoding: .utf8)
        #expect(!log.contains("files_open"))
    }
}
