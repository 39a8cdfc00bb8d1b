public import Licensing
public import StrictJSON

// What the command line shows of the catalog, and what the audit log keeps of it: one form for both.

extension Vendor {
    /// Writes `{"id","slug","name","issuer","validation_quota"}`.
    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("id", id.text)
            writer.member("slug", slug.text)
            writer.member("name", name)
            writer.member("issuer", issuer)
            writer.member("validation_quota", orNull: validationQuota)
        }
    }

    var jsonText: String { text { write(to: &$0) } }
}

extension Product {
    /// Writes id, slug, name, key prefix and settings, those at their defaults included.
    ///
    /// - Parameter vendor: Whose it is, where that is told.
    public func write(to writer: inout JSONWriter, of vendor: Slug? = nil) {
        writer.object { writer in
            writer.member("id", id.text)
            if let vendor { writer.member("product", "\(vendor)/\(slug)") }
            writer.member("slug", slug.text)
            writer.member("name", name)
            writer.member("key_prefix", keyPrefix.text)
            writer.name("settings")
            settings.write(to: &writer)
        }
    }

    var jsonText: String { text { write(to: &$0) } }
}

extension ProductSettings {
    /// Writes every setting by its name; `null` is unset.
    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("trial_duration", orNull: trialDuration?.iso8601)
            writer.member("trial_plan", orNull: trialPlan?.text)
            writer.member("trial_start", trialStart.rawValue)
            writer.member("offline_life", offlineLife.iso8601)
            writer.member("refresh_after", refreshAfter.iso8601)
            writer.member("free_tier", freeTier)
            writer.member("keep_license_keys", keepLicenseKeys)
            writer.member("minimum_version", orNull: minimumVersion)
            writer.name("extra")
            if let extra { writer.value(json: Array(extra.utf8)) } else { writer.null() }
        }
    }
}

extension Feature {
    /// Writes `{"code","name"}`.
    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("code", code.text)
            writer.member("name", name)
        }
    }

    var jsonText: String { text { write(to: &$0) } }
}

extension Plan {
    /// Writes every member by its name in the seed document; `null` is unset, of the seat limit unlimited.
    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("id", id.text)
            writer.member("code", code.text)
            writer.member("name", name)
            writer.member("type", type.rawValue)
            writer.name("features")
            writer.array { writer in for feature in features { writer.value(feature.text) } }
            writer.member("duration", orNull: duration?.iso8601)
            writer.member("seat_limit", orNull: seatLimit.count.map(Int64.init))
            writer.member("seat_policy", seatPolicy.rawValue)
            writer.member("overage_percent", overagePercent)
            writer.member("idle_before_release", orNull: idleBeforeRelease?.iso8601)
            writer.member("lease_seconds", orNull: leaseSeconds)
            writer.member("expiry_grace", expiryGrace.iso8601)
            writer.member("expiry_basis", expiryBasis.rawValue)
            writer.member("offline_life", orNull: offlineLife?.iso8601)
            writer.member("transfer_limit", orNull: transferLimit.map(Int64.init))
            writer.member("transfer_period", orNull: transferPeriod?.iso8601)
            writer.member("self_release", selfRelease)
            writer.name("environment")
            if let environment { environment.write(to: &writer) } else { writer.null() }
            writer.name("meters")
            writer.object { writer in
                for (name, limit) in meters.sorted(by: { $0.key < $1.key }) {
                    writer.name(dynamic: name.text)
                    if let count = limit.count { writer.value(count) } else { writer.value("unlimited") }
                }
            }
        }
    }

    var jsonText: String { text { write(to: &$0) } }
}

extension Meter {
    /// Writes `{"id","name","limit","period","scope"}`; a limit of `null` is unlimited.
    public func write(to writer: inout JSONWriter) {
        writer.object(writeMembers)
    }

    func writeMembers(to writer: inout JSONWriter) {
        writer.member("id", id.text)
        writer.member("name", name.text)
        writer.member("limit", orNull: limit.count)
        writer.member("period", period.text)
        writer.member("scope", scope.rawValue)
    }

    var jsonText: String { text { write(to: &$0) } }
}

extension CredentialRecord {
    /// Writes what may be known of a credential; never its token.
    ///
    /// - Parameters:
    ///   - product: `vendor/product` that it is for, where it is for one.
    ///   - token: The token, where this is the answer that shows it; `.some(nil)` writes `null`.
    public func write(to writer: inout JSONWriter, product: String?, token: String?? = .none) {
        writer.object { writer in
            writer.member("id", id.text)
            writer.member("kind", kind.rawValue)
            writer.member("mode", mode.rawValue)
            writer.member("name", name)
            writer.member("product", orNull: product)
            if let token { writer.member("token", orNull: token) }
            writer.member("last_four", lastFour)
            writer.member("created_at", createdAt.rfc3339)
            writer.member("expires_at", orNull: expiresAt?.rfc3339)
            writer.member("revoked_at", orNull: revokedAt?.rfc3339)
        }
    }

    /// For the audit log; `product` as in `write`.
    func jsonText(product: String?) -> String { text { write(to: &$0, product: product) } }
}

/// One value written by itself, as text.
private func text(_ write: (inout JSONWriter) -> Void) -> String {
    var writer = JSONWriter(capacity: 512)
    write(&writer)
    return String(decoding: writer.finish(), as: UTF8.self)
}
