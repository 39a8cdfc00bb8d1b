internal import SystemPrimitives

/// The command line: finds the command, runs it, prints what came of it.
public struct CommandLineTool: Sendable {
    private let commands: [Command]

    /// - Parameter more: Commands of the executable's own, such as `serve`.
    public init(adding more: [Command] = []) { commands = more + Command.all }

    /// Runs one command line.
    ///
    /// - Parameter arguments: Those after the program's name.
    /// - Returns: 0 done, 1 refused or failed, 2 the command line cannot be understood.
    public func run(_ arguments: [String], in surroundings: Surroundings) -> Int32 {
        // Also where the line cannot be parsed, its writer's wish for JSON is honored.
        let wantsJSON = arguments.prefix { $0 != "--" }.contains("--json")
        do {
            let line = try ArgumentParser(commands: commands).parse(arguments)
            switch line.wish {
            case .help(let words):
                let text = HelpText(commands: commands).text(words)
                let shown =
                    wantsJSON
                    ? Array("{\"help\":".utf8) + CommandFailure.json(text) + Array("}\n".utf8) : Array(text.utf8)
                try surroundings.output.standard(shown)
                return 0
            case .command(let invocation):
                let context = CommandContext(
                    surroundings: surroundings,
                    options: line.globals,
                    settings: try surroundings.settings(surroundings.environment, line.globals),
                    isDryRun: invocation.isDryRun
                )
                let report = try invocation.command.body(invocation, context)
                do {
                    return try show(report, context)
                } catch let error as SystemError where invocation.command.kind == .writes && !invocation.isDryRun {
                    throw CommandFailure(
                        code: "IO",
                        "it was done, but could not be printed (\(error)): a token or key that is shown once was seen by "
                            + "nobody; credential rotate and license reissue make another"
                    )
                }
            }
        } catch let error as SystemError where error.isBrokenPipe && !wantsJSON {
            // As of `list | head`: nobody reads any more. A program is told each failure.
            return 1
        } catch {
            return show(CommandFailure(error), wantsJSON, surroundings.output)
        }
    }

    private func show(_ report: Report, _ context: CommandContext) throws -> Int32 {
        guard let json = report.json else { return report.exitCode }
        let output = context.surroundings.output
        if context.options.isJSON {
            try output.standard(report.notes.isEmpty ? json + [UInt8(ascii: "\n")] : noted(json, report.notes))
            return 0
        }
        if !(report.isConfirmation && context.options.isQuiet) {
            let text = report.text ?? TextForm.text(of: json)
            try output.standard(Array((text.hasSuffix("\n") || text.isEmpty ? text : text + "\n").utf8))
        }
        if !context.options.isQuiet {
            // What was done is done, whether or not somebody reads this.
            for note in report.notes { try? output.error(Array("note: \(note)\n".utf8)) }
        }
        return 0
    }

    /// The object with one more member.
    private func noted(_ json: [UInt8], _ notes: [String]) -> [UInt8] {
        let list = notes.map { String(decoding: CommandFailure.json($0), as: UTF8.self) }.joined(separator: ",")
        let comma = json.count > 2 ? "," : ""
        return json.dropLast() + Array("\(comma)\"notes\":[\(list)]}\n".utf8)
    }

    private func show(_ failure: CommandFailure, _ wantsJSON: Bool, _ output: CommandOutput) -> Int32 {
        // Nothing can be told where standard error is closed, too.
        if wantsJSON {
            try? output.error(failure.object + [UInt8(ascii: "\n")])
        } else {
            if let text = failure.text { try? output.standard(Array((text + "\n").utf8)) }
            try? output.error(Array("countersign: \(TextForm.printable(failure.message)) (\(failure.code))\n".utf8))
        }
        return failure.exitCode
    }
}
