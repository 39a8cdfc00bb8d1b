import Foundation
import Glibc
import SystemTestSupport
import Testing

@Suite(
    "A start that waits, seen from outside",
    .enabled(if: geteuid() == 0, "NOT RUN: it takes root"),
    .timeLimit(.minutes(30))
) struct WaitingStartTests {
    @Test(
        "SIGTERM and SIGINT end it with 0 while somebody else holds a lock",
        arguments: ["serve.lock", "write.lock"],
        [SIGTERM, SIGINT]
    )
    func told(lock name: String, signal: Int32) throws {
        let program = try Program()
        #expect(try program.run("admin", "vendor", "create", "--slug", "acme").code == 0)
        let path = "\(program.data)/\(name)"
        let lock = try HeldLock(path)
        defer { lock.release() }
        // It ends by itself, and with another code, where it does not listen.
        let process = program.process(["serve", "--listen", "127.0.0.1:0"], ["COUNTERSIGN_LOCK_WAIT": "PT10M"])
        let errors = "\(program.folder)/errors"
        try Data().write(to: URL(filePath: errors))
        process.standardError = try FileHandle(forWritingTo: URL(filePath: errors))
        process.standardOutput = FileHandle.nullDevice
        try Program.start(process)

        // It has come to the lock when it has its file open.
        let descriptors = "/proc/\(process.processIdentifier)/fd"
        func isThere() -> Bool {
            let numbers = (try? FileManager.default.contentsOfDirectory(atPath: descriptors)) ?? []
            return numbers.contains { number in
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(descriptors)/\(number)")
                return target?.hasSuffix(name) == true
            }
        }
        while process.isRunning && !isThere() {}
        kill(process.processIdentifier, signal)
        process.waitUntilExit()

        #expect(process.terminationReason == .exit && process.terminationStatus == 0)
        let said = try String(contentsOfFile: errors, encoding: .utf8)
        #expect(!said.contains(#""error":{"#) && !said.contains("error: "), "\(said)")
    }
}
