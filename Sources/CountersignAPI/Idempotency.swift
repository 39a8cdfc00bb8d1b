import CountersignWire
import Cryptography
import Licensing
import LicensingServices
import Storage
import StrictJSON

/// A request that a client may send again and wants to be counted once.
///
/// A record is found by a keyed digest of mode, product, route, caller and the client's key: nobody meets another's. It
/// holds a digest of the body and the facts decided, never the answer: a repeat gets the same facts and a bundle of now.
/// Only what counted or wrote is kept, in the transaction that did it, for 24 hours.
struct IdempotentCall: Hashable, Sendable {
    /// What the record is found by.
    let digest: Digest256
    /// What was asked.
    let bodyDigest: Digest256

    /// How long a record is kept, in seconds.
    static let lifeSeconds: Int64 = 86_400
    /// The most characters of a client's key.
    static let longestKey = 128

    /// A request with this key.
    ///
    /// - Parameters:
    ///   - key: the client's, from `key(in:header:)`.
    ///   - route: the route's name: one key used on two routes names two requests.
    ///   - caller: who asks: the install's digest or the credential's id, as text.
    init(key: String, body: JSONValue, route: String, caller: String, product: Product.ID, mode: Mode, keys: DataKeys) {
        digest = keys.idempotencyDigest(
            mode: mode,
            product: product.text,
            route: route,
            caller: caller,
            key: key
        )
        bodyDigest = Self.bodyDigest(of: body, under: digest)
    }

    /// The client's key, of `Idempotency-Key` or of the member `idempotency_key`; nil where there is none.
    ///
    /// One that is empty, too long or differs from the other is remembered as invalid, at the member's pointer.
    ///
    /// - Parameter header: the field's values, nil for one that is no UTF-8: repaired, two keys could be one.
    static func key(in members: inout MemberReader, header: [String?]) -> String? {
        var given = header.compactMap(\.self)
        guard given.count == header.count else {
            members.refuse("idempotency_key", "must be in UTF-8")
            return nil
        }
        if let member = members.text("idempotency_key", maximum: .max) { given.append(member) }
        guard let key = given.first else { return nil }
        guard given.allSatisfy({ $0.utf8.elementsEqual(key.utf8) }) else {
            members.refuse("idempotency_key", "must be the same as in the field Idempotency-Key, and there once")
            return nil
        }
        guard (1...longestKey).contains(key.unicodeScalars.count) else {
            members.refuse("idempotency_key", "must have 1 to \(longestKey) characters")
            return nil
        }
        return key
    }

    /// Decides, or tells what was decided before.
    ///
    /// - Parameters:
    ///   - read: makes facts of what `kept` said.
    ///   - decide: decides and records; `kept` is one JSON text for a repeat, nil where nothing was counted or written and a
    ///     repeat is to be decided again.
    func perform<Facts: Sendable>(
        at now: Timestamp,
        in db: borrowing WriteTransaction,
        read: (JSONValue) throws -> Facts,
        decide: (borrowing WriteTransaction) throws -> (facts: Facts, kept: [UInt8]?)
    ) throws -> IdempotentOutcome<Facts> {
        let oldest = now.adding(seconds: -Self.lifeSeconds)
        if let entry = try IdempotencyStore.find(digest, after: oldest, in: db) {
            guard entry.bodyDigest == bodyDigest else { return .conflict }
            return .repeated(try read(JSONDocument(parsing: Array(entry.facts.utf8)).root))
        }
        let (facts, kept) = try decide(db)
        if let kept {
            let text = String(decoding: kept, as: UTF8.self)
            try IdempotencyStore.insert(digest, bodyDigest: bodyDigest, facts: text, at: now, in: db)
        }
        return .decided(facts)
    }

    // MARK: The body

    /// Members that a repeat may say otherwise: it is the same request all the same.
    private static let ignored: Set<String> = ["nonce", "device", "idempotency_key"]

    /// The digest of a body, whatever the order of its members, its blanks and its escapes; `null` counts as absent.
    ///
    /// Begins with the record's own keyed digest, so that equal bodies of two records are not seen to be equal.
    private static func bodyDigest(of body: JSONValue, under digest: Digest256) -> Digest256 {
        var json = JSONWriter()
        write(body, to: &json, except: ignored)
        guard let digest = Digest256(bytes: SHA256.digest(of: digest.bytes + json.finish())) else {
            preconditionFailure("SHA-256 has 32 bytes")
        }
        return digest
    }

    /// Goes as deep as the document, which is bounded.
    private static func write(_ value: JSONValue, to json: inout JSONWriter, except ignored: Set<String> = []) {
        switch value.kind {
        case .null: json.null()
        case .boolean: json.value(value.bool ?? false)
        case .string: json.value(value.string ?? "")
        case .number:
            if let integer = value.int64 { json.value(integer) } else { json.value(json: value.source) }
        case .array:
            json.array { json in
                for element in value.elements.map(Array.init) ?? [] { write(element, to: &json) }
            }
        case .object:
            let members = (value.members.map(Array.init) ?? [])
                .filter { !$0.value.isNull && !ignored.contains($0.name) }
                .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
            json.object { json in
                for (name, value) in members {
                    json.name(dynamic: name)
                    write(value, to: &json)
                }
            }
        }
    }
}

/// What became of a request that may be a repeat.
enum IdempotentOutcome<Facts: Sendable>: Sendable {
    /// It was decided now.
    case decided(Facts)
    /// It was decided before.
    case repeated(Facts)
    /// The client's key came with another body before: `IDEMPOTENCY_CONFLICT`.
    case conflict

    /// The facts, or nil for a conflict.
    var facts: Facts? {
        switch self {
        case .decided(let facts), .repeated(let facts): facts
        case .conflict: nil
        }
    }
}

extension Problem {
    /// The refusal of a key that came with another body; on routes for apps it carries a bundle.
    static func idempotencyConflict(bundle: [UInt8]?, at now: Timestamp) -> Problem {
        var problem = Problem(.idempotencyConflict, "This idempotency key was used for another request.")
        problem.body.bundle = bundle
        problem.body.serverTime = now.rfc3339
        return problem
    }
}
