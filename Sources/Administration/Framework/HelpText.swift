/// What `help` and `--help` print.
struct HelpText {
    let commands: [Command]

    /// Help for the command of these words, for the group they begin, or for everything.
    func text(_ words: [String]) -> String {
        if let command = commands.first(where: { $0.path == words }) { return help(for: command) }
        return overview(words)
    }

    private func overview(_ words: [String]) -> String {
        let group = words.isEmpty ? "" : words.joined(separator: " ") + " "
        return """
            usage: countersign \(group)COMMAND [options]

            \(words.isEmpty ? everything : list { $0.path.starts(with: words) })

            \(globals)

            A group or command explains itself: countersign help admin license, countersign admin license issue --help

            """
    }

    /// Commands of their own with what they do, and those of `admin` by their noun: all of them fit on a screen.
    private var everything: String {
        var verbs: [(noun: String, verbs: [String])] = []
        for command in commands where command.path.count == 3 {
            let noun = command.path.prefix(2).joined(separator: " ")
            if let index = verbs.firstIndex(where: { $0.noun == noun }) {
                verbs[index].verbs.append(command.path[2])
            } else {
                verbs.append((noun, [command.path[2]]))
            }
        }
        let groups = columns(verbs.map { ($0.noun, $0.verbs.joined(separator: ", ")) })
        return "\(list { $0.path.count < 3 })\n\n\(groups)"
    }

    private func list(_ isShown: (Command) -> Bool) -> String {
        columns(commands.filter(isShown).map { ($0.name, $0.summary) })
    }

    private func help(for command: Command) -> String {
        var usage = "countersign \(command.name)"
        for parameter in command.parameters {
            let form = form(of: parameter)
            let repeated = parameter.isRepeatable ? "…" : ""
            usage += parameter.isRequired ? " \(form)\(repeated)" : " [\(form)]\(repeated)"
        }
        let parameters = command.parameters.map { (form(of: $0), $0.help) }
        return """
            \(command.summary)

            usage: \(usage)

            \(parameters.isEmpty ? "" : columns(parameters) + "\n\n")\(globals)

            example:
              countersign \(command.example)

            """
    }

    private func form(of parameter: ParameterSpecification) -> String {
        parameter.form == .option ? "\(parameter.shown) \(parameter.placeholder)" : parameter.shown
    }

    private var globals: String {
        "everywhere:\n"
            + columns([
                ("--data DIR", "the folder of the database (COUNTERSIGN_DATA, ./data)"),
                ("--config FILE", "settings, see config/countersign.example.json5"),
                ("--json", "one JSON object, also for failures (on standard error)"),
                ("--quiet", "no confirmations and no notes"),
                ("--test-clock FILE", "the time is the RFC 3339 instant in FILE: for trials of ends, never for sale"),
                ("--help", "this"),
            ])
    }

    private func columns(_ rows: [(String, String)]) -> String {
        let width = min(34, rows.map { $0.0.count }.max() ?? 0)
        return rows.map { left, right in
            left.count > width
                ? "  \(left)\n  \(String(repeating: " ", count: width))  \(right)"
                : "  \(left)\(String(repeating: " ", count: width - left.count))  \(right)"
        }.joined(separator: "\n")
    }
}
