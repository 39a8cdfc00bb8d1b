internal import Licensing
internal import LicensingServices

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

    /// `--cursor` of a list whose pages are found in the list itself, see `Page`.
    ///
    /// - Throws: As `value`.
    public func cursor() throws(CommandFailure) -> String? { try value(CommonParameters.cursor) }

    /// `--cursor` of a list in the order of ids, which goes on also where the one named is gone meanwhile.
    ///
    /// - Throws: As `value`, also for what is no id of such a thing.
    func cursor<Entity>(of _: Entity.Type) throws(CommandFailure) -> Identifier<Entity>? {
        guard let text = try cursor() else { return nil }
        guard let id = Identifier<Entity>(text) else { throw .noSuchCursor }
        return id
    }
}

/// The cursor of a list in the order of names: the last one of the page before.
enum NameCursor {
    /// Refuses a cursor that names nothing: what has a name is never taken away, so that no page has ended there.
    ///
    /// - Parameter find: Finds what the text names; a `ValueFault` or a `Refusal` says that there is none.
    /// - Throws: `CommandFailure` (`USAGE`), and whatever else `find` throws.
    static func check(_ cursor: String?, _ find: (String) throws -> Void) throws {
        guard let cursor else { return }
        do {
            try find(cursor)
        } catch is ValueFault {
            throw CommandFailure.noSuchCursor
        } catch is Refusal {
            throw CommandFailure.noSuchCursor
        }
    }
}

extension CommandFailure {
    /// A cursor that no list of this kind has told.
    static var noSuchCursor: CommandFailure { .usage("--cursor is none of this list", option: "--cursor") }

    static func missing(_ parameter: ParameterSpecification, _ command: Command) -> CommandFailure {
        let form = parameter.form == .option ? "\(parameter.shown) \(parameter.placeholder)" : parameter.shown
        return .usage(
            "\(command.name) needs \(form); see countersign \(command.name) --help",
            option: parameter.shown
        )
    }
}
