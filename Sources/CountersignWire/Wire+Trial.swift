import StrictJSON

extension Wire {
    /// The 200 of `POST /v1/trial`.
    public struct TrialAnswer: Hashable, Sendable {
        /// `active`, `expired`, `available` or `unavailable`.
        public var state: String
        /// `TRIAL_ACTIVE`, or what else it is.
        public var code: String
        /// What the code says about the right.
        public var verdict: WireVerdict
        /// When it started; `nil` where it did not.
        public var startedAt: String?
        /// When it ends; `nil` where it did not start.
        public var endsAt: String?
        /// Seconds left, 0 once it is over; `nil` where it did not start.
        public var remainingSeconds: Int64?
        /// What stands for the trial in another contract: told only to the install that started it, else left out.
        public var trialToken: String?
        /// The signed document.
        public var bundle: [UInt8]
        /// When it was decided.
        public var serverTime: String

        /// An answer of these members.
        public init(
            state: String,
            code: String,
            verdict: WireVerdict,
            startedAt: String?,
            endsAt: String?,
            remainingSeconds: Int64?,
            trialToken: String?,
            bundle: [UInt8],
            serverTime: String
        ) {
            self.state = state
            self.code = code
            self.verdict = verdict
            self.startedAt = startedAt
            self.endsAt = endsAt
            self.remainingSeconds = remainingSeconds
            self.trialToken = trialToken
            self.bundle = bundle
            self.serverTime = serverTime
        }

        /// The JSON text.
        public func body() -> [UInt8] {
            var json = JSONWriter(capacity: 512 + bundle.count)
            json.object { json in
                json.member("state", state)
                json.member("code", code)
                json.member("verdict", verdict.rawValue)
                json.member("started_at", orNull: startedAt)
                json.member("ends_at", orNull: endsAt)
                json.member("remaining_seconds", orNull: remainingSeconds)
                json.member("trial_token", ifPresent: trialToken)
                json.member("bundle", token: bundle)
                json.member("server_time", serverTime)
            }
            return json.finish()
        }
    }

    /// The 200 of `GET /v1/config`.
    public struct ConfigurationAnswer: Hashable, Sendable {
        /// The signed document: settings and offers.
        public var config: [UInt8]
        /// When it was made.
        public var serverTime: String

        /// An answer of these members.
        public init(config: [UInt8], serverTime: String) {
            self.config = config
            self.serverTime = serverTime
        }

        /// The JSON text.
        public func body() -> [UInt8] {
            var json = JSONWriter(capacity: 128 + config.count)
            json.object { json in
                json.member("config", token: config)
                json.member("server_time", serverTime)
            }
            return json.finish()
        }
    }
}
