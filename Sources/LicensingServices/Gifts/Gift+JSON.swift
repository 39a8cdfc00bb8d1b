public import Licensing
public import StrictJSON

extension Gift {
    /// Writes `{"id","mode","status","install","license","customer","features","starts_at","ends_at","withdrawn_at"}`;
    /// of the three it may be for, two are `null`.
    ///
    /// - Parameter now: What `status` is told for.
    public func write(to writer: inout JSONWriter, at now: Timestamp) {
        writer.object { writer in
            writer.member("id", id.text)
            writer.member("mode", mode.rawValue)
            writer.member("status", status(at: now).rawValue)
            writeMembers(to: &writer)
        }
    }

    private func writeMembers(to writer: inout JSONWriter) {
        var (install, license, customer): (String?, String?, String?)
        switch target {
        case .install(let id): install = id.text
        case .license(let id): license = id.text
        case .customer(let id): customer = id.text
        }
        writer.member("install", orNull: install)
        writer.member("license", orNull: license)
        writer.member("customer", orNull: customer)
        writer.name("features")
        writer.array { writer in for feature in features { writer.value(feature.text) } }
        writer.member("starts_at", starts.rfc3339)
        writer.member("ends_at", orNull: ends?.rfc3339)
        writer.member("withdrawn_at", orNull: withdrawnAt?.rfc3339)
    }

    /// For the audit log.
    var jsonText: String {
        var writer = JSONWriter(capacity: 512)
        writer.object { writer in
            writer.member("id", id.text)
            writer.member("mode", mode.rawValue)
            writeMembers(to: &writer)
        }
        return String(decoding: writer.finish(), as: UTF8.self)
    }
}

extension SpendTier {
    /// Writes `{"id","code","currency","threshold_milliunits","features","duration","gift"}`; `gift` is what its grants
    /// name in bundles.
    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("id", id.text)
            writer.member("code", code.text)
            writer.member("currency", currency)
            writer.member("threshold_milliunits", thresholdMilliunits)
            writer.name("features")
            writer.array { writer in for feature in features { writer.value(feature.text) } }
            writer.member("duration", orNull: duration?.iso8601)
            writer.member("gift", gift.text)
        }
    }

    /// For the audit log.
    var jsonText: String {
        var writer = JSONWriter(capacity: 512)
        write(to: &writer)
        return String(decoding: writer.finish(), as: UTF8.self)
    }
}
