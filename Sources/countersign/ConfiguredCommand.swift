import Administration
import HTTPServer
import SystemPrimitives

/// What commands take from the same configuration that `serve` reads.
enum ConfiguredCommand {
    /// Reads the configuration for one command line.
    ///
    /// - Parameters:
    ///   - flags: Settings named by options of the command itself.
    ///   - isAnew: Whether the file is read once more, by a server that runs: it must be a regular one then. Else it is read
    ///     once, since of a pipe nothing comes twice.
    /// - Throws: `CommandFailure` naming every setting that is wrong: `CONFIGURATION`, or `USAGE` where it is options of the
    ///   command line alone whose values are none.
    static func load(
        _ environment: [String: String],
        _ options: GlobalOptions,
        flags: [Configuration.Flag] = [],
        isAnew: Bool = false
    ) throws -> LoadedConfiguration {
        var flags = flags
        if let data = options.data { flags.append(Configuration.Flag("data", [data])) }
        do {
            let path = options.config ?? environment["COUNTERSIGN_CONFIG"].flatMap { $0.isEmpty ? nil : $0 }
            let file = try path.map { try isAnew ? ConfigurationFile(reading: $0, waits: false) : first($0) }
            return try Configuration.load(file: file, environment: environment, flags: flags)
        } catch let error as ConfigurationError {
            if let option = error.option { throw CommandFailure.usage(error.description, option: option) }
            throw CommandFailure(code: "CONFIGURATION", error.description)
        }
    }

    /// The file as it was when it was first asked for.
    private static func first(_ path: String) throws(ConfigurationError) -> ConfigurationFile {
        try read.withLock { (read) throws(ConfigurationError) in
            if let file = read, file.path == path { return file }
            let file = try ConfigurationFile(reading: path, waits: true)
            read = file
            return file
        }
    }

    private static let read = Guarded<ConfigurationFile?>(nil)

    /// What a command needs of it.
    ///
    /// - Throws: As `load`.
    static func settings(_ environment: [String: String], _ options: GlobalOptions) throws -> CommandSettings {
        let configuration = try load(environment, options).configuration
        return CommandSettings(
            data: configuration.data,
            masterKeyFile: configuration.masterKeyFile,
            baseURL: configuration.baseURL ?? configuration.listen.first?.localURL,
            port: configuration.listen.first.map { Int($0.port) } ?? 8080,
            lockWait: .seconds(configuration.lockWaitSeconds)
        )
    }
}

extension ConfigurationError {
    /// The first option that is wrong, where nothing else is. A file that cannot be read is no matter of how the command
    /// line is written.
    fileprivate var option: String? {
        let options = problems.compactMap { problem -> String? in
            guard case .flag(let name) = problem.origin, !problem.setting.isEmpty else { return nil }
            return name
        }
        return options.count == problems.count ? options.first : nil
    }
}
