public import Licensing

/// What a command takes, as help shows it and the parser knows it.
public struct ParameterSpecification: Hashable, Sendable {
    /// The three forms.
    public enum Form: Hashable, Sendable {
        /// `--name VALUE` or `--name=VALUE`.
        case option
        /// `--name`.
        case flag
        /// A word of its own; its place is that in the command's list.
        case argument
    }

    /// Which form.
    public let form: Form
    /// Without dashes; of an argument, what it is called in messages.
    public let name: String
    /// What help shows in the value's place.
    public let placeholder: String
    /// One sentence without a stop.
    public let help: String
    /// Whether the command refuses to run without it.
    public let isRequired: Bool
    /// Whether it may be there several times.
    public let isRepeatable: Bool

    /// How messages name it: `--slug`, or `FILE`.
    public var shown: String { form == .argument ? placeholder : "--\(name)" }
}

/// One value that a command takes, and how its text is read.
public struct Parameter<Value: Sendable>: Sendable {
    /// As help shows it and the parser knows it.
    public let specification: ParameterSpecification
    let parse: @Sendable (String) throws(ValueFault) -> Value

    /// `--name PLACEHOLDER`.
    public static func option(
        _ name: String,
        _ placeholder: String,
        _ help: String,
        isRequired: Bool = false,
        isRepeatable: Bool = false,
        _ parse: @escaping @Sendable (String) throws(ValueFault) -> Value
    ) -> Parameter {
        Parameter(
            specification: ParameterSpecification(
                form: .option,
                name: name,
                placeholder: placeholder,
                help: help,
                isRequired: isRequired,
                isRepeatable: isRepeatable
            ),
            parse: parse
        )
    }

    /// A word of its own.
    public static func argument(
        _ placeholder: String,
        _ help: String,
        isRequired: Bool = true,
        isRepeatable: Bool = false,
        _ parse: @escaping @Sendable (String) throws(ValueFault) -> Value
    ) -> Parameter {
        Parameter(
            specification: ParameterSpecification(
                form: .argument,
                name: placeholder,
                placeholder: placeholder,
                help: help,
                isRequired: isRequired,
                isRepeatable: isRepeatable
            ),
            parse: parse
        )
    }

    /// The same, refused when it is left out.
    public var required: Parameter {
        Parameter(
            specification: ParameterSpecification(
                form: specification.form,
                name: specification.name,
                placeholder: specification.placeholder,
                help: specification.help,
                isRequired: true,
                isRepeatable: specification.isRepeatable
            ),
            parse: parse
        )
    }
}

extension Parameter where Value == Bool {
    /// `--name`, which takes no value.
    public static func flag(_ name: String, _ help: String) -> Parameter<Bool> {
        Parameter(
            specification: ParameterSpecification(
                form: .flag,
                name: name,
                placeholder: "",
                help: help,
                isRequired: false,
                isRepeatable: false
            ),
            parse: { _ in true }
        )
    }
}
