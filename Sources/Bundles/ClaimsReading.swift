import Licensing
import StrictJSON

/// Reads the members of one object of a payload; refuses what is missing or of another type, naming its place.
///
/// Unknown members are ignored, so that later servers may add some; `null` counts as absent.
struct ClaimsReader {
    private let value: JSONValue
    private let pointer: JSONPointer

    init(_ value: JSONValue, at pointer: JSONPointer = .root) {
        self.value = value
        self.pointer = pointer
    }

    func refusal(_ name: String) -> BundleRefusal { .malformedClaims(pointer.appending(name).description) }

    private func member(_ name: String) -> JSONValue? {
        guard let member = value[name], !member.isNull else { return nil }
        return member
    }

    /// The member read by `read`, `nil` when absent, refused when `read` makes nothing of it.
    func optional<Value>(_ name: String, _ read: (JSONValue) -> Value?) throws(BundleRefusal) -> Value? {
        guard let member = member(name) else { return nil }
        guard let value = read(member) else { throw refusal(name) }
        return value
    }

    func required<Value>(_ name: String, _ read: (JSONValue) -> Value?) throws(BundleRefusal) -> Value {
        guard let value = try optional(name, read) else { throw refusal(name) }
        return value
    }

    func string(_ name: String) throws(BundleRefusal) -> String { try required(name) { $0.string } }

    func integer(_ name: String) throws(BundleRefusal) -> Int64 { try required(name) { $0.int64 } }

    func bool(_ name: String) throws(BundleRefusal) -> Bool { try required(name) { $0.bool } }

    func time(_ name: String) throws(BundleRefusal) -> Timestamp { try required(name, Self.time) }

    func optionalTime(_ name: String) throws(BundleRefusal) -> Timestamp? { try optional(name, Self.time) }

    func optionalString(_ name: String) throws(BundleRefusal) -> String? { try optional(name) { $0.string } }

    func optionalInteger(_ name: String) throws(BundleRefusal) -> Int64? { try optional(name) { $0.int64 } }

    /// A member that is the raw value of one of an enumeration's cases.
    func choice<Choice: RawRepresentable<String>>(_ name: String) throws(BundleRefusal) -> Choice {
        try required(name) { $0.string.flatMap(Choice.init(rawValue:)) }
    }

    func object(_ name: String) throws(BundleRefusal) -> ClaimsReader {
        guard let object = try optionalObject(name) else { throw refusal(name) }
        return object
    }

    func optionalObject(_ name: String) throws(BundleRefusal) -> ClaimsReader? {
        let object = try optional(name) { $0.kind == .object ? $0 : nil }
        return object.map { ClaimsReader($0, at: pointer.appending(name)) }
    }

    /// A list that must be there, each of its elements an object.
    func list<Element>(
        _ name: String,
        _ read: (ClaimsReader) throws(BundleRefusal) -> Element
    ) throws(BundleRefusal) -> [Element] {
        let elements = try required(name) { $0.elements }
        var list: [Element] = []
        for element in elements {
            let place = pointer.appending(name).appending(list.count)
            guard element.kind == .object else { throw .malformedClaims(place.description) }
            list.append(try read(ClaimsReader(element, at: place)))
        }
        return list
    }

    /// A list of strings, empty when absent.
    func strings(_ name: String) throws(BundleRefusal) -> [String] {
        try optional(name) { value in
            guard let elements = value.elements else { return nil }
            let strings = elements.compactMap(\.string)
            return strings.count == value.count ? strings : nil
        } ?? []
    }

    /// An object of strings, empty when absent.
    func dictionary(_ name: String) throws(BundleRefusal) -> [String: String] {
        try optional(name) { value in
            guard let members = value.members else { return nil }
            var strings: [String: String] = [:]
            for (name, value) in members {
                guard let string = value.string else { return nil }
                strings[name] = string
            }
            return strings
        } ?? [:]
    }

    private static func time(_ value: JSONValue) -> Timestamp? {
        value.int64.map { Timestamp(secondsSinceEpoch: $0) }
    }
}

extension LicenseBundle.Claims {
    init(_ claims: ClaimsReader) throws(BundleRefusal) {
        self.init(
            issuer: try claims.string("iss"),
            audience: try claims.string("aud"),
            subject: try claims.string("sub"),
            issuedAt: try claims.time("iat"),
            expiresAt: try claims.time("exp"),
            sequence: try claims.required("seq") { $0.int64.flatMap { (0..<1 << 53).contains($0) ? $0 : nil } },
            mode: try claims.choice("mode"),
            refreshAfter: try claims.time("refresh_after"),
            nonce: try claims.optionalString("nonce"),
            grants: try claims.list("grants") { grant throws(BundleRefusal) in try LicenseBundle.Grant(grant) },
            licenses: try claims.list("licenses") { license throws(BundleRefusal) in
                try LicenseBundle.License(license)
            },
            trial: try claims.optionalObject("trial").map { trial throws(BundleRefusal) in
                try LicenseBundle.Trial(trial)
            },
            meters: try claims.list("meters") { meter throws(BundleRefusal) in try LicenseBundle.Meter(meter) },
            settings: try LicenseBundle.Settings(claims.object("settings"))
        )
    }
}

extension ConfigurationClaims {
    init(_ claims: ClaimsReader) throws(BundleRefusal) {
        self.init(
            issuer: try claims.string("iss"),
            audience: try claims.string("aud"),
            issuedAt: try claims.time("iat"),
            expiresAt: try claims.time("exp"),
            mode: try claims.choice("mode"),
            settings: try LicenseBundle.Settings(claims.object("settings")),
            offers: try claims.list("offers") { offer throws(BundleRefusal) in try Offer(offer) }
        )
    }
}

extension LicenseBundle.Grant {
    init(_ claims: ClaimsReader) throws(BundleRefusal) {
        self.init(
            feature: try claims.required("feature") { $0.string.flatMap { try? FeatureCode($0) } },
            source: try claims.choice("source"),
            starts: try claims.time("starts"),
            ends: try claims.optionalTime("ends"),
            until: try claims.time("until"),
            reference: try claims.string("ref"),
            environment: try claims.optionalObject("env").map { rule throws(BundleRefusal) in
                EnvironmentRule(
                    hosts: try rule.strings("hosts"),
                    spki: try rule.strings("spki"),
                    attributes: try rule.dictionary("attributes")
                )
            }
        )
    }
}

extension LicenseBundle.License {
    init(_ claims: ClaimsReader) throws(BundleRefusal) {
        self.init(
            id: try claims.required("id") { $0.string.flatMap { Licensing.License.ID($0) } },
            plan: try claims.required("plan") { $0.string.flatMap { try? PlanCode($0) } },
            status: try claims.choice("status"),
            starts: try claims.time("starts"),
            ends: try claims.optionalTime("ends"),
            maintenanceUntil: try claims.optionalTime("maintenance_until"),
            activation: try claims.required("activation") { $0.string.flatMap { Activation.ID($0) } }
        )
    }
}

extension LicenseBundle.Trial {
    init(_ claims: ClaimsReader) throws(BundleRefusal) {
        self.init(
            state: try claims.choice("state"),
            starts: try claims.optionalTime("starts"),
            ends: try claims.optionalTime("ends")
        )
    }
}

extension LicenseBundle.Meter {
    init(_ claims: ClaimsReader) throws(BundleRefusal) {
        self.init(
            meter: try claims.required("meter") { $0.string.flatMap { try? MeterName($0) } },
            used: try claims.integer("used"),
            limit: try claims.optionalInteger("limit"),
            resets: try claims.optionalTime("resets")
        )
    }
}

extension LicenseBundle.Settings {
    init(_ claims: ClaimsReader) throws(BundleRefusal) {
        self.init(
            trialSeconds: try claims.optionalInteger("trial_seconds"),
            freeTier: try claims.bool("free_tier"),
            minimumVersion: try claims.optionalString("minimum_version"),
            offlineSeconds: try claims.integer("offline_seconds"),
            extra: try claims.optional("extra") { extra in
                extra.kind == .object ? String(decoding: extra.source, as: UTF8.self) : nil
            }
        )
    }
}

extension Offer {
    init(_ claims: ClaimsReader) throws(BundleRefusal) {
        self.init(
            id: try claims.required("id") { $0.string.flatMap { try? OfferName($0) } },
            plan: try claims.optional("plan") { $0.string.flatMap { try? PlanCode($0) } },
            kind: try claims.choice("kind"),
            priceMilliunits: try claims.optionalInteger("price_milliunits"),
            currency: try claims.optionalString("currency"),
            storeProductID: try claims.optionalString("store_product_id"),
            trialDuration: try claims.optional("trial_duration") { $0.string.flatMap { try? CalendarDuration($0) } },
            url: try claims.optionalString("url"),
            from: try claims.optionalTime("from"),
            until: try claims.optionalTime("until")
        )
    }
}
