public import Licensing
public import Storage
public import StrictJSON

/// Everything that is told about one license to an administrator.
public struct LicenseFacts: Sendable {
    /// Whose product it is.
    public let vendor: Vendor
    /// Whose license it is.
    public let product: Product
    /// The license.
    public let license: License
    /// Who bought it, where that was said.
    public let customer: Customer?
    /// Seats held and the limit.
    public let seats: SeatUse
    /// The seats that are held, last seen first, as far as was asked for; `nil` in lists.
    public let activations: [Activation]?
    /// Fingerprints that two machines share: they take no seat over on this license any more.
    let clones: Set<Digest256>
    let sealedKey: LicenseKeyStore.Sealed?
    /// The moment for which all this holds.
    public let now: Timestamp
}

/// How much is read about a license.
public enum LicenseDetail: Hashable, Sendable {
    /// As in lists: without the seats one by one, and without the key.
    case summary
    /// With the key, and the ``mostSeats`` seats that were seen last: a license may have a hundred thousand, and a loop's
    /// clients, or everybody's writes, wait until all have been read.
    case full
    /// With the key and every seat.
    case everySeat

    /// How many seats are told where not every one is asked for.
    public static let mostSeats = 1000
}

extension LicenseService {
    /// Everything about one license.
    ///
    /// - Returns: `nil` where there is none with this id.
    /// - Throws: `StorageError`.
    public func facts<DB: Queries & ~Copyable>(
        of id: License.ID,
        _ detail: LicenseDetail = .full,
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> LicenseFacts? {
        guard let license = try LicenseStore.find(id, in: db) else { return nil }
        return try facts(of: license, detail, at: now, in: db)
    }

    func facts<DB: Queries & ~Copyable>(
        of license: License,
        _ detail: LicenseDetail,
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> LicenseFacts {
        guard let product = try ProductStore.find(license.product, in: db),
            let vendor = try VendorStore.find(product.vendor, in: db)
        else { throw StorageError(.corrupt, "a license has no product or vendor") }
        let customer = try license.customer.flatMap { id in try CustomerStore.find(id, in: db) }
        let seats = try LicenseFinder.seatUse(of: license, at: now, in: db)
        guard detail != .summary else {
            return LicenseFacts(
                vendor: vendor,
                product: product,
                license: license,
                customer: customer,
                seats: seats,
                activations: nil,
                clones: [],
                sealedKey: nil,
                now: now
            )
        }
        let held = try ActivationStore.latestSeen(
            of: license.id,
            leaseSeconds: license.plan.leaseSeconds,
            at: now,
            limit: detail == .full ? LicenseDetail.mostSeats : .max,
            in: db
        )
        return LicenseFacts(
            vendor: vendor,
            product: product,
            license: license,
            customer: customer,
            seats: seats,
            activations: held,
            clones: try ActivationStore.clones(of: license.id, in: db),
            sealedKey: try LicenseKeyStore.sealedCurrent(of: license.id, in: db),
            now: now
        )
    }

    /// The license's current key, where the product keeps keys; no question to the database. A secret.
    ///
    /// - Throws: `CryptographyError` where it was not sealed by this database's keys.
    public func key(of facts: LicenseFacts) throws -> String? {
        try facts.sealedKey.map { try open($0) }
    }
}

extension LicenseFacts {
    /// `vendor/product`.
    public var productName: String { "\(vendor.slug)/\(product.slug)" }

    /// Writes the object that the command line prints with `--json` and the `sk_` routes answer.
    ///
    /// - Parameter key: The key, where it may be told; left out where it is not known. A secret.
    public func write(to writer: inout JSONWriter, key: String? = nil) {
        writer.object { writer in
            writer.member("id", license.id.text)
            writer.member("key", ifPresent: key)
            writer.member("key_last4", license.keyLastFour)
            writer.member("product", productName)
            writer.member("plan", license.plan.code.text)
            writer.member("mode", license.mode.rawValue)
            writer.member("status", license.status(at: now).rawValue)
            if license.standing != .active { writer.member("reason", orNull: license.standingReason) }
            writer.member("seat_limit", orNull: license.seatLimit.count.map(Int64.init))
            writer.member("seat_policy", license.seatPolicy.rawValue)
            writer.member("starts_at", orNull: license.startsAt?.rfc3339)
            writer.member("expires_at", orNull: license.expiresAt?.rfc3339)
            // Runs from the first activation on.
            writer.member("duration", ifPresent: license.term.pendingDuration?.iso8601)
            writer.member("maintenance_until", orNull: license.maintenanceUntil?.rfc3339)
            writer.member("offline_life", license.offlineLife(under: product.settings).iso8601)
            if let environment = license.environment {
                writer.name("environment")
                environment.write(to: &writer)
            }
            writer.member("order_id", orNull: license.orderID)
            writer.name("customer")
            if let customer {
                writer.object { writer in
                    writer.member("name", orNull: customer.name)
                    writer.member("email", orNull: customer.email)
                }
            } else {
                writer.null()
            }
            writer.member("issued_at", license.issuedAt.rfc3339)
            writer.member("first_activated_at", orNull: license.firstActivatedAt?.rfc3339)
            writer.name("seats")
            writer.object { writer in
                writer.member("used", seats.used)
                writer.member("limit", orNull: seats.limit.count.map(Int64.init))
            }
            if let activations {
                write(activations, to: &writer)
                let omitted = seats.used - activations.count
                if omitted > 0 { writer.member("activations_omitted", omitted) }
            }
            if let cloneNotice { writer.member("notice", cloneNotice) }
        }
    }

    private func write(_ activations: [Activation], to writer: inout JSONWriter) {
        writer.name("activations")
        writer.array { writer in
            for activation in activations {
                writer.object { writer in
                    writer.member("id", activation.id.text)
                    writer.name("device")
                    writer.object { writer in
                        writer.member("name", orNull: activation.device.name)
                        writer.member("platform", orNull: activation.device.platform)
                    }
                    writer.member("activated_at", activation.activatedAt.rfc3339)
                    writer.member("last_seen_at", activation.lastSeenAt.rfc3339)
                    let leaseEnd = activation.leaseEnd(leaseSeconds: license.plan.leaseSeconds)
                    writer.member("lease_expires_at", ifPresent: leaseEnd?.rfc3339)
                    if isCloned(activation) { writer.member("cloned", true) }
                }
            }
        }
    }

    private func isCloned(_ activation: Activation) -> Bool {
        activation.fingerprint.map { clones.contains($0) } ?? false
    }

    /// Says that machines with one fingerprint were seen, which take no seat over from each other any more.
    public var cloneNotice: String? {
        guard !clones.isEmpty else { return nil }
        let count = clones.count == 1 ? "a fingerprint is" : "\(clones.count) fingerprints are"
        return "\(count) shared by several machines (clones): each needs a seat of its own, also after a reinstall"
    }
}
