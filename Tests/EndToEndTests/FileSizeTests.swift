import Foundation
import Testing

/// A limit on the size of files (RLIMIT_FSIZE) is told by a signal that ends whoever does not ignore it.
@Suite("A file that may not grow") struct FileSizeTests {
    /// The same process, started by a shell that lets no file become longer than `bytes`, rounded up.
    private func limit(_ process: Process, to bytes: Int) throws -> Process {
        let program = try #require(process.executableURL?.path)
        // A unit of 512 bytes: POSIX, "ulimit".
        process.arguments =
            ["-c", "ulimit -f \((bytes + 511) / 512) && exec \"$0\" \"$@\"", program] + (process.arguments ?? [])
        process.executableURL = URL(filePath: "/bin/sh")
        return process
    }

    private func size(of path: String) throws -> Int {
        try #require(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
    }

    @Test("a server answers writes with 503 and goes on reading, and ends when it is told to")
    func serving() async throws {
        let program = try Program()
        let first = try program.serve("--demo")
        let lines = try first.output(through: "KEY=").split(separator: "\n")
        let token = String(try #require(lines.first { $0.hasPrefix("PK=") }).dropFirst(3))
        let key = String(try #require(lines.first { $0.hasPrefix("KEY=") }).dropFirst(4))
        #expect(try first.stop().code == 0)
        let room = try size(of: program.data + "/countersign.db") + 65_536
        let server = try RunningServer(
            try limit(program.process(["serve", "--listen", "127.0.0.1:0"]), to: room),
            log: program.folder + "/limited.log"
        )

        var refusals: [String] = []
        for number in 0..<5000 where refusals.count < 6 {
            let install = ["install_id": "install-number-\(number)"]
            let answer = try await server.post("/v1/sync", token: token, install, untilDecided: false)
            if answer.status != 200 { refusals.append("\(answer.status) \(answer.json["code"] as? String ?? "")") }
        }

        #expect(refusals == Array(repeating: "503 UNAVAILABLE", count: 6))
        let asked = try await server.post("/v1/validate", token: token, ["license_key": key])
        #expect(asked.status == 200 && asked.json["code"] as? String == "VALID")
        #expect(try server.stop().code == 0)
    }

    @Test("a command ends with 1 and one line that says so, and leaves no half file")
    func command() throws {
        let program = try Program()
        #expect(try program.run("admin", "vendor", "create", "--slug", "acme").code == 0)
        let process = try limit(program.process(["backup", program.folder + "/copy.db", "--json"]), to: 65_536)
        let errors = Pipe()
        process.standardError = errors

        try Program.start(process)
        let text = try errors.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()

        #expect(process.terminationReason == .exit && process.terminationStatus == 1)
        let object = try #require(try JSONSerialization.jsonObject(with: text) as? [String: [String: Any]])
        #expect(object["error"]?["code"] as? String == "DISK_FULL")
        let files = try FileManager.default.contentsOfDirectory(atPath: program.folder)
        #expect(!files.contains { $0.hasPrefix("copy") })
    }
}
