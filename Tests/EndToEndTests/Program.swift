import Foundation
import FoundationNetworking
import Synchronization
import Testing

/// Asks again and again until it is so, for ten minutes at most.
func wait(_ place: SourceLocation = #_sourceLocation, for isSo: () async throws -> Bool) async rethrows {
    let end = ContinuousClock.now + .seconds(600)
    while try await !isSo() {
        guard ContinuousClock.now < end else {
            Issue.record("it never came to that", sourceLocation: place)
            return
        }
        await Task.yield()
    }
}

/// The built executable, run as a process with an environment of its own in a folder of its own.
final class Program {
    let folder: String

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("e2e-\(UUID().uuidString)").path
        // Where root's tests become somebody else, they have to come through, whatever the umask is.
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o755]
        )
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    var data: String { folder + "/data" }

    static var path: URL { Bundle.main.bundleURL.appendingPathComponent("countersign") }

    func process(_ arguments: [String], _ environment: [String: String] = [:]) -> Process {
        let process = Process()
        process.executableURL = FileManager.default.isExecutableFile(atPath: Self.path.path) ? Self.path : Self.beside
        process.arguments = arguments
        // A sanitizer that this runs under is told the same.
        let sanitized = ProcessInfo.processInfo.environment.filter { $0.key.hasSuffix("SAN_OPTIONS") }
        process.environment = ["COUNTERSIGN_DATA": data, "PATH": "/usr/bin:/bin"].merging(sanitized) { $1 }
            .merging(environment) { $1 }
        return process
    }

    /// Where `swift test` runs the tests from inside a bundle, the executable lies beside that.
    private static var beside: URL {
        Bundle.main.bundleURL.deletingLastPathComponent().appendingPathComponent("countersign")
    }

    private static let starting = Mutex(())

    /// Starts a process, one at a time: of two at once, the one may get the socket by which Foundation hears of the other's
    /// end, and who waits for the other would wait for both.
    static func start(_ process: Process) throws { try starting.withLock { _ in try process.run() } }

    struct Outcome {
        let code: Int32
        let output: String
        let errors: String
    }

    /// Runs a command to its end.
    func run(_ arguments: String..., environment: [String: String] = [:]) throws -> Outcome {
        try run(arguments, environment: environment)
    }

    /// Runs a command to its end.
    func run(_ arguments: [String], environment: [String: String] = [:]) throws -> Outcome {
        let process = process(arguments, environment)
        let files = ["out", "err"].map { "\(folder)/\(UUID().uuidString).\($0)" }
        process.standardOutput = try newFile(files[0])
        process.standardError = try newFile(files[1])
        try Self.start(process)
        process.waitUntilExit()
        return Outcome(
            code: process.terminationStatus,
            output: try String(contentsOfFile: files[0], encoding: .utf8),
            errors: try String(contentsOfFile: files[1], encoding: .utf8)
        )
    }

    /// Starts a server and waits for its first line.
    func serve(_ arguments: String...) throws -> RunningServer {
        try RunningServer(process(["serve", "--listen", "127.0.0.1:0"] + arguments), log: "\(folder)/server.log")
    }

    /// Starts a server that may hold so many descriptors and no more.
    func serve(descriptors: Int) throws -> RunningServer {
        // Clients that wait while the machine stands still are not slow ones.
        let patient = ["COUNTERSIGN_LIMITS_HEADER_SECONDS": "0", "COUNTERSIGN_LIMITS_IDLE_SECONDS": "0"]
        let process = process(["serve", "--listen", "127.0.0.1:0"], patient)
        let executable = process.executableURL?.path ?? ""
        let limited = "ulimit -n \(descriptors) && exec \"$0\" \"$@\""
        process.arguments = ["-c", limited, executable] + (process.arguments ?? [])
        process.executableURL = URL(filePath: "/bin/sh")
        return try RunningServer(process, log: "\(folder)/server.log")
    }
}

/// An empty file, open for a process to write to.
private func newFile(_ path: String) throws -> FileHandle {
    try Data().write(to: URL(filePath: path))
    return try FileHandle(forWritingTo: URL(filePath: path))
}

/// A server that runs until it is stopped.
final class RunningServer {
    let process: Process
    let firstLine: String
    private let pipe = Pipe()

    init(_ process: Process, log: String) throws {
        self.process = process
        process.standardOutput = pipe
        process.standardError = try newFile(log)
        try Program.start(process)
        var line: [UInt8] = []
        while let byte = try pipe.fileHandleForReading.read(upToCount: 1)?.first, byte != UInt8(ascii: "\n") {
            line.append(byte)
        }
        firstLine = String(decoding: line, as: UTF8.self)
    }

    deinit { if process.isRunning { process.terminate() } }

    var url: String { String(firstLine.dropFirst("listening on ".count)) }

    /// Ends it as an operator would; its exit code, and the rest of what it printed.
    func stop() throws -> (code: Int32, output: String) {
        process.terminate()
        process.waitUntilExit()
        let rest = try pipe.fileHandleForReading.readToEnd() ?? Data()
        return (process.terminationStatus, String(decoding: rest, as: UTF8.self))
    }

    /// What it printed after its first line so far, up to and with the line that begins with `prefix`.
    func output(through prefix: String) throws -> String {
        var text: [UInt8] = []
        while let byte = try pipe.fileHandleForReading.read(upToCount: 1)?.first {
            text.append(byte)
            guard byte == UInt8(ascii: "\n") else { continue }
            let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
            if lines.last?.hasPrefix(prefix) == true { break }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// One call with a JSON body; again where the server had trouble of its own, as a machine that stands still for two
    /// seconds is for it, unless that is what the test is about.
    func post(_ path: String, token: String, _ body: [String: String], untilDecided: Bool = true) async throws -> (
        status: Int, json: [String: Any]
    ) {
        // Only so that what lasts ends.
        let end = ContinuousClock.now + .seconds(600)
        while true {
            let answer = try await ask(path, token: token, body)
            if answer.status != 503 || !untilDecided || ContinuousClock.now > end { return answer }
        }
    }

    private func ask(_ path: String, token: String, _ body: [String: String]) async throws -> (
        status: Int, json: [String: Any]
    ) {
        var request = URLRequest(url: try #require(URL(string: url + path)))
        request.httpMethod = "POST"
        request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.httpBody = try JSONSerialization.data(withJSONObject: body)
        let (data, response) = try await URLSession.shared.data(for: request)
        let json = try JSONSerialization.jsonObject(with: data) as? [String: Any]
        return (try #require(response as? HTTPURLResponse).statusCode, try #require(json))
    }
}
