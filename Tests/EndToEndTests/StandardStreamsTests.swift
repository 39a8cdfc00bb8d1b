import Foundation
import Glibc
import Testing

@Suite("Standard streams, seen from outside", .timeLimit(.minutes(30))) struct StandardStreamsTests {
    @Test(
        "where whoever starts a server has closed them, no file of the database gets their numbers, or what is printed",
        // The process lets nobody but root look at its descriptors.
        .enabled(if: geteuid() == 0, "NOT RUN: it takes root"),
        arguments: ["<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", "<&- >&- 2>&-"]
    )
    func closed(how: String) async throws {
        let program = try Program()
        #expect(try program.run("admin", "vendor", "create", "--slug", "acme").code == 0)
        let process = program.process(["serve", "--listen", "127.0.0.1:0"])
        process.arguments =
            ["-c", "exec \"$0\" \"$@\" \(how)", process.executableURL?.path ?? ""] + (process.arguments ?? [])
        process.executableURL = URL(filePath: "/bin/sh")
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try Program.start(process)
        let descriptors = "/proc/\(process.processIdentifier)/fd"
        func target(_ number: String) -> String? {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "\(descriptors)/\(number)")
        }

        await wait {
            let numbers = (try? FileManager.default.contentsOfDirectory(atPath: descriptors)) ?? []
            return !process.isRunning || numbers.contains { target($0)?.hasSuffix("/countersign.db-wal") == true }
        }
        let targets = ["0", "1", "2"].map(target)
        kill(process.processIdentifier, SIGTERM)
        process.waitUntilExit()

        for (stream, target) in zip(["<", ">", "2>"], targets) where how.split(separator: " ").contains("\(stream)&-") {
            #expect(target == "/dev/null", "\(stream)")
        }
        #expect(targets.allSatisfy { $0?.hasPrefix(program.data) == false }, "\(targets)")
        #expect(process.terminationReason == .exit && process.terminationStatus == 0)
        for lock in ["serve.lock", "write.lock"] {
            let text = try String(contentsOfFile: "\(program.data)/\(lock)", encoding: .utf8)
            #expect(!text.contains("listening") && !text.contains("{"), "\(lock): \(text)")
        }
    }

    @Test("a command whose output is closed says that a secret was seen by nobody, and fails")
    func closedOutput() throws {
        let program = try Program()
        #expect(try program.run("admin", "vendor", "create", "--slug", "acme").code == 0)
        let process = program.process([
            "-c", "exec \"$0\" admin credential create --vendor acme --kind sk >&-",
            program.process([]).executableURL?.path ?? "",
        ])
        process.executableURL = URL(filePath: "/bin/sh")
        let errors = "\(program.folder)/errors"
        try Data().write(to: URL(filePath: errors))
        process.standardError = try FileHandle(forWritingTo: URL(filePath: errors))
        try Program.start(process)
        process.waitUntilExit()

        #expect(process.terminationStatus == 1)
        #expect(try String(contentsOfFile: errors, encoding: .utf8).contains("was seen by nobody"))
    }

    @Test(
        "a server that cannot print where it listens says so in its log, serves, and heeds SIGTERM",
        arguments: [false, true]
    )
    func unreadOutput(isPipe: Bool) async throws {
        let program = try Program()
        let process = program.process(["serve", "--listen", "127.0.0.1:0"])
        // Full, and nobody reads it.
        let pipe = Pipe()
        if isPipe {
            let number = pipe.fileHandleForWriting.fileDescriptor
            let flags = fcntl(number, F_GETFL)
            try #require(fcntl(number, F_SETFL, flags | O_NONBLOCK) == 0)
            let bytes = [UInt8](repeating: 0x78, count: 4096)
            while write(number, bytes, bytes.count) > 0 {}
            try #require(fcntl(number, F_SETFL, flags) == 0)
            process.standardOutput = pipe
        } else {
            process.standardOutput = try FileHandle(forWritingTo: URL(filePath: "/dev/full"))
        }
        let errors = "\(program.folder)/errors"
        try Data().write(to: URL(filePath: errors))
        process.standardError = try FileHandle(forWritingTo: URL(filePath: errors))
        try Program.start(process)
        func log() throws -> String { try String(contentsOfFile: errors, encoding: .utf8) }

        try await wait { try !process.isRunning || log().contains("not_printed") }
        kill(process.processIdentifier, SIGTERM)
        process.waitUntilExit()

        #expect(process.terminationReason == .exit && process.terminationStatus == 0)
        let said = try log()
        #expect(said.contains(#""started""#), "\(said)")
    }
}
