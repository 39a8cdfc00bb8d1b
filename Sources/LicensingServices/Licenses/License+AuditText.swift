internal import Licensing
internal import StrictJSON

extension License {
    /// What the audit log keeps of a license: what an administrator may change, and no person's name.
    var auditText: String {
        var writer = JSONWriter(capacity: 256)
        writer.object { writer in
            writer.member("plan", plan.code.text)
            writer.member("mode", mode.rawValue)
            writer.member("standing", standing.rawValue)
            writer.member("starts_at", orNull: startsAt?.rfc3339)
            writer.member("expires_at", orNull: expiresAt?.rfc3339)
            writer.member("duration", ifPresent: term.pendingDuration?.iso8601)
            writer.member("maintenance_until", orNull: maintenanceUntil?.rfc3339)
            writer.member("seat_limit", ifPresent: overrides.seatLimit?.text)
            writer.member("seat_policy", ifPresent: overrides.seatPolicy?.rawValue)
            writer.member("offline_life", ifPresent: overrides.offlineLife?.iso8601)
            if let environment = overrides.environment {
                writer.name("environment")
                environment.write(to: &writer)
            }
            writer.member("customer", ifPresent: customer?.text)
            writer.member("order_id", ifPresent: orderID)
            writer.member("key_last4", keyLastFour)
        }
        return String(decoding: writer.finish(), as: UTF8.self)
    }
}
