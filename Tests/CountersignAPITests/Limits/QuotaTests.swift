import HTTPServer
import Licensing
import LicensingServices
import Storage
import Testing

@testable import CountersignAPI

@Suite("Quota of validations") struct QuotaTests {
    private func open(quota: Int64) throws -> TestAPI {
        let api = try TestAPI.open()
        var vendor = api.catalog.vendor
        vendor.validationQuota = quota
        let limited = vendor
        try api.writer.write { db in try VendorStore.update(limited, in: db) }
        return api
    }

    @Test("the validation over the quota is 429 with exact fields until the month ends, and other calls go on")
    func exceeded() throws {
        var api = try open(quota: 2)
        let license = try api.sell()

        let answers = (0..<3).map { _ in api.validate(license.key, nil) }
        let activation = api.activate(license.key)

        // 2027-01-15T08:00:00Z; February begins 16 days and 16 hours later.
        let seconds = String(16 * 86_400 + 16 * 3_600)
        #expect(answers.map(\.status) == [200, 200, 429])
        #expect(answers[2].code == "QUOTA_EXCEEDED" && answers[2].verdict == "unknown")
        #expect(answers[2].field("Retry-After") == seconds)
        #expect(answers[2].field("RateLimit-Limit") == "2")
        #expect(answers[2].field("RateLimit-Remaining") == "0")
        #expect(answers[2].field("RateLimit-Reset") == seconds)
        #expect(activation.status == 200)

        api.catalog.clock.advance(by: 16 * 86_400 + 16 * 3_600 - 1)
        #expect(api.validate(license.key, nil).field("Retry-After") == "1")
        api.catalog.clock.advance(by: 1)
        #expect(api.validate(license.key, nil).status == 200)
    }

    @Test("what is no well-formed question does not count")
    func malformed() throws {
        var api = try open(quota: 1)
        let license = try api.sell()

        _ = api.post("/v1/validate", "{}")
        _ = api.post("/v1/validate", "{")
        _ = api.post("/v1/validate", "{}", token: "pk_live_wrong")

        #expect(api.validate(license.key, nil).status == 200)
        #expect(api.validate(license.key, nil).status == 429)
    }

    /// Asks, and never has done what must be written first: what our own trouble, or a client that is gone, leaves behind.
    private func abandon(_ install: Int, _ key: String, in api: inout TestAPI) throws {
        let body = #"{"license_key":"\#(key)","install_id":"\#(installID(install))"}"#
        let text = request("POST", "/v1/validate", token: api.catalog.appToken, body: body)
        let outcome = try Routes.router.outcome(of: Array(text.utf8), from: .loopback, in: &api.context)
        guard case .job = outcome else { throw TestAPI.NothingWritten() }
    }

    @Test("what is answered about no license does not count, and is answered when the quota is used up")
    func unknownKeys() throws {
        var api = try open(quota: 1)
        let license = try api.sell()
        let foreign = try api.sell(api.catalog.foreign)
        for install in [nil, 1, 1, 2] {
            for key in ["SOME-KEY-OF-NOBODY", foreign.key] {
                #expect(api.validate(key, install).code == "LICENSE_NOT_FOUND")
            }
        }

        #expect(api.validate(license.key, 1).status == 200)
        #expect(api.validate(license.key, nil).code == "QUOTA_EXCEEDED")
        #expect(api.validate("SOME-KEY-OF-NOBODY", nil).code == "LICENSE_NOT_FOUND")
    }

    @Test("what was not answered does not count")
    func unanswered() throws {
        var api = try open(quota: 2)
        let license = try api.sell()

        for install in 10..<20 { try abandon(install, license.key, in: &api) }
        let answers = [10, 11, 12].map { api.validate(license.key, $0) }

        #expect(answers.map(\.status) == [200, 200, 429])
        #expect(answers[2].code == "QUOTA_EXCEEDED")
    }

    @Test("who is refused because the last is held for an answer under way is told to come back in a moment")
    func held() throws {
        var api = try open(quota: 1)
        let license = try api.sell()
        let body = #"{"license_key":"\#(license.key)","install_id":"\#(installID(7))"}"#
        let text = request("POST", "/v1/validate", token: api.catalog.appToken, body: body)

        do {
            let underWay = try Routes.router.outcome(of: Array(text.utf8), from: .loopback, in: &api.context)
            let meanwhile = api.validate(license.key, nil)
            #expect(meanwhile.code == "QUOTA_EXCEEDED" && meanwhile.field("Retry-After") == "2")
            #expect(meanwhile.field("RateLimit-Remaining") == "0" && meanwhile.field("RateLimit-Limit") == "1")
            guard case .job = underWay else { throw TestAPI.NothingWritten() }
        }

        #expect(api.validate(license.key, nil).status == 200)
        let after = api.validate(license.key, nil)
        #expect(after.code == "QUOTA_EXCEEDED" && after.field("Retry-After") == String(16 * 86_400 + 16 * 3_600))
    }

    @Test("a license that is in force no more, or not yet, was validated all the same")
    func notValid() throws {
        var api = try open(quota: 2)
        let ended = try api.sell(end: .at(Catalog.start.adding(seconds: -1)))
        let later = try api.sell(startsAt: Catalog.start.adding(seconds: 60))

        #expect(api.validate(ended.key, nil).code == "LICENSE_EXPIRED")
        #expect(api.validate(later.key, nil).code == "LICENSE_NOT_STARTED")
        #expect(api.validate(later.key, nil).code == "QUOTA_EXCEEDED")
    }

    @Test("an install over the quota was in contact all the same")
    func firstContact() throws {
        var api = try open(quota: 0)
        let license = try api.sell()

        let answer = api.validate(license.key, 7)

        #expect(answer.status == 429)
        #expect(try api.install(7) != nil)
    }

    @Test("another vendor has a quota of its own")
    func apart() throws {
        var api = try open(quota: 0)

        let answer = api.post(
            "/v1/validate",
            #"{"license_key":"SOME-KEY-OF-NOBODY"}"#,
            token: api.catalog.foreignToken
        )

        #expect(answer.code == "LICENSE_NOT_FOUND")
    }

    @Test("counts reach the database with a flush")
    func flushed() throws {
        var api = try open(quota: 5)
        let license = try api.sell()
        _ = api.validate(license.key, nil)
        _ = api.validate(license.key, nil)

        let sums = api.catalog.services.validations.takeSums()
        try api.writer.write { db in try sums.write(in: db) }

        let written = try api.writer.write { db in
            try db.first("SELECT validations FROM validation_counts", { try $0.integer() })
        }
        #expect(written == 2)
    }

    @Test("one credential that fills its quarter of the queue keeps nobody else's writes out")
    func quarter() throws {
        let opened = try Catalog.open(queueCapacity: 16)
        let queue = opened.catalog.queue
        func submissions(_ origin: UInt64, _ count: Int) -> [APIWriterQueue.Submission] {
            (0..<count).map { _ in
                APIWriterQueue.Submission(ticket: .validations, origin: origin) { _ in { _ in preconditionFailure() } }
            }
        }

        var greedy = submissions(1, 20)
        let greedyAccepted = queue.submit(&greedy)
        var others = submissions(2, 4)
        let othersAccepted = queue.submit(&others)

        #expect(!greedyAccepted)
        #expect(greedy.count == 16, "four of twenty were taken")
        #expect(othersAccepted)
    }
}
