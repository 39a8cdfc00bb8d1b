internal import Licensing
internal import StrictJSON

/// Reads the members of one JSON object by Apple's names: `null` is absent, another type than expected is refused,
/// unknown members are nobody's business.
struct PayloadReader {
    let object: JSONValue

    /// Whether instants may have a fraction, as those of StoreKit Testing have.
    let takesFractions: Bool

    init(_ object: JSONValue, takesFractions: Bool = false) {
        self.object = object
        self.takesFractions = takesFractions
    }

    func value(_ name: String) -> JSONValue? {
        guard let value = object[name], !value.isNull else { return nil }
        return value
    }

    /// The text, `nil` where it is absent or empty.
    func text(_ name: String) throws(StoreRefusal) -> String? {
        guard let value = value(name) else { return nil }
        guard let text = value.string else { throw .badPayload }
        return text.isEmpty ? nil : text
    }

    func requiredText(_ name: String) throws(StoreRefusal) -> String {
        guard let text = try text(name) else { throw .badPayload }
        return text
    }

    func integer(_ name: String) throws(StoreRefusal) -> Int64? {
        guard let value = value(name) else { return nil }
        guard let integer = value.int64 else { throw .badPayload }
        return integer
    }

    func flag(_ name: String) throws(StoreRefusal) -> Bool? {
        guard let value = value(name) else { return nil }
        guard let flag = value.bool else { throw .badPayload }
        return flag
    }

    func object(_ name: String) throws(StoreRefusal) -> JSONValue? {
        guard let value = value(name) else { return nil }
        guard value.kind == .object else { throw .badPayload }
        return value
    }

    func milliseconds(_ name: String) throws(StoreRefusal) -> Int64? {
        guard takesFractions, let value = value(name), value.kind == .number else { return try integer(name) }
        // The digits before the point: towards zero, which for every instant that counts is down.
        let whole = value.source.prefix { $0 != UInt8(ascii: ".") }
        let hasExponent = value.source.contains { $0 | 0x20 == UInt8(ascii: "e") }
        guard !hasExponent, let milliseconds = Int64(String(decoding: whole, as: UTF8.self)) else { throw .badPayload }
        return milliseconds
    }

    func requiredMilliseconds(_ name: String) throws(StoreRefusal) -> Int64 {
        guard let milliseconds = try milliseconds(name) else { throw .badPayload }
        return milliseconds
    }

    func instant(_ name: String) throws(StoreRefusal) -> Timestamp? {
        try milliseconds(name).map { Timestamp(milliseconds: $0) }
    }

    func requiredInstant(_ name: String) throws(StoreRefusal) -> Timestamp {
        Timestamp(milliseconds: try requiredMilliseconds(name))
    }

    /// Refuses a member of these names that is no text (or no integer, or no boolean): members that Apple documents
    /// and nothing here needs.
    func check(
        texts: [String] = [],
        integers: [String] = [],
        instants: [String] = [],
        flags: [String] = []
    ) throws(StoreRefusal) {
        for name in texts { _ = try text(name) }
        for name in integers { _ = try integer(name) }
        for name in instants { _ = try milliseconds(name) }
        for name in flags { _ = try flag(name) }
    }
}

extension Timestamp {
    /// The whole second of an instant in milliseconds since 1970; outside the calendar the nearer end of it.
    init(milliseconds: Int64) {
        let seconds = floorDivide(milliseconds, by: 1000)
        self = min(max(Timestamp(secondsSinceEpoch: seconds), .earliest), .latest)
    }
}

func floorDivide(_ value: Int64, by divisor: Int64) -> Int64 {
    let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? quotient - 1 : quotient
}
