import Foundation
import Testing

/// Another user than the owner: only root can try that.
@Suite("A stranger, seen from outside", .enabled(if: geteuid() == 0, "NOT RUN: it takes root")) struct StrangerTests {
    @Test("doctor says whose the files are, who asks, and what to do, where it may look at all")
    func doctor() throws {
        let program = try Program()
        #expect(try program.run("admin", "vendor", "create", "--slug", "acme").code == 0)
        for path in [program.folder, program.data] { try #require(chmod(path, 0o755) == 0) }
        let process = program.process(["doctor"])
        let path = try #require(process.executableURL?.path)
        process.executableURL = URL(filePath: "/usr/bin/setpriv")
        process.arguments = ["--reuid=54321", "--regid=54321", "--clear-groups", path, "doctor"]
        let errors = Pipe()
        process.standardError = errors

        try Program.start(process)
        let text = String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()

        #expect(process.terminationStatus == 1)
        for part in ["belongs to uid 0", "runs as uid 54321", "chown -R 54321 \(program.data)"] {
            #expect(text.contains(part), "\(text)")
        }
    }

    @Test("doctor says that it did not check constraints where it may read the database and not write to it")
    func constraints() throws {
        let program = try Program()
        #expect(try program.run("admin", "vendor", "create", "--slug", "acme").code == 0)
        for path in [program.folder, program.data] { try #require(chmod(path, 0o755) == 0) }
        for name in try FileManager.default.contentsOfDirectory(atPath: program.data)
        where name.hasPrefix("countersign") {
            try #require(chmod("\(program.data)/\(name)", 0o644) == 0)
        }
        // A lock that he may not open would be all that he is told.
        try FileManager.default.removeItem(atPath: program.data + "/serve.lock")
        let process = program.process(["doctor", "--json"])
        let path = try #require(process.executableURL?.path)
        process.executableURL = URL(filePath: "/usr/bin/setpriv")
        process.arguments = ["--reuid=54321", "--regid=54321", "--clear-groups", path, "doctor", "--json"]
        let errors = Pipe()
        process.standardError = errors

        try Program.start(process)
        let text = String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()

        #expect(process.terminationStatus == 1)
        #expect(text.contains("sound, but CHECK constraints were not checked"), "\(text)")
    }
}
