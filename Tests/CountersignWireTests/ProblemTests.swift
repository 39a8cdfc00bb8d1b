import StrictJSON
import Testing

@testable import CountersignWire

@Suite("Problem body") struct ProblemTests {
    @Test("every code has the members of RFC 9457, its status and its verdict", arguments: ProblemCode.allCases)
    func everyCode(code: ProblemCode) throws {
        var problem = Wire.Problem(code, "What happened.")
        problem.requestID = "r1"

        let body = try JSONDocument(parsing: problem.body()).root

        #expect(body["type"]?.string == "urn:countersign:problem:\(code.rawValue)")
        #expect(body["title"]?.string == code.title)
        #expect(body["status"]?.int64 == Int64(code.status))
        #expect(body["detail"]?.string == "What happened.")
        #expect(body["code"]?.string == code.rawValue)
        #expect(body["request_id"]?.string == "r1")
        #expect(body["verdict"]?.string == ([402, 410].contains(code.status) ? "rejected" : "unknown"))
        #expect(body.count == 7)
    }

    @Test("the statuses of the contract")
    func statuses() {
        let table: [Int: Set<String>] = [
            400: ["MALFORMED_REQUEST", "MALFORMED_JSON", "VALIDATION", "LICENSE_KEY_MALFORMED", "STORE_UNVERIFIED"],
            401: ["UNAUTHENTICATED"], 402: ["PURCHASE_REVOKED", "PURCHASE_EXPIRED"], 403: ["FORBIDDEN"],
            404: ["NOT_FOUND", "LICENSE_NOT_FOUND", "METER_NOT_FOUND"], 405: ["METHOD_NOT_ALLOWED"],
            408: ["REQUEST_TIMEOUT"],
            409: [
                "NO_SEATS_AVAILABLE", "NOT_ACTIVATED", "TRANSFER_LIMIT", "LICENSE_NOT_STARTED", "LICENSE_REISSUED",
                "IDEMPOTENCY_CONFLICT", "ORDER_ID_CONFLICT",
            ],
            410: ["LICENSE_REVOKED", "LICENSE_SUSPENDED", "LICENSE_EXPIRED"], 413: ["BODY_TOO_LARGE"],
            414: ["URI_TOO_LONG"], 415: ["UNSUPPORTED_MEDIA_TYPE"], 417: ["EXPECTATION_FAILED"],
            429: ["RATE_LIMITED", "QUOTA_EXCEEDED"], 431: ["HEADERS_TOO_LARGE"], 500: ["INTERNAL"],
            503: ["UNAVAILABLE", "CLOCK_UNSURE"],
        ]

        for (status, codes) in table {
            for code in codes { #expect(ProblemCode(rawValue: code)?.status == status, "\(code)") }
        }
        #expect(Set(ProblemCode.allCases.filter { $0.verdict == .rejected }.map(\.status)) == [402, 410])
    }

    @Test("further members come after those, each only where it is set")
    func furtherMembers() throws {
        var problem = Wire.Problem(.noSeatsAvailable, "Full.")
        problem.errors = [InvalidMember(JSONPointer("a/b"), "is wrong")]
        problem.seats = Wire.Seats(used: 3, limit: nil)
        problem.activations = [
            Wire.SeatRow(
                activation: "act_1",
                name: nil,
                platform: "ios",
                lastSeenAt: "2027-01-15T08:00:00Z",
                isThis: true
            )
        ]
        problem.licenses = 4
        problem.bundle = Array("a.b.c".utf8)
        problem.serverTime = "2027-01-15T08:00:00Z"

        let text = String(decoding: problem.body(), as: UTF8.self)

        #expect(
            text.hasSuffix(
                #""request_id":"","errors":[{"pointer":"/a~1b","detail":"is wrong"}],"seats":{"used":3,"limit":null},"#
                    + #""activations":[{"activation":"act_1","name":null,"platform":"ios","#
                    + #""last_seen_at":"2027-01-15T08:00:00Z","this":true}],"licenses":4,"bundle":"a.b.c","#
                    + #""server_time":"2027-01-15T08:00:00Z"}"#
            )
        )
    }
}
