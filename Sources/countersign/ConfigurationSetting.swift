/// One setting: its name, what may be written and what it means.
struct Setting: Sendable {
    /// The name in files and messages: `limits.body_bytes`.
    let name: String
    /// What may be written: `bytes, 1024 to 16777216`.
    let words: String
    /// What it means, in whole sentences.
    let documentation: String
    /// The command line's option for it.
    let flag: String?
    /// Whether SIGHUP applies a change; others wait for the next start.
    let isReloadable: Bool
    /// Whether `--print-config` hides the value.
    let isSecret: Bool

    /// Reads a value into a configuration.
    let assign: @Sendable (ConfigurationInput, inout Configuration) throws(SettingProblem) -> Void
    /// The value a configuration has.
    let value: @Sendable (Configuration) -> ConfigurationInput
    /// Takes the value over from another configuration.
    let copy: @Sendable (Configuration, inout Configuration) -> Void

    init<Value>(
        _ name: String,
        _ path: any WritableKeyPath<Configuration, Value> & Sendable,
        _ type: SettingType<Value>,
        flag: String? = nil,
        isReloadable: Bool = false,
        isSecret: Bool = false,
        _ documentation: String
    ) {
        self.name = name
        words = type.words
        self.documentation = documentation
        self.flag = flag
        self.isReloadable = isReloadable
        self.isSecret = isSecret
        assign = { (input, configuration) throws(SettingProblem) in
            configuration[keyPath: path] = try type.read(input)
        }
        value = { type.write($0[keyPath: path]) }
        copy = { $1[keyPath: path] = $0[keyPath: path] }
    }

    /// The name in the environment: `COUNTERSIGN_LIMITS_BODY_BYTES`.
    var variable: String {
        "COUNTERSIGN_" + name.uppercased().map { $0 == "." ? "_" : String($0) }.joined()
    }

    /// The setting of that name.
    static func named(_ name: String) -> Setting? {
        all.first { $0.name == name }
    }
}
