import CountersignWire
import Diagnostics
import HTTPServer
import Licensing
import LicensingServices
import Storage
import StrictJSON
import Testing

@testable import CountersignAPI

@Suite("Errors and their words") struct ErrorMappingTests {
    private struct Surprise: Error { let secret = "sk_live_secret" }

    @Test(
        "every failure of the server itself has a code",
        arguments: [
            (.malformedRequest(reason: "No."), "MALFORMED_REQUEST"), (.uriTooLong, "URI_TOO_LONG"),
            (.headersTooLarge, "HEADERS_TOO_LARGE"), (.bodyTooLarge(limit: 5), "BODY_TOO_LARGE"),
            (.expectationFailed, "EXPECTATION_FAILED"), (.requestTimeout, "REQUEST_TIMEOUT"),
            (.methodNotImplemented, "NOT_IMPLEMENTED"), (.transferCodingNotImplemented, "NOT_IMPLEMENTED"),
            (.versionNotSupported, "VERSION_NOT_SUPPORTED"), (.notFound, "NOT_FOUND"),
            (.methodNotAllowed(allow: "GET"), "METHOD_NOT_ALLOWED"),
            (.unavailable(retryAfterSeconds: 7), "UNAVAILABLE"),
        ] as [(HTTPFailure, String)]
    )
    func framing(failure: HTTPFailure, code: String) {
        let problem = Problem(failure)

        #expect(problem.body.code.rawValue == code)
        #expect(problem.body.status == failure.status.code)
        #expect(problem.report == nil && problem.body.verdict == .unknown)
        if case .unavailable = failure { #expect(problem.response().field("Retry-After") == "7") }
    }

    @Test("whatever is 429, 500 or 503 says when to ask again", arguments: ProblemCode.allCases)
    func retryAfter(code: ProblemCode) {
        let seconds = Problem(code, "No.").response().field("Retry-After").flatMap { Int($0) }

        #expect((seconds ?? 0 > 0) == [429, 500, 503].contains(code.status))
        let told = Problem(code, "No.").retrying(after: 7).response()
        #expect(told.fields.filter { $0.name == "Retry-After" }.map(\.value) == ["7"])
    }

    @Test("what may succeed later is 503 with Retry-After, what will not is 500; both are for the operator to read")
    func storage() {
        let categories: [(StorageError.Category, Int)] = [
            (.busy, 503), (.full, 503), (.io, 503), (.noMemory, 503), (.unknownOutcome, 503), (.unavailable, 503),
            (.queueFull, 503), (.transactionLost, 503), (.corrupt, 500), (.constraint(.unique), 500), (.misuse, 500),
        ]

        for (category, status) in categories {
            let problem = Problem(StorageError(category, "disk at /data", sql: "SELECT secret FROM t"))
            #expect(problem.body.status == status && problem.report != nil)
            #expect(problem.response().field("Retry-After") == (status == 503 ? "1" : "30"))
            let text = String(decoding: problem.body.body(), as: UTF8.self)
            #expect(!text.contains("SELECT") && !text.contains("/data") && problem.body.verdict == .unknown)
        }
    }

    @Test(
        "a damaged file is 503 for whoever asks, an error for the operator, and not ready",
        arguments: [11, 26, 267]
    )
    func damage(code: Int32) throws {
        var api = try TestAPI.open()
        let error = StorageError(code & 0xff == 26 ? .notOurs : .corrupt, code: code, "malformed")

        let answer = Received(api.context.response(to: error, for: .test()), wrote: false)

        #expect(answer.status == 503 && answer.code == "UNAVAILABLE" && answer.verdict == "unknown")
        #expect(answer.field("Retry-After") == "30")
        #expect(Problem(error).report?.level == .error)
        let ready = api.send(request("GET", "/ready", token: nil))
        #expect(ready.status == 503 && ready.code == "UNAVAILABLE")
    }

    @Test("a clock in doubt is told alike by whoever finds it: the reading, or the commit")
    func clock() {
        for error in [ClockUnsure(reason: "x"), StorageError(.clockUnsure, "x")] as [any Error] {
            let problem = Problem(error)
            #expect(
                problem.body.code == .clockUnsure && problem.body.status == 503
                    && problem.body.serverTime == nil
            )
            #expect(problem.response().field("Retry-After") == "30" && problem.report?.level == .debug)
        }
    }

    @Test("a surprise is 500, told to the operator once, by its type alone and with the request's id")
    func surprise() throws {
        var api = try TestAPI.open()
        let outline = try outline("req-7")
        _ = api.catalog.log.drain()

        let response = api.context.response(to: Surprise(), for: outline)

        let answer = Received(response, wrote: false)
        #expect(answer.status == 500 && answer.code == "INTERNAL" && answer["request_id"]?.string == "req-7")
        #expect(!answer.text.contains("Surprise"))
        let lines = String(decoding: api.catalog.log.drain(), as: UTF8.self).split(separator: "\n")
        #expect(lines.count == 1)
        #expect(lines[0].contains(#""level":"error""#) && lines[0].contains("req-7") && lines[0].contains("Surprise"))
        #expect(!lines[0].contains("sk_live_secret"))
    }

    @Test("limits say when to come back, and what is left")
    func limits() {
        let rate = Problem(
            LimitExceeded(code: .rateLimited, limit: 60, remaining: 0, resetSeconds: 12)
        ).response()
        let quota = Problem(LimitExceeded(code: .quotaExceeded, limit: 9, remaining: 0, resetSeconds: 99)).response()

        #expect(rate.status == .tooManyRequests && quota.status == .tooManyRequests)
        #expect(rate.field("Retry-After") == "12" && rate.field("RateLimit-Limit") == "60")
        #expect(rate.field("RateLimit-Remaining") == "0" && rate.field("RateLimit-Reset") == "12")
        #expect(Received(rate, wrote: false).code == "RATE_LIMITED")
        #expect(Received(quota, wrote: false).code == "QUOTA_EXCEEDED")
    }

    @Test("every refusal of administration has a status of its kind, and none of them rejects")
    func refusals() {
        for code in [
            Refusal.Code.validation, .alreadyExists, .vendorNotFound, .productNotFound, .featureNotFound,
            .planNotFound, .licenseNotFound, .activationNotFound, .customerNotFound, .installNotFound,
            .orderIDConflict, .affectsExisting, .notRenewable, .licenseRevoked, .licenseKeyMalformed, .ambiguous,
            .forbidden,
        ] {
            let problem = Problem(Refusal(code, "because", member: "reason", licenses: 3))
            #expect(problem.body.verdict == .unknown && problem.report == nil, "\(code)")
            #expect([400, 403, 404, 409].contains(problem.body.status), "\(code)")
            #expect(problem.body.licenses == 3)
            #expect(problem.body.errors.map(\.pointer.description) == (code == .validation ? ["/reason"] : []))
        }
        #expect(Problem(Refusal(.licenseRevoked, "no")).body.status == 409)
    }

    @Test("what a syntax error says names a place and quotes nothing")
    func syntax() {
        let failure = #expect(throws: JSONSyntaxError.self) {
            _ = try JSONDocument(parsing: Array("{\"key\": SECRET}".utf8))
        }
        guard let failure else { return }

        let problem = Problem(failure)

        #expect(problem.body.code == .malformedJSON && problem.body.detail.contains("column 9"))
        #expect(!problem.body.detail.contains("SECRET"))
    }

    @Test("every denial has its code, and a bundle where the status is 409 or 410")
    func denials() {
        let denials: [(Denial, Int)] = [
            (.revoked, 410), (.suspended, 410), (.notStarted(until: Catalog.start), 409),
            (.expired(at: Catalog.start), 410), (.reissued, 409), (.notActivated, 409),
            (.noSeats(used: 3, limit: 2), 409), (.noSeats(used: 0, limit: 0), 409),
            (.transferLimit(most: 2), 409), (.selfReleaseOff, 403), (.replacedSeatNotFound, 400),
            (.notRenewable, 409), (.renewalWithoutDuration, 400),
        ]

        for (denial, status) in denials {
            let problem = Problem(denial, seats: nil, bundle: Array("a.b.c".utf8), at: Catalog.start)
            #expect(problem.body.code.rawValue == denial.code.rawValue && problem.body.status == status)
            #expect((problem.body.bundle != nil) == [409, 410].contains(status))
            #expect(problem.body.verdict.rawValue == denial.verdict.rawValue)
        }
    }

    private func outline(_ requestID: String) throws -> RequestOutline { .test(requestID: requestID) }
}
