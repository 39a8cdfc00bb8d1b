public import StrictJSON

extension Wire {
    /// What is told about one meter; `nil` is no limit, or nothing to wait for.
    public struct MeterReport: Hashable, Sendable {
        /// Its name.
        public var meter: String
        /// Whether its own amount fits, or fitted.
        public var isAllowed: Bool
        /// The count in the current window.
        public var used: Int64
        /// The most in a window.
        public var limit: Int64?
        /// How much of that is left.
        public var left: Int64?
        /// When the window ends.
        public var resetsAt: String?

        /// A report of these members.
        public init(meter: String, isAllowed: Bool, used: Int64, limit: Int64?, left: Int64?, resetsAt: String?) {
            self.meter = meter
            self.isAllowed = isAllowed
            self.used = used
            self.limit = limit
            self.left = left
            self.resetsAt = resetsAt
        }

        /// Writes the members, without the braces.
        public func writeMembers(to json: inout JSONWriter) {
            json.member("meter", meter)
            json.member("allowed", isAllowed)
            json.member("used", used)
            json.member("limit", orNull: limit)
            json.member("left", orNull: left)
            json.member("resets_at", orNull: resetsAt)
        }
    }

    /// The 200 of `POST /v1/meters/peek` and `/v1/meters/consume`.
    public struct MetersAnswer: Hashable, Sendable {
        /// Whether every amount fits; of `consume`: whether all were counted.
        public var isAllowed: Bool
        /// In the order of the request; exactly one where `isList` is false.
        public var reports: [MeterReport]
        /// Whether the request named `meters`, not one `meter`.
        public var isList: Bool
        /// The signed document, where it was asked for.
        public var bundle: [UInt8]?
        /// When it was decided.
        public var serverTime: String

        /// An answer of these members.
        public init(isAllowed: Bool, reports: [MeterReport], isList: Bool, bundle: [UInt8]?, serverTime: String) {
            self.isAllowed = isAllowed
            self.reports = reports
            self.isList = isList
            self.bundle = bundle
            self.serverTime = serverTime
        }

        /// The JSON text.
        public func body() -> [UInt8] {
            var json = JSONWriter(capacity: 256 + (bundle?.count ?? 0))
            json.object { json in
                if isList {
                    json.member("allowed", isAllowed)
                    json.member("meters", list: reports) { report, json in
                        json.object { json in report.writeMembers(to: &json) }
                    }
                } else {
                    for report in reports { report.writeMembers(to: &json) }
                }
                json.member("bundle", token: bundle)
                json.member("server_time", serverTime)
            }
            return json.finish()
        }
    }
}
