/// One command: its words, what it takes, what it does.
public struct Command: Sendable {
    /// What a command does with the database, which says which options it takes besides its own.
    public enum Kind: Hashable, Sendable {
        /// Reads, or touches no database.
        case reads
        /// Writes: takes `--dry-run`.
        case writes
        /// Lists: takes `--limit` and `--cursor`.
        case lists
    }

    /// `admin`, `vendor`, `create`.
    public let path: [String]
    /// What it does with the database.
    public let kind: Kind
    /// One line for the list of commands.
    public let summary: String
    /// Options and arguments, these in their order.
    public let parameters: [ParameterSpecification]
    /// A line to copy, without `countersign`.
    public let example: String
    /// Options that are shown in the command's help only where they are not the usual ones.
    let body: @Sendable (Invocation, CommandContext) throws -> Report

    /// A command.
    ///
    /// - Parameters:
    ///   - words: Its path, parted by blanks.
    ///   - body: Reads all its options first, so that a wrong one is told before anything happens.
    public init(
        _ words: String,
        _ kind: Kind,
        _ summary: String,
        _ parameters: [ParameterSpecification] = [],
        example: String,
        _ body: @escaping @Sendable (Invocation, CommandContext) throws -> Report
    ) {
        path = words.split(separator: " ").map(String.init)
        self.kind = kind
        self.summary = summary
        var parameters = parameters
        switch kind {
        case .reads: break
        case .writes: parameters.append(CommonParameters.dryRun.specification)
        case .lists: parameters += [CommonParameters.limit.specification, CommonParameters.cursor.specification]
        }
        self.parameters = parameters
        self.example = example
        self.body = body
    }

    /// Its words, as messages name it.
    public var name: String { path.joined(separator: " ") }
}
