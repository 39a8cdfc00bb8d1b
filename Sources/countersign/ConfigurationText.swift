/// A configuration as a file that could be read again.
enum ConfigurationText {
    /// JSON5 with the place each value comes from; values of secret settings are masked.
    static func printed(_ loaded: LoadedConfiguration) -> String {
        document(loaded.configuration) { setting in
            [loaded.origins[setting.name].map { "from \($0)" } ?? "default"]
        }
    }

    /// Plain JSON without comments; values of secret settings are masked.
    static func json(_ configuration: Configuration) -> String {
        document(configuration, isJSON: true) { _ in [] }
    }

    /// The file `config/countersign.example.json5`: every setting with its default.
    static let example =
        """
        // Every setting of countersign with its default. Give this file by --config; leave out what you do not change.
        // Each setting may also come from the environment: limits.body_bytes is COUNTERSIGN_LIMITS_BODY_BYTES, and the
        // items of a list are separated by commas. Order: defaults < file < environment < options.
        // countersign serve --print-config shows what holds, and where from.
        // "SIGHUP": a change holds as soon as the running server gets that signal; others wait for the next start.

        """
        + document(Configuration()) { setting in
            var words = setting.words
            words = words.prefix(1).uppercased() + words.dropFirst() + "."
            if let flag = setting.flag {
                words += " Option \(flag)."
            }
            if setting.isReloadable {
                words += " SIGHUP."
            }
            return [setting.documentation, words]
        }

    private static func document(
        _ configuration: Configuration,
        isJSON: Bool = false,
        comments: (Setting) -> [String]
    ) -> String {
        var lines = ["{"]
        var group: [Substring] = []
        for setting in Setting.all {
            var names = setting.name.split(separator: ".")
            guard let name = names.popLast() else { continue }
            let common = zip(group, names).prefix { $0 == $1 }.count
            close(group.count - common, of: &group, isJSON, in: &lines)
            for opened in names[common...] {
                lines.append(indent(group) + quoted(String(opened), isName: !isJSON) + ": {")
                group.append(opened)
            }
            for comment in comments(setting) {
                lines += wrapped(comment, indent(group) + "// ")
            }
            let value = setting.isSecret ? .text("********") : setting.value(configuration)
            lines.append(indent(group) + quoted(String(name), isName: !isJSON) + ": " + written(value) + ",")
        }
        close(group.count, of: &group, isJSON, in: &lines)
        withoutLastComma(isJSON, &lines)
        return lines.joined(separator: "\n") + "\n}\n"
    }

    private static func close(_ count: Int, of group: inout [Substring], _ isJSON: Bool, in lines: inout [String]) {
        for _ in 0..<count {
            withoutLastComma(isJSON, &lines)
            group.removeLast()
            lines.append(indent(group) + "},")
        }
    }

    /// JSON has no comma before a closing brace.
    private static func withoutLastComma(_ isJSON: Bool, _ lines: inout [String]) {
        if isJSON, let last = lines.popLast() {
            lines.append(String(last.dropLast()))
        }
    }

    private static func indent(_ group: [Substring]) -> String {
        String(repeating: "  ", count: group.count + 1)
    }

    private static func written(_ value: ConfigurationInput) -> String {
        switch value {
        case .null: "null"
        case .bool(let flag): flag ? "true" : "false"
        case .number(let digits): digits
        case .text(let text): quoted(text, isName: false)
        case .list(let items): "[" + items.map(written).joined(separator: ", ") + "]"
        }
    }

    private static func quoted(_ text: String, isName: Bool) -> String {
        if isName { return text }
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }

    /// `text` in lines of at most 118 characters, each after `lead`.
    private static func wrapped(_ text: String, _ lead: String) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty && lead.count + line.count + 1 + word.count > 118 {
                lines.append(lead + line)
                line = ""
            }
            line += (line.isEmpty ? "" : " ") + word
        }
        return lines + [lead + line]
    }
}
