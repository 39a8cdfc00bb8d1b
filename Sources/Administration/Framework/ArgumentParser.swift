/// What a command line asks for.
struct ParsedLine {
    enum Wish {
        /// Run a command.
        case command(Invocation)
        /// Show a command's help, or a group's, or that of all.
        case help([String])
    }

    let wish: Wish
    let globals: GlobalOptions
}

/// The options that may stand anywhere after `countersign`.
public struct GlobalOptions: Hashable, Sendable {
    /// `--data DIR`.
    public var data: String?
    /// `--config FILE`.
    public var config: String?
    /// `--test-clock FILE`.
    public var testClock: String?
    /// `--json`.
    public var isJSON = false
    /// `--quiet`.
    public var isQuiet = false
    /// `--help`.
    var isHelp = false

    static let valued = ["data", "config", "test-clock"]
    static let flags = ["json", "quiet", "help"]
}

/// Reads a command line; knows nothing of what the values mean.
struct ArgumentParser {
    let commands: [Command]

    /// - Throws: `CommandFailure` (`USAGE`).
    func parse(_ arguments: [String]) throws(CommandFailure) -> ParsedLine {
        var globals = GlobalOptions()
        var rest = arguments[...]
        var words: [String] = []
        // Words of the command, with global options between them, as far as they lead to one.
        while let next = rest.first {
            if next == "-h" {
                globals.isHelp = true
            } else if next == "--version", words.isEmpty {
                words = ["version"]
            } else if let option = Option(next) {
                guard try take(option, rest.dropFirst().first, into: &globals) else { break }
                if GlobalOptions.valued.contains(option.name), option.value == nil { rest.removeFirst() }
            } else {
                let longer = words + [next]
                guard !next.hasPrefix("-"), commands.contains(where: { $0.path.starts(with: longer) }) else { break }
                words = longer
            }
            rest.removeFirst()
        }
        if words.first == "help" {
            let topic = try topic(rest, &globals)
            return ParsedLine(wish: .help(topic), globals: globals)
        }
        guard let command = commands.first(where: { $0.path == words }) else {
            if globals.isHelp || rest.contains("--help") || rest.contains("-h") {
                return ParsedLine(wish: .help(words), globals: globals)
            }
            throw unknown(rest.first, after: words)
        }
        var texts: [String: [String]] = [:]
        try parse(rest, of: command, into: &texts, &globals)
        if globals.isHelp { return ParsedLine(wish: .help(words), globals: globals) }
        for parameter in command.parameters where parameter.isRequired && texts[parameter.name] == nil {
            throw .missing(parameter, command)
        }
        return ParsedLine(wish: .command(Invocation(command: command, texts: texts)), globals: globals)
    }

    /// `--name` or `--name=value`.
    private struct Option {
        let name: String
        let value: String?

        init?(_ text: String) {
            guard text.hasPrefix("--"), text != "--" else { return nil }
            let body = text.dropFirst(2)
            let equals = body.firstIndex(of: "=")
            name = String(body[..<(equals ?? body.endIndex)])
            value = equals.map { String(body[body.index(after: $0)...]) }
        }
    }

    /// Takes a global option; false when it is none.
    private func take(
        _ option: Option,
        _ next: String?,
        into globals: inout GlobalOptions
    ) throws(CommandFailure) -> Bool {
        if GlobalOptions.flags.contains(option.name) {
            guard option.value == nil else { throw .takesNoValue(option.name) }
            switch option.name {
            case "json": globals.isJSON = true
            case "quiet": globals.isQuiet = true
            default: globals.isHelp = true
            }
            return true
        }
        guard GlobalOptions.valued.contains(option.name) else { return false }
        let text = try value(of: option, next)
        guard !text.isEmpty else { throw .needsValue(option.name) }
        switch option.name {
        case "data": try set(&globals.data, text, option.name)
        case "config": try set(&globals.config, text, option.name)
        default: try set(&globals.testClock, text, option.name)
        }
        return true
    }

    private func set(_ place: inout String?, _ text: String, _ name: String) throws(CommandFailure) {
        guard place == nil else { throw .twice(name) }
        place = text
    }

    private func value(of option: Option, _ next: String?) throws(CommandFailure) -> String {
        if let value = option.value { return value }
        guard let next, !next.hasPrefix("--") else { throw .needsValue(option.name) }
        return next
    }

    private func parse(
        _ arguments: ArraySlice<String>,
        of command: Command,
        into texts: inout [String: [String]],
        _ globals: inout GlobalOptions
    ) throws(CommandFailure) {
        var rest = arguments
        var places = command.parameters.filter { $0.form == .argument }[...]
        var isWordsOnly = false
        while let next = rest.popFirst() {
            if next == "--", !isWordsOnly {
                isWordsOnly = true
            } else if next == "-h", !isWordsOnly {
                globals.isHelp = true
            } else if let option = Option(next), !isWordsOnly {
                if try take(option, rest.first, into: &globals) {
                    if GlobalOptions.valued.contains(option.name), option.value == nil { rest.removeFirst() }
                    continue
                }
                guard let known = command.parameters.first(where: { $0.form != .argument && $0.name == option.name })
                else { throw unknown(option.name, of: command) }
                guard known.isRepeatable || texts[known.name] == nil else { throw .twice(known.name) }
                if known.form == .flag {
                    guard option.value == nil else { throw .takesNoValue(known.name) }
                    texts[known.name] = [""]
                } else {
                    texts[known.name, default: []].append(try value(of: option, rest.first))
                    if option.value == nil { rest.removeFirst() }
                }
            } else {
                if next.hasPrefix("-"), next != "-", !isWordsOnly { throw unknown(next, of: command) }
                guard let place = places.first else {
                    // Not which one: it may be a license key.
                    throw .usage("\(command.name) takes no further argument; see countersign \(command.name) --help")
                }
                texts[place.name, default: []].append(next)
                if !place.isRepeatable { places.removeFirst() }
            }
        }
    }

    // MARK: What is not known

    private func unknown(_ option: String, of command: Command) -> CommandFailure {
        let known =
            command.parameters.filter { $0.form != .argument }.map(\.name)
            + GlobalOptions.valued + GlobalOptions.flags
        let dashed = option.hasPrefix("-") ? option : "--\(option)"
        return .usage(
            "\(command.name) has no option \(dashed)\(Spelling.hint(option, in: known, "--"))",
            option: dashed
        )
    }

    private func unknown(_ word: String?, after words: [String]) -> CommandFailure {
        let group = words.joined(separator: " ")
        let following = Set(
            commands.filter { $0.path.starts(with: words) && $0.path.count > words.count }.map { $0.path[words.count] }
        ).sorted()
        guard let word else {
            return .usage(
                group.isEmpty
                    ? "a command is missing; see countersign help"
                    : "\(group) needs one of: \(following.joined(separator: ", "))"
            )
        }
        if word.hasPrefix("-") {
            let known = GlobalOptions.valued + GlobalOptions.flags + ["version"]
            let hint = Spelling.hint(String(word.drop { $0 == "-" }), in: known, "--")
            return .usage("there is no option \(word) before a command\(hint)", option: word)
        }
        let place = group.isEmpty ? "countersign" : group
        return .usage("\(place) has no command '\(word)'\(Spelling.hint(word, in: following))")
    }

    /// The words after `help`, of a command or of the group of some.
    private func topic(
        _ arguments: ArraySlice<String>,
        _ globals: inout GlobalOptions
    ) throws(CommandFailure) -> [String] {
        var rest = arguments
        var words: [String] = []
        while let next = rest.popFirst() {
            if let option = Option(next), try take(option, rest.first, into: &globals) {
                if GlobalOptions.valued.contains(option.name), option.value == nil { rest.removeFirst() }
            } else {
                let longer = words + [next]
                guard commands.contains(where: { $0.path.starts(with: longer) }) else {
                    throw unknown(next, after: words)
                }
                words = longer
            }
        }
        return words
    }
}

extension CommandFailure {
    fileprivate static func needsValue(_ name: String) -> CommandFailure {
        .usage("--\(name) needs a value (one that begins with -- is written --\(name)=VALUE)", option: "--\(name)")
    }

    fileprivate static func takesNoValue(_ name: String) -> CommandFailure {
        .usage("--\(name) takes no value", option: "--\(name)")
    }

    fileprivate static func twice(_ name: String) -> CommandFailure {
        .usage("--\(name) is there twice", option: "--\(name)")
    }
}
