internal import Bundles
internal import Licensing
internal import StrictJSON

extension LicenseBundle.Trial {
    /// What a bundle says of a trial; `nil` while there is none and none is offered.
    init?(_ status: TrialStatus) {
        switch status.state {
        case .unavailable: return nil
        case .available: self.init(state: .available)
        case .active: self.init(state: .active, starts: status.startedAt, ends: status.endsAt)
        case .expired: self.init(state: .expired, starts: status.startedAt, ends: status.endsAt)
        }
    }
}

extension Trial {
    /// What the audit log keeps of a trial.
    var auditText: String {
        var writer = JSONWriter(capacity: 128)
        writer.object { writer in
            writer.member("mode", mode.rawValue)
            writer.member("install", ifPresent: install?.text)
            writer.member("started_at", startedAt.rfc3339)
            writer.member("ends_at", orNull: endsAt?.rfc3339)
            writer.member("extended_until", ifPresent: extendedUntil?.rfc3339)
        }
        return String(decoding: writer.finish(), as: UTF8.self)
    }
}
