import StrictJSON

extension Wire {
    /// The 200 of `POST /v1/activate`.
    public struct ActivateAnswer: Hashable, Sendable {
        /// The seat, new or held before.
        public var activation: Activation
        /// Of which license.
        public var license: License
        /// The seats after it.
        public var seats: Seats
        /// What the install may use.
        public var entitlements: [Entitlement]
        /// The signed document.
        public var bundle: [UInt8]
        /// When it was decided.
        public var serverTime: String

        /// An answer of these members.
        public init(
            activation: Activation,
            license: License,
            seats: Seats,
            entitlements: [Entitlement],
            bundle: [UInt8],
            serverTime: String
        ) {
            self.activation = activation
            self.license = license
            self.seats = seats
            self.entitlements = entitlements
            self.bundle = bundle
            self.serverTime = serverTime
        }

        /// The JSON text.
        public func body() -> [UInt8] {
            var json = JSONWriter(capacity: 1024 + bundle.count)
            json.object { json in
                json.member("verdict", WireVerdict.granted.rawValue)
                json.member("activation", activation.write)
                json.member("license", license.write)
                json.member("seats", seats.write)
                json.member("entitlements", list: entitlements) { $0.write(to: &$1) }
                json.member("bundle", token: bundle)
                json.member("server_time", serverTime)
            }
            return json.finish()
        }
    }

    /// The 200 of `POST /v1/validate`; members that do not apply are left out.
    public struct ValidateAnswer: Hashable, Sendable {
        /// `VALID`, or why not.
        public var code: String
        /// What the code says about the right.
        public var verdict: WireVerdict
        /// The license, where there is one.
        public var license: License?
        /// The seat, where the install holds one.
        public var activation: Activation?
        /// The license's seats.
        public var seats: Seats?
        /// What the install may use, where the question named one.
        public var entitlements: [Entitlement]?
        /// Whether a newer key has replaced this one; left out where it has not.
        public var keyIsReplaced: Bool
        /// The signed document, where the question named an install.
        public var bundle: [UInt8]?
        /// When it was decided.
        public var serverTime: String

        /// Whether the right holds.
        public var isValid: Bool { code == "VALID" }

        /// An answer of these members.
        public init(
            code: String,
            verdict: WireVerdict,
            license: License?,
            activation: Activation?,
            seats: Seats?,
            entitlements: [Entitlement]?,
            keyIsReplaced: Bool,
            bundle: [UInt8]?,
            serverTime: String
        ) {
            self.code = code
            self.verdict = verdict
            self.license = license
            self.activation = activation
            self.seats = seats
            self.entitlements = entitlements
            self.keyIsReplaced = keyIsReplaced
            self.bundle = bundle
            self.serverTime = serverTime
        }

        /// The JSON text.
        public func body() -> [UInt8] {
            var json = JSONWriter(capacity: 1024 + (bundle?.count ?? 0))
            json.object { json in
                json.member("valid", isValid)
                json.member("code", code)
                json.member("verdict", verdict.rawValue)
                if let license { json.member("license", license.write) }
                if let activation { json.member("activation", activation.write) }
                if let seats { json.member("seats", seats.write) }
                if let entitlements { json.member("entitlements", list: entitlements) { $0.write(to: &$1) } }
                if keyIsReplaced { json.member("key_replaced", true) }
                json.member("bundle", token: bundle)
                json.member("server_time", serverTime)
            }
            return json.finish()
        }
    }

    /// The 200 of `POST /v1/deactivate`.
    public struct DeactivateAnswer: Hashable, Sendable {
        /// Whether a seat was held until now.
        public var isReleased: Bool
        /// The seats after it.
        public var seats: Seats
        /// The signed document.
        public var bundle: [UInt8]
        /// When it was decided.
        public var serverTime: String

        /// An answer of these members.
        public init(isReleased: Bool, seats: Seats, bundle: [UInt8], serverTime: String) {
            self.isReleased = isReleased
            self.seats = seats
            self.bundle = bundle
            self.serverTime = serverTime
        }

        /// The JSON text.
        public func body() -> [UInt8] {
            var json = JSONWriter(capacity: 256 + bundle.count)
            json.object { json in
                json.member("released", isReleased)
                json.member("seats", seats.write)
                json.member("bundle", token: bundle)
                json.member("server_time", serverTime)
            }
            return json.finish()
        }
    }

    /// The 200 of `POST /v1/heartbeat`.
    public struct HeartbeatAnswer: Hashable, Sendable {
        /// When the lease ends; `nil` where the seat does not float.
        public var leaseExpiresAt: String?
        /// The signed document.
        public var bundle: [UInt8]
        /// When it was decided.
        public var serverTime: String

        /// An answer of these members.
        public init(leaseExpiresAt: String?, bundle: [UInt8], serverTime: String) {
            self.leaseExpiresAt = leaseExpiresAt
            self.bundle = bundle
            self.serverTime = serverTime
        }

        /// The JSON text.
        public func body() -> [UInt8] {
            var json = JSONWriter(capacity: 256 + bundle.count)
            json.object { json in
                json.member("lease_expires_at", orNull: leaseExpiresAt)
                json.member("bundle", token: bundle)
                json.member("server_time", serverTime)
            }
            return json.finish()
        }
    }

    /// The 200 of `POST /v1/seats`.
    public struct SeatsAnswer: Hashable, Sendable {
        /// The license's seats.
        public var seats: Seats
        /// Those held, last seen first.
        public var activations: [SeatRow]
        /// When it was decided.
        public var serverTime: String

        /// An answer of these members.
        public init(seats: Seats, activations: [SeatRow], serverTime: String) {
            self.seats = seats
            self.activations = activations
            self.serverTime = serverTime
        }

        /// The JSON text.
        public func body() -> [UInt8] {
            var json = JSONWriter()
            json.object { json in
                json.member("seats", seats.write)
                json.member("activations", list: activations) { $0.write(to: &$1) }
                json.member("server_time", serverTime)
            }
            return json.finish()
        }
    }

    /// The 200 of `POST /v1/sync`.
    public struct SyncAnswer: Hashable, Sendable {
        /// The signed document.
        public var bundle: [UInt8]
        /// When it was made.
        public var serverTime: String

        /// An answer of these members.
        public init(bundle: [UInt8], serverTime: String) {
            self.bundle = bundle
            self.serverTime = serverTime
        }

        /// The JSON text.
        public func body() -> [UInt8] {
            var json = JSONWriter(capacity: 128 + bundle.count)
            json.object { json in
                json.member("bundle", token: bundle)
                json.member("server_time", serverTime)
            }
            return json.finish()
        }
    }

    /// One of the keys of `GET /v1/keys` and of `jwks.json`: a JWK (RFC 7517 §4) with two members of our own.
    public struct PublishedKey: Hashable, Sendable {
        /// RFC 7638 thumbprint.
        public var kid: String
        /// Base64url of the point's coordinates.
        public var x: String
        /// See `x`.
        public var y: String
        /// Base64 of the DER SubjectPublicKeyInfo: what an app pins.
        public var spki: String
        /// `next`, `active` or `retiring`.
        public var status: String

        /// A key of these members.
        public init(kid: String, x: String, y: String, spki: String, status: String) {
            self.kid = kid
            self.x = x
            self.y = y
            self.spki = spki
            self.status = status
        }

        func write(to json: inout JSONWriter) {
            json.object { json in
                json.member("kty", "EC")
                json.member("crv", "P-256")
                json.member("x", x)
                json.member("y", y)
                json.member("kid", kid)
                json.member("alg", "ES256")
                json.member("use", "sig")
                json.member("spki", spki)
                json.member("status", status)
            }
        }

        /// The JSON text of a JWK Set (RFC 7517 §5).
        public static func set(_ keys: [PublishedKey]) -> [UInt8] {
            var json = JSONWriter()
            json.object { json in
                json.member("keys", list: keys) { $0.write(to: &$1) }
            }
            return json.finish()
        }
    }
}
