internal import Licensing

/// One call of a command: what was written for each of its parameters.
public struct Invocation: Sendable {
    /// What was called.
    public let command: Command
    /// Texts by parameter name.
    let texts: [String: [String]]

    /// The value of an option or argument; `nil` where it is left out.
    ///
    /// - Throws: `CommandFailure` (`USAGE`) when the text is no such value.
    public func value<Value>(_ parameter: Parameter<Value>) throws(CommandFailure) -> Value? {
        try values(parameter).last
    }

    /// The value of an option or argument that the command requires.
    ///
    /// - Throws: As `value`.
    public func required<Value>(_ parameter: Parameter<Value>) throws(CommandFailure) -> Value {
        guard let value = try value(parameter) else { throw .missing(parameter.specification, command) }
        return value
    }

    /// Every value of a repeatable option or argument, in the order they were written.
    ///
    /// - Throws: As `value`.
    public func values<Value>(_ parameter: Parameter<Value>) throws(CommandFailure) -> [Value] {
        precondition(
            command.parameters.contains { $0.name == parameter.specification.name },
            "\(command.name) must declare \(parameter.specification.shown)"
        )
        var values: [Value] = []
        for text in texts[parameter.specification.name] ?? [] {
            do {
                values.append(try parameter.parse(text))
            } catch {
                throw .usage("\(parameter.specification.shown) \(error.reason)", option: parameter.specification.shown)
            }
        }
        return values
    }

    /// Whether a flag is there.
    public func isSet(_ flag: Parameter<Bool>) -> Bool { texts[flag.specification.name] != nil }

    /// Whether everything is to be undone at the end.
    public var isDryRun: Bool { texts[CommonParameters.dryRun.specification.name] != nil }

    /// `--limit`, 100 where it is left out.
    ///
    /// - Throws: As `value`.
    public func limit() throws(CommandFailure) -> Int { try value(CommonParameters.limit) ?? 100 }

    /// `--cursor`.
    ///
    /// - Throws: As `value`.
    public func cursor() throws(CommandFailure) -> String? { try value(CommonParameters.cursor) }
}

extension CommandFailure {
    static func missing(_ parameter: ParameterSpecification, _ command: Command) -> CommandFailure {
        let form = parameter.form == .option ? "\(parameter.shown) \(parameter.placeholder)" : parameter.shown
        return .usage(
            "\(command.name) needs \(form); see countersign \(command.name) --help",
            option: parameter.shown
        )
    }
}
