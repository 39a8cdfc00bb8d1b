import Licensing
import Storage
import Testing

@testable import LicensingServices

@Suite("Changing licenses") struct LicenseChangeTests {
    let office: LicenseOffice
    let noon = LicenseOffice.noon

    init() throws { office = try LicenseOffice() }

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
}
