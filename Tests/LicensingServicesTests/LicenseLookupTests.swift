import Cryptography
import Licensing
import Storage
import StrictJSON
import Testing

@testable import LicensingServices

@Suite("Finding, listing and explaining licenses") struct LicenseLookupTests {
    let office: LicenseOffice
    let noon = LicenseOffice.noon

    init() throws { office = try LicenseOffice() }

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
