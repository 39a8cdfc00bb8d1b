public import StrictJSON

/// What a command prints when it is done.
public struct Report: Sendable {
    /// One JSON object, without the notes; `nil`: the command has printed what there is to print.
    let json: [UInt8]?
    /// For people; `nil`: the JSON in lines and tables.
    let text: String?
    /// Advice: for people on standard error, for programs in `notes`.
    let notes: [String]
    /// Whether `--quiet` leaves the text out: it tells nothing that was asked for.
    let isConfirmation: Bool
    /// 0, unless a command that prints by itself ended otherwise.
    let exitCode: Int32

    /// A report; `members` writes the members of its object.
    public init<Failure: Error>(
        text: String? = nil,
        notes: [String] = [],
        isConfirmation: Bool = false,
        _ members: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        var writer = JSONWriter(capacity: 1024)
        try writer.object(members)
        json = writer.finish()
        self.text = text
        self.notes = notes
        self.isConfirmation = isConfirmation
        exitCode = 0
    }

    private init(exitCode: Int32) {
        json = nil
        text = nil
        notes = []
        isConfirmation = false
        self.exitCode = exitCode
    }

    /// Nothing to print: the command, such as `serve`, did so itself.
    public static func printed(exitCode: Int32) -> Report { Report(exitCode: exitCode) }

    /// One noun: `{"vendor":{…}}`.
    static func one(
        _ name: StaticString,
        notes: [String] = [],
        isDryRun: Bool = false,
        _ write: (inout JSONWriter) throws -> Void
    ) rethrows -> Report {
        try Report(notes: notes) { (writer) throws in
            writer.name(name)
            try write(&writer)
            if isDryRun { writer.member("dry_run", true) }
        }
    }

    /// A page of a list: `{"vendors":[…],"next":cursor or null}`.
    static func page<Element>(
        _ name: StaticString,
        _ page: Page<Element>,
        _ write: (inout JSONWriter, Element) -> Void
    ) -> Report {
        Report { writer in
            writer.name(name)
            writer.array { writer in for element in page.elements { write(&writer, element) } }
            writer.member("next", orNull: page.next)
        }
    }
}

/// A page of a list, and where the next one begins.
struct Page<Element> {
    let elements: [Element]
    let next: String?

    /// Cuts what was read to `limit`; one more than that was asked for, to know whether there is a next page.
    init(_ read: [Element], limit: Int, cursor: (Element) -> String) {
        elements = Array(read.prefix(limit))
        next = read.count > limit ? elements.last.map(cursor) : nil
    }

    /// All of a list that is short by its nature, from `cursor` on.
    init(all: [Element], limit: Int, after start: String?, cursor: (Element) -> String) throws(CommandFailure) {
        guard let start else {
            self.init(all, limit: limit, cursor: cursor)
            return
        }
        guard let index = all.firstIndex(where: { cursor($0) == start }) else {
            throw .noSuchCursor
        }
        self.init(Array(all[(index + 1)...]), limit: limit, cursor: cursor)
    }
}
