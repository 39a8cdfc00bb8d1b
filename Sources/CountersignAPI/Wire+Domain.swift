import CountersignWire
import Licensing
import LicensingServices

// From the nouns of licensing to those of the wire.

extension Wire.License {
    init(_ license: License, at now: Timestamp) {
        self.init(
            id: license.id.text,
            plan: license.plan.code.text,
            status: license.status(at: now).rawValue,
            startsAt: license.startsAt?.rfc3339,
            expiresAt: license.expiresAt?.rfc3339,
            maintenanceUntil: license.maintenanceUntil?.rfc3339,
            keyLastFour: license.keyLastFour
        )
    }
}

extension Wire.Activation {
    init(_ activation: Activation, of license: License) {
        self.init(
            id: activation.id.text,
            activatedAt: activation.activatedAt.rfc3339,
            leaseExpiresAt: activation.leaseEnd(leaseSeconds: license.plan.leaseSeconds)?.rfc3339
        )
    }
}

extension Wire.Seats {
    init(_ use: SeatUse) { self.init(used: use.used, limit: use.limit.count) }
}

extension Wire.Entitlement {
    init(_ entitlement: Entitlement) {
        self.init(
            feature: entitlement.feature.text,
            source: entitlement.source.rawValue,
            expiresAt: entitlement.expiresAt?.rfc3339
        )
    }
}

extension Wire.SeatRow {
    init(_ activation: Activation, isThis: Bool) {
        self.init(
            activation: activation.id.text,
            name: activation.device.name,
            platform: activation.device.platform,
            lastSeenAt: activation.lastSeenAt.rfc3339,
            isThis: isThis
        )
    }
}

extension WireVerdict {
    init(_ verdict: Verdict) {
        switch verdict {
        case .granted: self = .granted
        case .rejected: self = .rejected
        case .unknown: self = .unknown
        }
    }
}
