public import StrictJSON

extension Wire {
    /// `purchase`: what is told about a purchase that an app presented.
    public struct Purchase: Hashable, Sendable {
        /// `pur_…`, `ref` of its grants.
        public var id: String
        /// The store's product.
        public var product: String
        /// `active`, `expired`, `revoked`, `upgraded`, `consumable` or `unmapped`.
        public var state: String
        /// `Production`, `Sandbox`, `Xcode` or `LocalTesting`.
        public var environment: String
        /// When the right from it ends or ended; `nil`: never.
        public var expiresAt: String?

        /// A purchase of these members.
        public init(id: String, product: String, state: String, environment: String, expiresAt: String?) {
            self.id = id
            self.product = product
            self.state = state
            self.environment = environment
            self.expiresAt = expiresAt
        }

        /// Writes the object.
        public func write(to json: inout JSONWriter) {
            json.object { json in
                json.member("id", id)
                json.member("product", product)
                json.member("state", state)
                json.member("environment", environment)
                json.member("expires_at", orNull: expiresAt)
            }
        }
    }

    /// The 200 of `POST /v1/store/verify`.
    public struct VerifyAnswer: Hashable, Sendable {
        /// `granted`, or `unknown` where it changes nothing.
        public var verdict: WireVerdict
        /// The purchase; left out where only the purchase of the app was presented.
        public var purchase: Purchase?
        /// What the install may use.
        public var entitlements: [Entitlement]
        /// The signed document.
        public var bundle: [UInt8]
        /// When it was decided.
        public var serverTime: String

        /// An answer of these members.
        public init(
            verdict: WireVerdict,
            purchase: Purchase?,
            entitlements: [Entitlement],
            bundle: [UInt8],
            serverTime: String
        ) {
            self.verdict = verdict
            self.purchase = purchase
            self.entitlements = entitlements
            self.bundle = bundle
            self.serverTime = serverTime
        }

        /// The JSON text.
        public func body() -> [UInt8] {
            var json = JSONWriter(capacity: 1024 + bundle.count)
            json.object { json in
                json.member("verdict", verdict.rawValue)
                if let purchase { json.member("purchase", purchase.write) }
                json.member("entitlements", list: entitlements) { $0.write(to: &$1) }
                json.member("bundle", token: bundle)
                json.member("server_time", serverTime)
            }
            return json.finish()
        }
    }
}
