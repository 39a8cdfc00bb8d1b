internal import Licensing
internal import Storage

// How the nouns of licensing lie in columns: identifiers and durations as text, instants as seconds, digests as blobs.
//
// A number that anything is added to or compared with leaves its row here, with its range: the schema alone does not keep a
// damaged file from holding another, and a sum that overflows would end the process. An instant outside those that can be
// written was written by nobody, and must not be taken for an end that is over.

extension Value {
    static func id<Entity>(_ id: Identifier<Entity>) -> Value { .text(id.text) }

    static func idOrNull<Entity>(_ id: Identifier<Entity>?) -> Value { .textOrNull(id?.text) }

    static func instant(_ instant: Timestamp) -> Value { .integer(instant.secondsSinceEpoch) }

    static func instantOrNull(_ instant: Timestamp?) -> Value { .integerOrNull(instant?.secondsSinceEpoch) }

    static func digest(_ digest: Digest256) -> Value { .blob(digest.bytes) }

    static func digestOrNull(_ digest: Digest256?) -> Value { .blobOrNull(digest?.bytes) }

    static func duration(_ duration: CalendarDuration) -> Value { .text(duration.iso8601) }

    static func durationOrNull(_ duration: CalendarDuration?) -> Value { .textOrNull(duration?.iso8601) }

    static func word<Word: RawRepresentable<String>>(_ word: Word) -> Value { .text(word.rawValue) }

    static func environmentOrNull(_ rule: EnvironmentRule?) -> Value {
        .textOrNull(rule.map { String(decoding: $0.json, as: UTF8.self) })
    }
}

extension Row {
    mutating func id<Entity>(of _: Entity.Type = Entity.self) throws -> Identifier<Entity> {
        guard let id = try text({ Identifier<Entity>(utf8: $0) }) else { throw corrupt("an identifier") }
        return id
    }

    mutating func idOrNil<Entity>(of _: Entity.Type = Entity.self) throws -> Identifier<Entity>? {
        guard let read = try textOrNil({ Identifier<Entity>(utf8: $0) }) else { return nil }
        guard let id = read else { throw corrupt("an identifier") }
        return id
    }

    mutating func instant() throws -> Timestamp { Timestamp(secondsSinceEpoch: try integer(in: instants)) }

    mutating func instantOrNil() throws -> Timestamp? {
        try integerOrNil(in: instants).map { Timestamp(secondsSinceEpoch: $0) }
    }

    private var instants: ClosedRange<Int64> {
        Timestamp.earliest.secondsSinceEpoch...Timestamp.latest.secondsSinceEpoch
    }

    /// A number of things.
    mutating func count() throws -> Int64 { try integer(in: 0...Int64.max) }

    /// A number of things, or `nil` where there is no limit.
    mutating func countOrNil() throws -> Int64? { try integerOrNil(in: 0...Int64.max) }

    /// The same, which fits an `Int`.
    mutating func size() throws -> Int { Int(try count()) }

    /// A limit of seats; `nil`: unlimited.
    mutating func seatCountOrNil() throws -> Int? {
        try integerOrNil(in: 0...Int64(SeatLimit.highest)).map { Int($0) }
    }

    /// A number of seats that a license has.
    mutating func seatCount() throws -> Int { Int(try integer(in: 0...Int64(SeatLimit.highest))) }

    /// The place of a row in a chain that counts from 1 and goes on.
    mutating func position() throws -> Int64 { try integer(in: 1...Int64.max - 1) }

    /// Milliseconds of the store's clock, as it says them.
    mutating func milliseconds() throws -> Int64 { try integer() }

    mutating func digest() throws -> Digest256 {
        guard let digest = try blob({ Digest256($0) }) else { throw corrupt("a digest of 32 bytes") }
        return digest
    }

    mutating func digestOrNil() throws -> Digest256? {
        guard let read = try blobOrNil({ Digest256($0) }) else { return nil }
        guard let digest = read else { throw corrupt("a digest of 32 bytes") }
        return digest
    }

    mutating func duration() throws -> CalendarDuration {
        try decoded(text(), "a duration") { try? CalendarDuration($0) }
    }

    mutating func durationOrNil() throws -> CalendarDuration? {
        try textOrNil().map { text in try decoded(text, "a duration") { try? CalendarDuration($0) } }
    }

    mutating func word<Word: RawRepresentable<String>>(_: Word.Type = Word.self) throws -> Word {
        try decoded(text(), "\(Word.self)") { Word(rawValue: $0) }
    }

    mutating func wordOrNil<Word: RawRepresentable<String>>(_: Word.Type = Word.self) throws -> Word? {
        try textOrNil().map { text in try decoded(text, "\(Word.self)") { Word(rawValue: $0) } }
    }

    mutating func environmentOrNil() throws -> EnvironmentRule? {
        try textOrNil().map { text in
            try decoded(text, "an environment rule") { try? EnvironmentRule(kept: Array($0.utf8)) }
        }
    }

    /// Codes parted by one blank each; none is left out: an empty one is damage.
    mutating func featureCodes() throws -> [FeatureCode] {
        guard let text = try textOrNil() else { return [] }
        return try text.split(separator: " ", omittingEmptySubsequences: false).map { code in
            try decoded(code, "a feature code") { try? FeatureCode($0) }
        }.sorted()
    }

    mutating func meterName() throws -> MeterName { try decoded(text(), "a meter's name") { try? MeterName($0) } }

    /// `name=limit name=limit`; an empty limit is unlimited.
    mutating func meterLimits() throws -> [MeterName: MeterLimit] {
        var limits: [MeterName: MeterLimit] = [:]
        guard let text = try textOrNil() else { return limits }
        for part in text.split(separator: " ", omittingEmptySubsequences: false) {
            let (name, limit) = try decoded(part, "a meter's name and limit") { part -> (MeterName, MeterLimit)? in
                guard let sign = part.firstIndex(of: "="), let name = try? MeterName(part[..<sign]) else { return nil }
                let count = part[part.index(after: sign)...]
                if count.isEmpty { return (name, .unlimited) }
                return (try? MeterLimit(count)).map { (name, $0) }
            }
            limits[name] = limit
        }
        return limits
    }

    func decoded<Input, Output>(_ input: Input, _ kind: String, _ decode: (Input) -> Output?) throws -> Output {
        guard let output = decode(input) else { throw corrupt(kind) }
        return output
    }

    private func corrupt(_ kind: String) -> StorageError {
        StorageError(.corrupt, "a column should hold \(kind) and does not")
    }
}

extension Optional where Wrapped: ~Copyable {
    /// What a row refers to. A reference to nothing is damage and told as such: read as "there is none" it would take a
    /// right from somebody who has it.
    consuming func referred(_ what: StaticString) throws -> Wrapped {
        guard let found = self else { throw StorageError(.corrupt, "a row refers to \(what) that is not there") }
        return found
    }
}
