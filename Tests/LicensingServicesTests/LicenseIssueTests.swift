import Licensing
import Storage
import Testing

@testable import LicensingServices

@Suite("Issuing licenses") struct LicenseIssueTests {
    let office: LicenseOffice
    let noon = LicenseOffice.noon

    init() throws { office = try LicenseOffice() }

    @Test("a license that is issued lasts as its plan says, has a key, and is audited")
    func issue() throws {
        let issued = try office.issue(try office.order(customerName: "Dee", customerEmail: "dee@example.com"))

        let facts = try office.facts(issued.license.id)
        #expect(facts.license.status(at: noon) == .active)
        #expect(facts.license.expiresAt?.rfc3339 == "2027-11-30T12:00:00Z")
        #expect(facts.seats == SeatUse(used: 0, limit: .limited(2)))
        #expect(facts.customer?.email == "dee@example.com")
        #expect(try office.service.key(of: facts) == issued.key?.text)
        #expect(try office.audited() == ["license.issue"])
        #expect(try office.outbox() == ["license.issue"])
    }

    @Test("a product that keeps no keys tells a key once")
    func lostKey() throws {
        let office = try LicenseOffice(keepsKeys: false)

        let issued = try office.issue(try office.order())

        #expect(issued.key != nil)
        #expect(try office.service.key(of: try office.facts(issued.license.id)) == nil)
    }

    @Test(
        "a date is the end of its day in UTC, an instant is itself, whatever the offset",
        arguments: [
            ("2030-06-26", "2030-06-27T00:00:00Z"),
            ("2030-06-26T00:00:00+14:00", "2030-06-25T10:00:00Z"),
            ("2030-06-26T00:00:00-12:00", "2030-06-26T12:00:00Z"),
            ("2030-06-26T00:00:00Z", "2030-06-26T00:00:00Z"),
            ("9999-12-31", "9999-12-31T23:59:59Z"),
        ]
    )
    func endDate(text: String, expected: String) throws {
        let issued = try office.issue(try office.order(end: try LicenseForms.end(text)))
        let end = try #require(issued.license.expiresAt)

        #expect(end.rfc3339 == expected)
        #expect(issued.license.status(at: end.adding(seconds: -1)) == .active)
        #expect(issued.license.status(at: end) == .expired)
    }

    @Test("an end that is not after the start is refused")
    func endBeforeStart() throws {
        let start = try LicenseForms.start("2030-01-02")

        let code = try Refusal.Code.of {
            try office.issue(try office.order(end: .at(start), startsAt: start))
        }

        #expect(code == .validation)
        #expect(try office.audited().isEmpty)
    }

    @Test("the same order gives the same license; with other parameters it is a conflict")
    func order() throws {
        let first = try office.issue(try office.order(orderID: "o-1", customerEmail: "dee@example.com"))
        let again = try office.issue(
            try office.order(orderID: "o-1", customerEmail: " DEE@Example.com "),
            at: noon.adding(seconds: 3600)
        )
        let conflict = try Refusal.Code.of {
            try office.issue(try office.order(orderID: "o-1", seatLimit: .limited(5)))
        }
        let test = try office.issue(try office.order(mode: .test, orderID: "o-1"))

        #expect(again.isRepeated)
        #expect(again.license.id == first.license.id)
        #expect(conflict == .orderIDConflict)
        #expect(!test.isRepeated)
        #expect(try office.audited() == ["license.issue", "license.issue"])
    }

    @Test("20 orders with one id at the same time give one license")
    func parallelOrders() throws {
        let queue = WriterQueue<Int, License.ID>()
        let service = office.service
        let product = office.product
        let actor = office.actor()
        var submissions = try (0..<20).map { ticket in
            let draft = try service.draft(try office.order(orderID: "o-9"), for: product, at: noon)
            return WriterQueue<Int, License.ID>.Submission(ticket: ticket, origin: UInt64(ticket)) { db in
                try service.issue(draft, of: product, by: actor, in: db).license.id
            }
        }
        var writer = try office.database.openForServing(queue)
        #expect(queue.submit(&submissions))
        queue.stop()

        var ids: Set<License.ID> = []
        var answers = 0
        writer.run(
            deliver: { batch in
                for answer in batch {
                    answers += 1
                    if case .success(let id) = answer.result { ids.insert(id) }
                }
            },
            abort: { error in Issue.record(error) }
        )

        #expect(answers == 20)
        #expect(ids.count == 1)
        #expect(try office.count() == 1)
        #expect(try office.audited() == ["license.issue"])
    }

    @Test("one person is one customer, in whatever case the address is typed; a newer name wins")
    func customer() throws {
        let first = try office.issue(try office.order(customerName: "D", customerEmail: "Dee@Example.COM"))
        let second = try office.issue(try office.order(customerName: "Dee", customerEmail: "dee@example.com "))

        #expect(first.license.customer == second.license.customer)
        #expect(try office.facts(first.license.id).customer?.name == "Dee")
    }

    @Test(
        "what is no address is refused",
        arguments: ["", "dee", "@example.com", "dee@", "d e@example.com", "dee@example.com\nx"]
    )
    func badAddress(text: String) {
        #expect(throws: ValueFault.self) { try EmailAddress(text) }
    }
}
