import Administration
import Foundation
import Storage
import StrictJSON
import Synchronization
import Testing

/// A folder of its own for one test, gone with the last reference.
final class Folder: Sendable {
    let path: String

    init() {
        path = NSTemporaryDirectory() + "countersign-admin-" + UUID().uuidString
        try? FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// What one command line printed, and how it ended.
struct Ending {
    let code: Int32
    let out: String
    let error: String

    /// The object on standard output.
    func json() throws -> JSONValue { try JSONDocument(parsing: Array(out.utf8)).root }

    /// The error object on standard error.
    func failure() throws -> JSONValue {
        try #require(try JSONDocument(parsing: Array(error.utf8)).root["error"])
    }

    func failureCode() throws -> String? { try failure()["code"]?.string }
}

/// Runs command lines as functions against a folder of its own.
struct Console {
    let folder = Folder()
    var environment: [String: String] = [:]
    /// What `-` reads.
    var input: [UInt8] = []
    /// Hears what is written on standard error, as it is written; then progress is shown, as on a terminal.
    var watch: (@Sendable (String) -> Void)?
    /// The file of a test clock, which every command line is then given.
    private var clock: String?

    var data: String { folder.path + "/data" }

    /// A console whose commands take this instant for now, until another one is set.
    static func at(_ instant: String) throws -> Console {
        var console = Console()
        console.clock = try console.set(clock: instant)
        return console
    }

    @discardableResult
    func set(clock instant: String) throws -> String { try file("test-clock", instant) }

    private final class Capture: Sendable {
        let bytes = Mutex<[UInt8]>([])
        var text: String { String(decoding: bytes.withLock { $0 }, as: UTF8.self) }
    }

    /// Runs `countersign` with these arguments, as written, `--data` added, and `--test-clock` where there is one.
    func run(_ arguments: [String], data: String? = nil) -> Ending {
        let (out, error) = (Capture(), Capture())
        let (input, watch) = (input, watch)
        let read: (@Sendable (String, Int) throws -> [UInt8])? = input.isEmpty ? nil : { @Sendable _, _ in input }
        let surroundings = Surroundings(
            output: CommandOutput(
                isWatched: watch != nil,
                standard: { bytes in out.bytes.withLock { $0 += bytes } },
                error: { bytes in
                    error.bytes.withLock { $0 += bytes }
                    watch?(String(decoding: bytes, as: UTF8.self))
                }
            ),
            environment: environment,
            settings: { environment, options in
                CommandSettings(
                    data: options.data ?? "",
                    masterKeyFile: environment["COUNTERSIGN_MASTER_KEY_FILE"],
                    baseURL: environment["COUNTERSIGN_BASE_URL"],
                    lockWait: .milliseconds(100)
                )
            },
            readFile: read,
            actor: "command-line:tester",
            synchronous: .off
        )
        let added = ["--data", data ?? self.data] + (clock.map { ["--test-clock", $0] } ?? [])
        let code = CommandLineTool().run(arguments + added, in: surroundings)
        return Ending(code: code, out: out.text, error: error.text)
    }

    /// Runs a command line whose arguments are parted by blanks, none of them inside one.
    func run(_ line: String) -> Ending { run(line.split(separator: " ").map(String.init)) }

    /// Runs it with `--json`; it must succeed.
    @discardableResult
    func json(_ line: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> JSONValue {
        try json(line.split(separator: " ").map(String.init), sourceLocation: sourceLocation)
    }

    /// The same for arguments with blanks in them.
    @discardableResult
    func json(_ arguments: [String], sourceLocation: SourceLocation = #_sourceLocation) throws -> JSONValue {
        let ending = run(arguments + ["--json"])
        #expect(ending.code == 0, "\(ending.error)", sourceLocation: sourceLocation)
        #expect(ending.error.isEmpty, sourceLocation: sourceLocation)
        return try ending.json()
    }

    /// Runs it with `--json`; it must fail.
    func failure(
        _ line: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> (exit: Int32, code: String, error: JSONValue) {
        try failure(line.split(separator: " ").map(String.init), sourceLocation: sourceLocation)
    }

    func failure(
        _ arguments: [String],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> (exit: Int32, code: String, error: JSONValue) {
        let ending = run(arguments + ["--json"])
        #expect(ending.code != 0, sourceLocation: sourceLocation)
        #expect(ending.out.isEmpty, "a failure prints nothing on standard output", sourceLocation: sourceLocation)
        let error = try ending.failure()
        return (ending.code, try #require(error["code"]?.string), error)
    }

    /// Vendor `acme`, product `acme/editor`, features `pro_unlock` and `export`, plan `pro`.
    func prepared() throws -> Console {
        try json(["admin", "vendor", "create", "--slug", "acme", "--name", "Acme Software"])
        try json("admin product create --vendor acme --slug editor --name Editor --key-prefix ACME")
        try json("admin feature create --product acme/editor --code pro_unlock --name Pro")
        try json("admin feature create --product acme/editor --code export")
        try json(
            "admin plan create --product acme/editor --code pro --features pro_unlock,export --seats 3 --duration P1Y"
        )
        return self
    }

    /// Writes a file beside the data folder and answers its path.
    func file(_ name: String, _ text: String) throws -> String {
        let path = "\(folder.path)/\(name)"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    /// Runs SQL on the database behind the command line's back; what changes the schema alone is kept, too.
    func sql(_ statement: StaticString) throws {
        var options = Database.Options(now: { 0 })
        options.synchronous = .off
        _ = try Database(folder: data, options: options).openForCommandLine().write { db in
            try db.run(statement)
            try db.probe()
        }
    }

    /// The mode of a file's permissions.
    func mode(of path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }
}

extension JSONValue {
    /// The texts of an array.
    var texts: [String] { elements?.compactMap(\.string) ?? [] }

    /// Follows names and array positions.
    func at(_ path: String) -> JSONValue? {
        path.split(separator: ".").reduce(Optional(self)) { value, step in
            guard let value else { return nil }
            if let index = Int(step), let elements = value.elements { return Array(elements).dropFirst(index).first }
            return value[String(step)]
        }
    }
}
