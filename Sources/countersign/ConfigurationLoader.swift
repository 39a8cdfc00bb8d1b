import Administration
import Glibc

/// The text of a configuration file.
struct ConfigurationFile: Equatable, Sendable {
    /// As messages name it.
    let path: String
    let text: String

    /// The longest file that is read, in bytes.
    private static let longest = 1_048_576

    /// A file whose text is known.
    init(path: String, text: String) {
        self.path = path
        self.text = text
    }

    /// Reads a file of the system.
    ///
    /// - Parameter waits: Whether a pipe is waited for, or another file that is no regular one: whoever starts a command may
    ///   want that, a server that runs has other things to do.
    /// - Throws: `ConfigurationError` where it cannot be read, is longer than 1 MiB or is not UTF-8.
    init(reading path: String, waits: Bool) throws(ConfigurationError) {
        func refused(_ words: String) -> ConfigurationError {
            ConfigurationError(problems: [.init(setting: "", words: words, origin: .flag("--config \(path)"))])
        }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | (waits ? 0 : O_NONBLOCK))
        guard descriptor >= 0 else { throw refused("cannot be opened: \(String(cString: strerror(errno)))") }
        defer { _ = close(descriptor) }
        var facts = stat()
        guard waits || (fstat(descriptor, &facts) == 0 && facts.st_mode & S_IFMT == S_IFREG) else {
            throw refused("is no regular file")
        }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &chunk, chunk.count)
            guard count >= 0 else { throw refused("cannot be read: \(String(cString: strerror(errno)))") }
            if count == 0 { break }
            bytes += chunk[..<count]
            guard bytes.count <= Self.longest else { throw refused("is longer than \(Self.longest) bytes") }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw refused("is not UTF-8") }
        self.init(path: path, text: text)
    }
}

/// A configuration with the places its values come from.
struct LoadedConfiguration: Equatable, Sendable {
    let configuration: Configuration
    /// For each setting that was set, by name, where.
    let origins: [String: ConfigurationOrigin]
}

extension Configuration {
    /// One option of the command line that is a setting, such as `--listen`, with all its arguments.
    struct Flag: Equatable, Sendable {
        /// The setting's name.
        let setting: String
        let values: [String]

        init(_ setting: String, _ values: [String]) {
            self.setting = setting
            self.values = values
        }
    }

    /// Variables that begin like settings and are none.
    private static let reservedVariables: Set = ["COUNTERSIGN_CONFIG"]

    /// Reads settings: defaults, over them the file, over it the environment, over it the command line.
    ///
    /// - Parameters:
    ///   - environment: all of the process's; what does not begin with `COUNTERSIGN_` is passed over, and so is an empty
    ///     value, which is what unset variables become in many a compose file.
    ///   - flags: of the command line; a setting with several values is a list.
    /// - Throws: `ConfigurationError` with every mistake found: unknown names, values outside their range.
    static func load(
        file: ConfigurationFile? = nil,
        environment: [String: String] = [:],
        flags: [Flag] = []
    ) throws(ConfigurationError) -> LoadedConfiguration {
        var loader = ConfigurationLoader()
        if let file {
            loader.add(file)
        }
        loader.add(environment: environment)
        for flag in flags {
            let values = flag.values.map(ConfigurationInput.text)
            let spelling = Setting.named(flag.setting)?.flag ?? "--\(flag.setting)"
            loader.set(flag.setting, values.count == 1 ? values[0] : .list(values), from: .flag(spelling))
        }
        guard loader.problems.isEmpty else { throw ConfigurationError(problems: loader.problems) }
        return LoadedConfiguration(configuration: loader.configuration, origins: loader.origins)
    }

    /// This configuration with those settings of `new` that may change while the server runs.
    ///
    /// - Returns: the names of settings that differ and wait for the next start, too.
    func reloaded(from new: Configuration) -> (configuration: Configuration, waiting: [String]) {
        var configuration = self
        var waiting: [String] = []
        for setting in Setting.all where setting.value(new) != setting.value(self) {
            if setting.isReloadable {
                setting.copy(new, &configuration)
            } else {
                waiting.append(setting.name)
            }
        }
        return (configuration, waiting)
    }

    /// Whether `name` is a variable that Kubernetes makes for a service called `countersign`, such as
    /// `COUNTERSIGN_PORT=tcp://10.0.0.7:8080`:
    /// https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
    fileprivate static func isForeign(_ name: String) -> Bool {
        if reservedVariables.contains(name) { return true }
        let rest = name.dropFirst("COUNTERSIGN_".count)
        if rest == "PORT" || rest == "SERVICE_HOST" || rest == "SERVICE_PORT" || rest.hasPrefix("SERVICE_PORT_") {
            return true
        }
        let words = rest.split(separator: "_")
        return words.count >= 3 && words[0] == "PORT" && Digits.value(words[1]) != nil
            && ["TCP", "UDP", "SCTP"].contains(words[2])
    }
}

/// Collects values and mistakes.
private struct ConfigurationLoader {
    var configuration = Configuration()
    var origins: [String: ConfigurationOrigin] = [:]
    var problems: [ConfigurationError.Problem] = []

    mutating func add(_ file: ConfigurationFile) {
        do throws(ConfigurationSyntax.Failure) {
            for member in try ConfigurationSyntax.members(of: file.text) {
                set(member.path, member.value, from: .file(path: file.path, line: member.line))
            }
        } catch {
            refuse("", error.words, .file(path: file.path, line: error.line))
        }
    }

    mutating func add(environment: [String: String]) {
        let variables = Dictionary(uniqueKeysWithValues: Setting.all.map { ($0.variable, $0.name) })
        for (name, value) in environment.sorted(by: { $0.key < $1.key })
        where name.hasPrefix("COUNTERSIGN_") && !Configuration.isForeign(name) {
            guard let setting = variables[name] else {
                let hint = Spelling.hint(name, in: Array(variables.keys))
                refuse(name, "there is no such setting" + hint, .environment(name))
                continue
            }
            if !value.isEmpty {
                set(setting, .text(value), from: .environment(name))
            }
        }
    }

    mutating func set(_ name: String, _ input: ConfigurationInput, from origin: ConfigurationOrigin) {
        guard let setting = Setting.named(name) else {
            if Setting.all.contains(where: { $0.name.hasPrefix(name + ".") }) {
                refuse(name, "is a group of settings: { … }", origin)
            } else {
                let hint = Spelling.hint(name, in: Setting.all.map(\.name))
                refuse(name, "there is no such setting" + hint, origin)
            }
            return
        }
        guard input != .null else { return }
        do throws(SettingProblem) {
            try setting.assign(input, &configuration)
            origins[name] = origin
        } catch {
            let words = setting.isSecret ? "cannot have this value (\(setting.words))" : error.words
            refuse(name, words, origin)
        }
    }

    private mutating func refuse(_ name: String, _ words: String, _ origin: ConfigurationOrigin) {
        problems.append(.init(setting: name, words: words, origin: origin))
    }
}
