import Licensing
import Testing

@Suite("License terms") struct LicenseTermTests {
    @Test("twelve monthly renewals from 31 January end on 31 January")
    func monthEnds() throws {
        let start = try Timestamp.at("2027-01-31T10:00:00Z")
        var term = LicenseTerm.counted(CalendarDuration(months: 1), from: start)
        var ends = [term.end?.rfc3339]

        for _ in 1..<12 {
            term = try #require(term.renewed(by: CalendarDuration(months: 1), at: start))
            ends.append(term.end?.rfc3339)
        }

        #expect(
            ends.compactMap { $0?.prefix(10) } == [
                "2027-02-28", "2027-03-31", "2027-04-30", "2027-05-31", "2027-06-30", "2027-07-31", "2027-08-31",
                "2027-09-30", "2027-10-31", "2027-11-30", "2027-12-31", "2028-01-31",
            ]
        )
    }

    @Test("an early renewal adds to the old end, months counted from the anchor through a row of the database")
    func earlyRenewal() throws {
        let end = try Timestamp.at("2027-02-28T10:00:00Z")
        let anchor = try Timestamp.at("2027-01-31T10:00:00Z")
        let term = LicenseTerm(end: end, anchor: anchor, months: 1, pending: nil)

        let renewed = term.renewed(by: CalendarDuration(months: 12), at: end.adding(seconds: -1))

        #expect(renewed?.end?.rfc3339 == "2028-02-29T10:00:00Z")
        #expect(renewed?.anchor == anchor)
        #expect(renewed?.months == 13)
    }

    @Test("a lapsed renewal begins anew at now, which is its anchor: also at the very second of the end")
    func lapsedRenewal() throws {
        let end = try Timestamp.at("2027-02-28T10:00:00Z")
        let now = try Timestamp.at("2027-03-31T12:00:00Z")
        let term = LicenseTerm(end: end, anchor: end.adding(months: -1), months: 1, pending: nil)

        #expect(
            term.renewed(by: CalendarDuration(months: 1), at: now)
                == .ending(end: try .at("2027-04-30T12:00:00Z"), anchor: now, months: 1)
        )
        #expect(
            term.renewed(by: CalendarDuration(months: 1), at: end)
                == .ending(end: try .at("2027-03-28T10:00:00Z"), anchor: end, months: 1)
        )
    }

    @Test("a renewal in days makes its end the anchor of the next one in months")
    func dayRenewal() throws {
        let end = try Timestamp.at("2027-02-28T10:00:00Z")
        let term = LicenseTerm(end: end, anchor: try .at("2027-01-31T10:00:00Z"), months: 1, pending: nil)

        let inDays = try #require(term.renewed(by: CalendarDuration(days: 3), at: end.adding(seconds: -1)))
        let inMonths = inDays.renewed(by: CalendarDuration(months: 1), at: end.adding(seconds: -1))

        #expect(inDays == .explicit(try .at("2027-03-03T10:00:00Z")))
        #expect(inMonths?.end?.rfc3339 == "2027-04-03T10:00:00Z")
    }

    @Test("an explicit end is its own anchor")
    func explicitEnd() throws {
        let end = try Timestamp.at("2027-03-31T00:00:00Z")

        let renewed = LicenseTerm.explicit(end).renewed(by: CalendarDuration(months: 1), at: end.adding(seconds: -1))
        let again = renewed?.renewed(by: CalendarDuration(months: 1), at: end)

        #expect(renewed?.end?.rfc3339 == "2027-04-30T00:00:00Z")
        #expect(again?.end?.rfc3339 == "2027-05-31T00:00:00Z")
    }

    @Test("an end that was moved without its anchor counts from itself")
    func brokenAnchor() throws {
        let end = try Timestamp.at("2027-03-15T00:00:00Z")
        let term = LicenseTerm(end: end, anchor: try .at("2027-01-31T00:00:00Z"), months: 1, pending: nil)

        #expect(term.renewed(by: CalendarDuration(months: 1), at: .earliest)?.end?.rfc3339 == "2027-04-15T00:00:00Z")
    }

    @Test("the plan's duration counts from the start, or waits for the first activation")
    func issue() throws {
        let year = CalendarDuration(months: 12)
        let fromIssue = try Plan.fixture(duration: year)
        let fromActivation = try Plan.fixture(duration: year, expiryBasis: .firstActivation)

        #expect(LicenseTerm(.plan, under: fromIssue, from: .noon).end == .noon.adding(months: 12))
        #expect(LicenseTerm(.plan, under: fromActivation, from: .noon) == .pending(year))
        #expect(
            LicenseTerm(.plan, under: fromActivation, from: .noon, firstActivatedAt: .noon.adding(days: 1)).end
                == Timestamp.noon.adding(days: 1).adding(months: 12)
        )
        #expect(LicenseTerm(.plan, under: try .fixture(), from: .noon) == .unending)
        #expect(LicenseTerm(.never, under: fromIssue, from: .noon) == .unending)
        #expect(LicenseTerm(.at(.noon), under: fromActivation, from: .earliest) == .explicit(.noon))
        #expect(
            LicenseTerm(.duration(CalendarDuration(days: 14)), under: fromIssue, from: .noon)
                == .explicit(.noon.adding(days: 14))
        )
    }

    @Test("renewal lasts as long as the plan says, unless told; what has no end cannot be renewed")
    func renewalDecision() throws {
        let yearly = try License.fixture(plan: .fixture(duration: CalendarDuration(months: 12)), expiresAt: .noon)
        let endless = try License.fixture()
        let fixedEnd = try License.fixture(expiresAt: .noon)
        let now = Timestamp.noon.adding(seconds: -1)

        #expect(yearly.renewalDecision(at: now).value?.end == .noon.adding(months: 12))
        #expect(yearly.renewalDecision(by: CalendarDuration(days: 1), at: now).value?.end == .noon.adding(days: 1))
        #expect(endless.renewalDecision(by: CalendarDuration(days: 1), at: now) == .denied(.notRenewable))
        #expect(endless.renewalDecision(at: now) == .denied(.notRenewable))
        #expect(fixedEnd.renewalDecision(at: now) == .denied(.renewalWithoutDuration))
        #expect(fixedEnd.renewalDecision(by: .zero, at: now) == .denied(.renewalWithoutDuration))
    }

    @Test("a renewal before the first activation waits with the rest")
    func pendingRenewal() throws {
        let license = try License.fixture(
            plan: .fixture(duration: CalendarDuration(months: 12), expiryBasis: .firstActivation),
            term: .pending(CalendarDuration(months: 12))
        )

        #expect(license.renewalDecision(at: .noon) == .granted(.pending(CalendarDuration(months: 24))))
        #expect(license.status(at: .latest) == .active)
    }
}
