import Foundation
import Testing

/// What other users of the machine see of a command that runs.
@Suite("The list of processes") struct ProcessListTests {
    @Test("shows no argument of a command: it may be a license key")
    func arguments() throws {
        let program = try Program()
        let process = program.process(["bundle", "inspect", "-", "--data", program.data + "-of-somebody"])
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardError = output

        try Program.start(process)
        // It waits for its input then, and has read its arguments long before.
        input.fileHandleForWriting.write(Data("no bundle".utf8))
        var words: [Substring] = []
        // Only so that what hangs ends.
        let end = ContinuousClock.now + .seconds(600)
        repeat {
            let list = try String(contentsOfFile: "/proc/\(process.processIdentifier)/cmdline", encoding: .utf8)
            words = list.split(separator: "\0")
            // Not yet the program, or not yet as far as its arguments, which it takes one after the other.
        } while process.isRunning && words.dropFirst() != ["bundle"] && ContinuousClock.now < end
        try input.fileHandleForWriting.close()
        _ = try output.fileHandleForReading.readToEnd()
        process.waitUntilExit()

        #expect(words.dropFirst() == ["bundle"])
        #expect(process.terminationStatus != 0)
    }
}
