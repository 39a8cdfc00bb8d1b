import StrictJSON

extension Wire {
    /// The body of every answer that is no success: problem details (RFC 9457) with members of our own.
    public struct Problem: Hashable, Sendable {
        /// The media type of such a body.
        public static let mediaType = "application/problem+json"

        /// What clients decide on.
        public var code: ProblemCode
        /// The HTTP status; that of the code, but where a route of administration says otherwise.
        public var status: Int
        /// What happened this time, for people; never a secret, SQL or the like.
        public var detail: String
        /// The request's id, to be quoted to whoever runs the server.
        public var requestID: String
        /// What is wrong with the request's members, each with its pointer.
        public var errors: [InvalidMember]
        /// The license's seats.
        public var seats: Seats?
        /// The seats that a customer may release.
        public var activations: [SeatRow]?
        /// How many licenses a refused edit would hit.
        public var licenses: Int?
        /// The purchase that was presented.
        public var purchase: Purchase?
        /// The signed document.
        public var bundle: [UInt8]?
        /// When it was decided; `nil` for what is no decision, and while the clock cannot be trusted.
        public var serverTime: String?

        /// A problem of this code; the rest is to be set.
        public init(_ code: ProblemCode, _ detail: String) {
            self.code = code
            self.detail = detail
            status = code.status
            requestID = ""
            errors = []
        }

        /// What a client may conclude; on `/v1` 402 and 410 alone say `rejected`.
        public var verdict: WireVerdict { status == 402 || status == 410 ? .rejected : .unknown }

        /// The JSON text.
        public func body() -> [UInt8] {
            var json = JSONWriter(capacity: 512 + (bundle?.count ?? 0))
            json.object { json in
                json.member("type", "urn:countersign:problem:\(code.rawValue)")
                json.member("title", code.title)
                json.member("status", status)
                json.member("detail", detail)
                json.member("code", code.rawValue)
                json.member("verdict", verdict.rawValue)
                json.member("request_id", requestID)
                if !errors.isEmpty {
                    json.member("errors", list: errors) { error, json in
                        json.object { json in
                            json.member("pointer", error.pointer.description)
                            json.member("detail", error.detail)
                        }
                    }
                }
                if let seats { json.member("seats", seats.write) }
                if let activations { json.member("activations", list: activations) { $0.write(to: &$1) } }
                json.member("licenses", ifPresent: licenses.map(Int64.init))
                if let purchase { json.member("purchase", purchase.write) }
                json.member("bundle", token: bundle)
                json.member("server_time", ifPresent: serverTime)
            }
            return json.finish()
        }
    }
}
