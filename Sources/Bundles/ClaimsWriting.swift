import Licensing
import StrictJSON

extension LicenseBundle.Claims {
    /// The payload to sign: members in the order of their declaration, no blanks, times in seconds since 1970.
    func payload() -> [UInt8] {
        var json = JSONWriter(capacity: 1024 + 256 * grants.count)
        json.object { json in
            json.member("iss", issuer)
            json.member("aud", audience)
            json.member("sub", subject)
            json.member("iat", issuedAt)
            json.member("exp", expiresAt)
            json.member("ver", Self.version)
            json.member("seq", sequence)
            json.member("mode", mode.rawValue)
            json.member("refresh_after", refreshAfter)
            json.member("nonce", ifPresent: nonce)
            json.list("grants", of: grants) { $1.write(to: &$0) }
            json.list("licenses", of: licenses) { $1.write(to: &$0) }
            if let trial {
                json.name("trial")
                trial.write(to: &json)
            }
            json.list("meters", of: meters) { $1.write(to: &$0) }
            json.name("settings")
            settings.write(to: &json)
        }
        return json.finish()
    }
}

extension ConfigurationClaims {
    /// The payload to sign, written like a bundle's.
    func payload() -> [UInt8] {
        var json = JSONWriter(capacity: 512 + 256 * offers.count)
        json.object { json in
            json.member("iss", issuer)
            json.member("aud", audience)
            json.member("iat", issuedAt)
            json.member("exp", expiresAt)
            json.member("mode", mode.rawValue)
            json.name("settings")
            settings.write(to: &json)
            json.list("offers", of: offers) { $1.write(to: &$0) }
        }
        return json.finish()
    }
}

extension LicenseBundle.Grant {
    /// How many bytes of a payload it is, the comma before the next one included.
    var byteCount: Int {
        var json = JSONWriter(capacity: 256)
        write(to: &json)
        return json.finish().count + 1
    }

    fileprivate func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("feature", feature.text)
            json.member("source", source.rawValue)
            json.member("starts", starts)
            json.member("ends", ifPresent: ends)
            json.member("until", until)
            json.member("ref", reference)
            if let environment {
                json.name("env")
                environment.write(to: &json)
            }
        }
    }
}

extension EnvironmentRule {
    fileprivate func write(to json: inout JSONWriter) {
        json.object { json in
            json.list("hosts", of: hosts) { $0.value($1) }
            json.list("spki", of: spki) { $0.value($1) }
            json.name("attributes")
            json.object { json in
                // A dictionary has no order of its own; one bundle is written one way.
                for (name, value) in attributes.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
                    json.name(dynamic: name)
                    json.value(value)
                }
            }
        }
    }
}

extension LicenseBundle.License {
    /// How many bytes of a payload it is, the comma before the next one included.
    var byteCount: Int {
        var json = JSONWriter(capacity: 256)
        write(to: &json)
        return json.finish().count + 1
    }

    fileprivate func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("id", id.text)
            json.member("plan", plan.text)
            json.member("status", status.rawValue)
            json.member("starts", starts)
            json.member("ends", ifPresent: ends)
            json.member("maintenance_until", ifPresent: maintenanceUntil)
            json.member("activation", activation.text)
        }
    }
}

extension LicenseBundle.Trial {
    fileprivate func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("state", state.rawValue)
            json.member("starts", ifPresent: starts)
            json.member("ends", ifPresent: ends)
        }
    }
}

extension LicenseBundle.Meter {
    fileprivate func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("meter", meter.text)
            json.member("used", used)
            json.member("limit", ifPresent: limit)
            json.member("resets", ifPresent: resets)
        }
    }
}

extension LicenseBundle.Settings {
    fileprivate func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("trial_seconds", ifPresent: trialSeconds)
            json.member("free_tier", freeTier)
            json.member("minimum_version", ifPresent: minimumVersion)
            json.member("offline_seconds", offlineSeconds)
            if let extra {
                json.name("extra")
                json.value(json: extra.utf8)
            }
        }
    }
}

extension Offer {
    fileprivate func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("id", id.text)
            json.member("plan", ifPresent: plan?.text)
            json.member("kind", kind.rawValue)
            json.member("price_milliunits", ifPresent: priceMilliunits)
            json.member("currency", ifPresent: currency)
            json.member("store_product_id", ifPresent: storeProductID)
            json.member("trial_duration", ifPresent: trialDuration?.iso8601)
            json.member("url", ifPresent: url)
            json.member("from", ifPresent: from)
            json.member("until", ifPresent: until)
        }
    }
}

extension JSONWriter {
    fileprivate mutating func member(_ name: StaticString, _ time: Timestamp) {
        member(name, time.secondsSinceEpoch)
    }

    fileprivate mutating func member(_ name: StaticString, ifPresent time: Timestamp?) {
        member(name, ifPresent: time?.secondsSinceEpoch)
    }

    fileprivate mutating func list<Element>(
        _ name: StaticString,
        of elements: [Element],
        write: (inout JSONWriter, Element) -> Void
    ) {
        self.name(name)
        array { json in
            for element in elements { write(&json, element) }
        }
    }
}
