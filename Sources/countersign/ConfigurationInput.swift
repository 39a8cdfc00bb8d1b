/// A value as it was written, before the setting it belongs to has read it.
enum ConfigurationInput: Equatable, Sendable {
    /// As if the setting were not there.
    case null
    case bool(Bool)
    /// A number as it stands in the file.
    case number(String)
    /// A string of the file, a variable of the environment or the argument of a flag.
    case text(String)
    case list([ConfigurationInput])

    /// How the value is shown in a message.
    var shown: String {
        switch self {
        case .null: "null"
        case .bool(let flag): flag ? "true" : "false"
        case .number(let digits): digits
        case .text(let text): "'\(text)'"
        case .list: "a list"
        }
    }
}

/// Why a setting cannot have a value: words that follow its name.
struct SettingProblem: Error, Equatable {
    let words: String

    init(_ words: String) {
        self.words = words
    }
}

/// Where a value comes from.
enum ConfigurationOrigin: Hashable, Sendable, CustomStringConvertible {
    case file(path: String, line: Int)
    case environment(String)
    case flag(String)

    var description: String {
        switch self {
        case .file(let path, let line): "\(path):\(line)"
        case .environment(let name): "environment variable \(name)"
        case .flag(let name): "option \(name)"
        }
    }
}

/// What stops the start: every mistake found, one a line, each with its setting and the place it comes from.
struct ConfigurationError: Error, Equatable, CustomStringConvertible {
    struct Problem: Equatable, Sendable {
        /// The name as the operator wrote it; empty for a file that cannot be read at all.
        let setting: String
        let words: String
        let origin: ConfigurationOrigin
    }

    let problems: [Problem]

    var description: String {
        problems.map { problem in
            "\(problem.origin): \(problem.setting.isEmpty ? "" : problem.setting + ": ")\(problem.words)"
        }.joined(separator: "\n")
    }
}
