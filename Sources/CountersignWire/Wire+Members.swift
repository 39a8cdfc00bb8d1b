public import StrictJSON

extension Wire {
    /// `license`: what a license key proves, without a word about the customer.
    public struct License: Hashable, Sendable {
        /// `lic_…`
        public var id: String
        /// The plan's code.
        public var plan: String
        /// `revoked`, `suspended`, `not_started`, `expired` or `active`.
        public var status: String
        /// When it begins; `nil`: with its issue.
        public var startsAt: String?
        /// When it ends, its grace not counted; `nil`: never, or not known before the first activation.
        public var expiresAt: String?
        /// Until when new versions are included.
        public var maintenanceUntil: String?
        /// The end of the current key, for display.
        public var keyLastFour: String

        /// A license of these members.
        public init(
            id: String,
            plan: String,
            status: String,
            startsAt: String?,
            expiresAt: String?,
            maintenanceUntil: String?,
            keyLastFour: String
        ) {
            self.id = id
            self.plan = plan
            self.status = status
            self.startsAt = startsAt
            self.expiresAt = expiresAt
            self.maintenanceUntil = maintenanceUntil
            self.keyLastFour = keyLastFour
        }

        /// Writes the object.
        public func write(to json: inout JSONWriter) {
            json.object { json in
                json.member("id", id)
                json.member("plan", plan)
                json.member("status", status)
                json.member("starts_at", orNull: startsAt)
                json.member("expires_at", orNull: expiresAt)
                json.member("maintenance_until", orNull: maintenanceUntil)
                json.member("key_last4", keyLastFour)
            }
        }
    }

    /// `activation`: the seat that the calling install holds.
    public struct Activation: Hashable, Sendable {
        /// `act_…`; does not change while the seat is held.
        public var id: String
        /// When the seat was taken.
        public var activatedAt: String
        /// When a floating seat ends unless it is renewed; `nil`, and left out, where it does not float.
        public var leaseExpiresAt: String?

        /// An activation of these members.
        public init(id: String, activatedAt: String, leaseExpiresAt: String?) {
            self.id = id
            self.activatedAt = activatedAt
            self.leaseExpiresAt = leaseExpiresAt
        }

        /// Writes the object.
        public func write(to json: inout JSONWriter) {
            json.object { json in
                json.member("id", id)
                json.member("activated_at", activatedAt)
                json.member("lease_expires_at", ifPresent: leaseExpiresAt)
            }
        }
    }

    /// `seats`: how many are held, and how many may be.
    public struct Seats: Hashable, Sendable {
        /// Seats held.
        public var used: Int
        /// How many may be; `nil`: any number.
        public var limit: Int?

        /// Seats of these members.
        public init(used: Int, limit: Int?) {
            self.used = used
            self.limit = limit
        }

        /// Writes the object.
        public func write(to json: inout JSONWriter) {
            json.object { json in
                json.member("used", used)
                json.member("limit", orNull: limit.map(Int64.init))
            }
        }
    }

    /// One of `entitlements`: a feature the install has.
    public struct Entitlement: Hashable, Sendable {
        /// The feature's code.
        public var feature: String
        /// `store`, `license`, `gift` or `trial`.
        public var source: String
        /// The end of its last grant; `nil`: no end.
        public var expiresAt: String?

        /// An entitlement of these members.
        public init(feature: String, source: String, expiresAt: String?) {
            self.feature = feature
            self.source = source
            self.expiresAt = expiresAt
        }

        /// Writes the object.
        public func write(to json: inout JSONWriter) {
            json.object { json in
                json.member("feature", feature)
                json.member("source", source)
                json.member("expires_at", orNull: expiresAt)
            }
        }
    }

    /// One of `activations`: a seat in the list from which a customer may release one.
    public struct SeatRow: Hashable, Sendable {
        /// `act_…`: what `replace` takes.
        public var activation: String
        /// What the owner calls the machine.
        public var name: String?
        /// Its system.
        public var platform: String?
        /// When it was last heard of.
        public var lastSeenAt: String
        /// Whether the calling install holds it.
        public var isThis: Bool

        /// A row of these members.
        public init(activation: String, name: String?, platform: String?, lastSeenAt: String, isThis: Bool) {
            self.activation = activation
            self.name = name
            self.platform = platform
            self.lastSeenAt = lastSeenAt
            self.isThis = isThis
        }

        /// Writes the object.
        public func write(to json: inout JSONWriter) {
            json.object { json in
                json.member("activation", activation)
                json.member("name", orNull: name)
                json.member("platform", orNull: platform)
                json.member("last_seen_at", lastSeenAt)
                json.member("this", isThis)
            }
        }
    }
}

extension JSONWriter {
    /// Writes a member whose value is a list; `write` writes each element.
    public mutating func member<Element>(
        _ name: StaticString,
        list elements: [Element],
        _ write: (Element, inout JSONWriter) -> Void
    ) {
        member(name) { json in
            json.array { json in
                for element in elements { write(element, &json) }
            }
        }
    }

    /// Writes a member with a signed document, which is ASCII, or nothing.
    public mutating func member(_ name: StaticString, token: [UInt8]?) {
        guard let token else { return }
        self.name(name)
        value(ascii: token)
    }
}
