internal import Cryptography
public import Licensing
internal import LicensingServices
public import Storage
internal import SystemPrimitives

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// Where what a command prints goes.
public struct CommandOutput: Sendable {
    /// Writes all bytes to standard output, or throws.
    public let standard: @Sendable ([UInt8]) throws -> Void
    /// Writes all bytes to standard error, or throws.
    public let error: @Sendable ([UInt8]) throws -> Void
    /// Whether somebody watches standard error, so that progress is worth showing.
    public let isWatched: Bool

    /// An output of these two.
    public init(
        isWatched: Bool = false,
        standard: @escaping @Sendable ([UInt8]) throws -> Void,
        error: @escaping @Sendable ([UInt8]) throws -> Void
    ) {
        self.isWatched = isWatched
        self.standard = standard
        self.error = error
    }
}

/// What commands need of an operator's settings.
public struct CommandSettings: Hashable, Sendable {
    /// The folder of the database.
    public var data: String
    /// `COUNTERSIGN_MASTER_KEY_FILE`; `nil`: `master.key` in the folder.
    public var masterKeyFile: String?
    /// The URL that clients use; `nil`: a server on this machine.
    public var baseURL: String?
    /// Where the server of this machine listens for `health`.
    public var port: Int
    /// How long a command waits for `write.lock`.
    public var lockWait: Duration

    /// Settings of these members.
    public init(
        data: String = "./data",
        masterKeyFile: String? = nil,
        baseURL: String? = nil,
        port: Int = 8080,
        lockWait: Duration = .seconds(10)
    ) {
        self.data = data
        self.masterKeyFile = masterKeyFile
        self.baseURL = baseURL
        self.port = port
        self.lockWait = lockWait
    }

    /// Those of the environment alone.
    static func read(_ environment: [String: String], _ options: GlobalOptions) throws -> CommandSettings {
        guard options.config == nil else {
            throw CommandFailure(code: "CONFIGURATION", "this program reads no configuration file")
        }
        func text(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        return CommandSettings(
            data: options.data ?? text("COUNTERSIGN_DATA") ?? "./data",
            masterKeyFile: text("COUNTERSIGN_MASTER_KEY_FILE"),
            baseURL: text("COUNTERSIGN_BASE_URL")
        )
    }
}

/// Everything of the world that a command may touch.
public struct Surroundings: Sendable {
    /// Where it prints.
    public var output: CommandOutput
    /// The process's variables, read once.
    public var environment: [String: String]
    /// Makes settings of the variables and of `--data` and `--config`; throws `CommandFailure` (`CONFIGURATION`).
    public var settings: @Sendable (_ environment: [String: String], _ options: GlobalOptions) throws -> CommandSettings
    /// Reads a small file, or standard input for `-`, of at most so many bytes.
    public var readFile: @Sendable (_ path: String, _ limit: Int) throws -> [UInt8]
    /// Where randomness comes from.
    public var entropy: any Entropy
    /// Who acts: `command-line:<user>`.
    public var actor: String
    /// `full`, but in tests.
    public var synchronous: Database.Synchronous

    /// Surroundings of these members; those left out are the process's.
    public init(
        output: CommandOutput,
        environment: [String: String],
        settings: (@Sendable (_ environment: [String: String], _ options: GlobalOptions) throws -> CommandSettings)? =
            nil,
        readFile: (@Sendable (_ path: String, _ limit: Int) throws -> [UInt8])? = nil,
        entropy: (any Entropy)? = nil,
        actor: String,
        synchronous: Database.Synchronous = .full
    ) {
        self.output = output
        self.environment = environment
        self.settings = settings ?? { try CommandSettings.read($0, $1) }
        self.readFile = readFile ?? { path, limit in try SmallFile.read(path, upTo: limit).bytes }
        self.entropy = entropy ?? SystemEntropy()
        self.actor = actor
        self.synchronous = synchronous
    }

    /// Those of this process. From here on a closed pipe, and a file that the process may not make larger, is an error of
    /// the write and no signal that ends it.
    public static func process(
        environment: [String: String],
        settings:
            @escaping @Sendable (_ environment: [String: String], _ options: GlobalOptions) throws ->
            CommandSettings
    ) -> Surroundings {
        _ = signal(SIGPIPE, SIG_IGN)
        _ = signal(SIGXFSZ, SIG_IGN)
        return Surroundings(
            output: CommandOutput(
                isWatched: isatty(2) == 1,
                standard: { try writeAll($0, to: 1) },
                error: { try writeAll($0, to: 2) }
            ),
            environment: environment,
            settings: settings,
            actor: "command-line:\(userName())"
        )
    }

    private static func writeAll(_ bytes: [UInt8], to number: Int32) throws(SystemError) {
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { write(number, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                throw .last("write")
            }
            written += count
        }
    }

    /// The name of the user who called, or the uid where it has none, as in most containers.
    private static func userName() -> String {
        let user = getuid()
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 4096)
        guard getpwuid_r(user, &entry, &buffer, buffer.count, &found) == 0, let found, let name = found.pointee.pw_name
        else { return "\(user)" }
        return String(cString: name)
    }
}
