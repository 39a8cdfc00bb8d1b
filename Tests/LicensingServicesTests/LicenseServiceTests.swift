import Cryptography
import Licensing
import Storage
import StrictJSON
import Synchronization
import Testing

@testable import LicensingServices

@Suite("License service") struct LicenseServiceTests {
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

    @Test("suspending, reinstating and revoking change the status, once each, with the reason")
    func standing() throws {
        let id = try office.issue(try office.order()).license.id
        let (service, product) = (office.service, office.product)

        func suspend() throws {
            try office.change(id) { try service.suspend($0, of: product, because: "unpaid", by: $1, in: $2) }
        }
        func reinstate(_ includingRevoked: Bool) throws {
            try office.change(id) { license, actor, db in
                try service.reinstate(
                    license,
                    of: product,
                    includingRevoked: includingRevoked,
                    because: "paid",
                    by: actor,
                    in: db
                )
            }
        }
        try suspend()
        try suspend()
        #expect(try office.facts(id).license.status(at: noon) == .suspended)
        try reinstate(false)
        #expect(try office.facts(id).license.status(at: noon) == .active)
        try office.change(id) { try service.revoke($0, of: product, because: "fraud", by: $1, in: $2) }
        #expect(try office.facts(id).license.status(at: noon) == .revoked)
        #expect(try Refusal.Code.of { try suspend() } == .licenseRevoked)
        #expect(try Refusal.Code.of { try reinstate(false) } == .licenseRevoked)
        try reinstate(true)

        #expect(try office.facts(id).license.status(at: noon) == .active)
        #expect(
            try office.audited() == [
                "license.issue", "license.suspend", "license.reinstate", "license.revoke", "license.reinstate",
            ]
        )
    }

    @Test("a renewal adds to an end ahead, begins anew after one that is over, and is refused without an end")
    func renew() throws {
        let (service, product) = (office.service, office.product)
        let id = try office.issue(try office.order()).license.id
        let endless = try office.issue(try office.order(plan: "team")).license.id
        func renew(_ id: License.ID, by duration: String? = nil, at now: Timestamp) throws -> String? {
            let duration = try duration.map { try CalendarDuration($0) }
            return try office.change(id, at: now) {
                try service.renew($0, of: product, by: duration, by: $1, in: $2)
            }.expiresAt?.rfc3339
        }

        #expect(try renew(id, at: noon) == "2028-11-30T12:00:00Z")
        #expect(try renew(id, by: "P1M", at: noon) == "2028-12-30T12:00:00Z")
        let late = try Timestamp("2029-05-01T00:00:00Z", as: .instant)
        #expect(try renew(id, by: "P14D", at: late) == "2029-05-15T00:00:00Z")
        #expect(try Refusal.Code.of { _ = try renew(endless, at: noon) } == .notRenewable)
    }

    @Test("after a reissue the old key serves seats that are held and takes no new one")
    func reissue() throws {
        let (service, product) = (office.service, office.product)
        let issued = try office.issue(try office.order())
        let old = try #require(issued.key).text
        let seat = try office.activate(old, on: "install-number-0001")?.value
        let draft = try service.newKey(for: product, mode: .live)

        try office.change(issued.license.id) {
            try service.reissue($0, of: product, with: draft, revokesSeats: false, because: "lost", by: $1, in: $2)
        }

        #expect(seat != nil)
        #expect(try office.activate(old, on: "install-number-0001")?.value?.id == seat?.id)
        #expect(try office.activate(old, on: "install-number-0002")?.denial == .reissued)
        #expect(try office.activate(draft.key.text, on: "install-number-0002")?.value != nil)
        #expect(try service.key(of: try office.facts(issued.license.id)) == draft.key.text)
        #expect(try office.read { db in try service.find(old, of: nil, in: db) } == issued.license.id)
    }

    @Test("a reissue for a leaked key takes the seats, too")
    func reissueWithSeats() throws {
        let (service, product) = (office.service, office.product)
        let issued = try office.issue(try office.order())
        _ = try office.activate(try #require(issued.key).text, on: "install-number-0001")
        let draft = try service.newKey(for: product, mode: .live)

        try office.change(issued.license.id) {
            try service.reissue($0, of: product, with: draft, revokesSeats: true, because: "leaked", by: $1, in: $2)
        }

        #expect(try office.facts(issued.license.id).seats.used == 0)
    }

    @Test("a seat is released once; one of another license is not found")
    func releaseSeat() throws {
        let (service, product) = (office.service, office.product)
        let issued = try office.issue(try office.order())
        let other = try office.issue(try office.order()).license.id
        let key = try #require(issued.key).text
        let seat = try #require(try office.activate(key, on: "install-number-0001")?.value)
        func release(of id: License.ID) throws -> Bool {
            try office.change(id) { license, actor, db in
                try service.releaseSeat(seat.id, of: license, product: product, because: nil, by: actor, in: db)
            }
        }

        #expect(try Refusal.Code.of { _ = try release(of: other) } == .activationNotFound)
        #expect(try release(of: issued.license.id))
        #expect(try !release(of: issued.license.id))
        #expect(try office.facts(issued.license.id).activations?.isEmpty == true)
    }

    @Test("an edit changes what it names, follows the plan again where told so, and writes nothing for nothing")
    func edit() throws {
        let (service, product) = (office.service, office.product)
        let id = try office.issue(try office.order()).license.id
        func edit(_ changes: LicenseChanges) throws -> License {
            try office.change(id) { try service.edit($0, of: product, by: changes, by: $1, in: $2) }
        }

        let edited = try edit(
            LicenseChanges(
                seatLimit: .own(.limited(7)),
                end: .never,
                maintenanceUntil: .set(noon),
                offlineLife: .own(try CalendarDuration("P30D")),
                customerName: "Dee"
            )
        )
        #expect(edited.seatLimit == .limited(7))
        #expect(edited.expiresAt == nil)
        #expect(edited.maintenanceUntil == noon)
        #expect(try office.facts(id).customer?.name == "Dee")
        let moved = try edit(
            LicenseChanges(plan: office.team.code, seatLimit: .plan, maintenanceUntil: .unset, offlineLife: .plan)
        )
        #expect(moved.plan.code == office.team.code)
        #expect(moved.seatLimit == .unlimited)
        #expect(moved.maintenanceUntil == nil)
        #expect(moved.overrides == .none)
        _ = try edit(LicenseChanges(plan: office.team.code, customerName: "Dee"))
        let noPlan = LicenseChanges(plan: try PlanCode("none"))
        #expect(try Refusal.Code.of { _ = try edit(noPlan) } == .planNotFound)
        #expect(try office.audited() == ["license.issue", "license.edit", "license.edit"])
    }

    @Test("a license is named by its id or any of its keys; a key that two products know needs the product")
    func find() throws {
        let (service, entropy) = (office.service, SystemEntropy())
        var second = office.product
        second.id = try Identifier(at: noon, entropy: entropy)
        second.slug = try Slug("viewer")
        var plan = office.team
        plan.id = try Identifier(at: noon, entropy: entropy)
        plan.product = second.id
        try office.write { db in
            try ProductStore.insert(second, at: noon, in: db)
            try PlanStore.insert(plan, at: noon, in: db)
        }
        let order = try office.order(plan: "team", key: "old-serial 42")
        let here = try office.issue(order).license.id
        let alone = try office.issue(try office.order())
        let draft = try service.draft(order, for: second, at: noon)
        let there = try office.write { db in
            try service.issue(draft, of: second, by: office.actor(), in: db).license.id
        }
        func find(_ text: String, of product: Product? = nil) throws -> License.ID {
            try office.read { db in try service.find(text, of: product, in: db) }
        }

        #expect(try find(here.text) == here)
        #expect(try find("OLDSERIAL42", of: office.product) == here)
        #expect(try find("OLDSERIAL42", of: second) == there)
        #expect(try Refusal.Code.of { _ = try find("OLDSERIAL42") } == .ambiguous)
        let key = try #require(alone.key).text
        #expect(try find(" \(key.lowercased()) ") == alone.license.id)
        #expect(try Refusal.Code.of { _ = try find(here.text, of: second) } == .licenseNotFound)
        #expect(try Refusal.Code.of { _ = try find("lic_nothing") } == .licenseNotFound)
        let wrong = key.dropLast() + (key.hasSuffix("0") ? "1" : "0")
        #expect(try Refusal.Code.of { _ = try find(String(wrong)) } == .licenseKeyMalformed)
    }

    @Test("a list filters by every member and goes on page by page")
    func list() throws {
        let service = office.service
        for number in 0..<5 {
            try office.issue(try office.order(orderID: "o-\(number)", customerEmail: "c\(number % 2)@example.com"))
        }
        let lapsed = try office.issue(try office.order(end: .at(noon.adding(seconds: 60)))).license.id
        let future = try office.issue(try office.order(plan: "team", mode: .test, startsAt: noon.adding(seconds: 600)))
        let later = noon.adding(seconds: 60)
        func ids(_ filter: LicenseFilter) throws -> [License.ID] {
            try office.read { db in
                try service.list(filter, after: nil, limit: 100, at: later, in: db).licenses.map(\.license.id)
            }
        }

        #expect(try ids(LicenseFilter()).count == 7)
        #expect(try ids(LicenseFilter(status: .expired)) == [lapsed])
        #expect(try ids(LicenseFilter(status: .notStarted)) == [future.license.id])
        #expect(try ids(LicenseFilter(status: .active)).count == 5)
        #expect(try ids(LicenseFilter(mode: .test)) == [future.license.id])
        #expect(try ids(LicenseFilter(plan: office.team.code)) == [future.license.id])
        #expect(try ids(LicenseFilter(customerEmail: try EmailAddress("C0@example.com"))).count == 3)
        #expect(try ids(LicenseFilter(vendor: office.vendor.id, orderID: "o-3")).count == 1)
        var cursor: License.ID?
        var paged: [License.ID] = []
        repeat {
            let page = try office.read { db in
                try service.list(LicenseFilter(status: .active), after: cursor, limit: 2, at: later, in: db)
            }
            paged += page.licenses.map(\.license.id)
            cursor = page.next
        } while cursor != nil
        #expect(paged == (try ids(LicenseFilter(status: .active))))
    }

    @Test("a list that looks at few licenses at a time finds the same in more pages", arguments: [1, 3, 4, 100])
    func boundedList(most: Int) throws {
        let service = office.service
        for number in 0..<10 {
            try office.issue(try office.order(end: number % 4 == 3 ? .at(noon.adding(seconds: 60)) : .plan))
        }
        let later = noon.adding(seconds: 60)
        for filter in [LicenseFilter(status: .expired), LicenseFilter(product: office.product.id, mode: .test)] {
            func page(after cursor: License.ID?, lookingAt most: Int?) throws -> LicensePage {
                try office.read { db in
                    try service.list(filter, after: cursor, limit: 2, lookingAt: most, at: later, in: db)
                }
            }
            var (found, pages): ([License.ID], Int) = ([], 0)
            var cursor: License.ID?
            repeat {
                let part = try page(after: cursor, lookingAt: most)
                #expect(part.licenses.count <= 2)
                found += part.licenses.map(\.license.id)
                cursor = part.next
                pages += 1
            } while cursor != nil && pages < 100

            #expect(found == (try page(after: nil, lookingAt: nil).licenses.map(\.license.id)))
            #expect(pages == 10 / (most + 1) + 1)
        }
    }

    @Test("an explanation's first deciding check that fails is the answer of a validation")
    func explain() throws {
        let (service, product) = (office.service, office.product)
        let issued = try office.issue(try office.order())
        let key = try #require(issued.key).text
        func explain(_ name: String, _ install: String?, at now: Timestamp) throws -> LicenseExplanation {
            try office.read { db in
                let id = try install.map { try InstallID($0) }
                return try service.explain(name, of: nil, for: id, at: now, in: db).explanation
            }
        }
        func deciding(_ explanation: LicenseExplanation) -> LicenseExplanation.Name? {
            explanation.checks.first { $0.isDeciding && !$0.isPassed }?.name
        }
        _ = try office.activate(key, on: "install-number-0001")

        let good = try explain(key, "install-number-0001", at: noon)
        #expect(good.code == .valid && deciding(good) == nil)
        let seatless = try explain(key, "install-number-0002", at: noon)
        #expect(seatless.code == .notActivated && deciding(seatless) == .notActivated)
        let expired = try explain(key, nil, at: noon.adding(seconds: 366 * 86_400))
        #expect(expired.code == .licenseExpired && deciding(expired) == .expired)
        try office.change(issued.license.id) {
            try service.suspend($0, of: product, because: "unpaid", by: $1, in: $2)
        }
        let suspended = try explain(key, nil, at: noon)
        #expect(suspended.code == .licenseSuspended && deciding(suspended) == .suspended)
        #expect(suspended.checks.contains { $0.detail == "suspended: unpaid" })
    }

    @Test("two machines with one fingerprint are told about")
    func clones() throws {
        let issued = try office.issue(try office.order())
        let key = try #require(issued.key).text
        for install in ["install-number-0001", "install-number-0002", "install-number-0001"] {
            _ = try office.activate(key, on: install, fingerprint: "machine-of-dee-1")
        }

        let facts = try office.facts(issued.license.id)

        #expect(facts.activations?.count == 2)
        #expect(facts.cloneNotice != nil)
        var writer = JSONWriter()
        facts.write(to: &writer)
        let json = try JSONDocument(parsing: writer.finish()).root
        #expect(json["notice"]?.string != nil)
        #expect(json["activations"]?.elements?.first { _ in true }?["cloned"]?.bool == true)
    }
}
