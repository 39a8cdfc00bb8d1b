import Licensing
import LicensingServices
import Storage
import StrictJSON
import Testing

@testable import CountersignAPI

/// A license may have many thousands of seats; what one app asks must not be work for each of them.
@Suite("Many seats") struct ManySeatsTests {
    enum Kind: String, CaseIterable, Sendable {
        case unlimited
        case withRoom
        case overage
        case floating
        case transferLimited
        case full
        case releasesOldest

        func set(_ plan: inout Plan) {
            // A list for the customer reads seats, and is bounded: see below.
            plan.selfRelease = false
            plan.seatLimit =
                self == .unlimited ? .unlimited : .limited(self == .full || self == .releasesOldest ? 3 : 10)
            switch self {
            case .overage:
                plan.seatLimit = .limited(2)
                plan.seatPolicy = .allowOverage
                plan.overagePercent = 100
            case .floating: plan.leaseSeconds = 86_400 * 300
            case .transferLimited: plan.transferLimit = 50
            case .releasesOldest: plan.seatPolicy = .releaseOldest
            default: break
            }
        }
    }

    @Test("who is refused a seat sees none of its own, where a lease is counted from when it was seen last, too")
    func leaseWithoutRow() throws {
        var api = try TestAPI.open()
        let sold = try api.sell { $0.seatLimit = .limited(1) }
        #expect(api.activate(sold.key, 1).status == 200)
        try api.edit(sold) { license in
            license.overrides.seatLimit = .limited(0)
        }
        try api.writer.write { db in _ = try db.run("UPDATE plans SET lease_seconds = 600") }
        api.catalog.clock.advance(by: 600)

        let answer = api.activate(sold.key, 1)

        #expect(answer.code == "NO_SEATS_AVAILABLE" && answer["seats", "used"]?.int64 == 0, "\(answer.text)")
        #expect(answer["activations"]?.elements.map { Array($0).count } == 0, "\(answer.text)")
    }

    @Test("a seat whose lease is over is in no list, the caller's own neither")
    func lapsedInLists() throws {
        var api = try TestAPI.open()
        let sold = try api.sell { $0.leaseSeconds = 600 }
        for install in 1...2 { #expect(api.activate(sold.key, install).status == 200) }
        try api.edit(sold) { $0.overrides.seatLimit = .limited(0) }
        func listed(_ answer: Received) -> Int? { answer["activations"]?.elements.map { Array($0).count } }

        api.catalog.clock.advance(by: 599)
        let before = api.activate(sold.key, 3)
        api.catalog.clock.advance(by: 1)
        let after = [api.activate(sold.key, 1), api.activate(sold.key, 3)]

        #expect(before.code == "NO_SEATS_AVAILABLE" && listed(before) == 2)
        for answer in after {
            #expect(answer.code == "NO_SEATS_AVAILABLE" && answer["seats", "used"]?.int64 == 0)
            #expect(listed(answer) == 0, "\(answer.text)")
        }
    }

    @Test("no call of an app reads a seat that it does not need", arguments: Kind.allCases)
    func needed(kind: Kind) throws {
        var api = try TestAPI.open()
        let sold = try api.sell { plan in kind.set(&plan) }
        for install in 1...3 {
            #expect(api.activate(sold.key, install, more: #","fingerprint":"fingerprint-\#(install)""#).status == 200)
            api.catalog.clock.advance(by: 1)
        }
        if kind == .releasesOldest { api.catalog.clock.advance(by: 200 * 86_400) }
        // Whoever reads the second seat fails: it has no identifier.
        try api.writer.write { db in _ = try db.run("UPDATE activations SET id = 'damaged' WHERE rowid = 2") }

        #expect(api.activate(sold.key, 3).status == 200)
        #expect(api.validate(sold.key, 3).code == "VALID")
        #expect(api.call("/v1/heartbeat", sold.key, 3).status == 200)
        let new = api.activate(sold.key, 9, more: #","fingerprint":"fingerprint-9""#)
        #expect(kind == .full ? new.code == "NO_SEATS_AVAILABLE" : new.status == 200, "\(new.text)")
        // The third is not among those that were released.
        let used: Int64 = kind == .full || kind == .releasesOldest ? 3 : 4
        #expect(new["seats", "used"]?.int64 == used)
        // The second is now the one that the next new seat would end.
        guard kind != .releasesOldest else { return }
        #expect(api.activate(sold.key, 19, more: #","fingerprint":"fingerprint-3""#).status == 200)
        let released = api.call("/v1/deactivate", sold.key, 19)
        #expect(released["released"]?.bool == true && released["seats", "used"]?.int64 == used - 1)
        // It is the seat that fails, not the damage that is missing.
        #expect(api.call("/v1/deactivate", sold.key, 2).status == 500)
    }

    @Test(
        "seats are counted as they come and go, not one by one when somebody asks",
        arguments: [nil, 600] as [Int64?]
    )
    func counted(lease: Int64?) throws {
        var api = try TestAPI.open()
        let sold = try api.sell { plan in
            plan.seatLimit = .limited(5_001)
            plan.leaseSeconds = lease
        }
        #expect(api.activate(sold.key, 1).status == 200)
        // Whoever looked at the seats would see one.
        try api.writer.write { db in _ = try db.run("UPDATE seat_counts SET unreleased = 5000") }

        let answers = [
            api.validate(sold.key, 1), api.activate(sold.key, 1), api.activate(sold.key, 2), api.activate(sold.key, 3),
            api.call("/v1/deactivate", sold.key, 2), api.call("/v1/seats", sold.key, 1),
        ]

        #expect(answers.map { $0["seats", "used"]?.int64 } == [5_000, 5_000, 5_001, 5_001, 5_000, 5_000])
        #expect(answers.map(\.status) == [200, 200, 200, 409, 200, 200])
    }

    @Test("lists tell the seats that were unseen for longest, at most so many, and the caller's own; all are counted")
    func lists() throws {
        var api = try TestAPI.open()
        let (most, more) = (ListedSeat.mostListed, 5)
        let sold = try api.sell { plan in plan.seatLimit = .limited(most + more) }
        var seats: [String] = []
        for install in 1...(most + more) {
            seats.append(try #require(api.activate(sold.key, install)["activation", "id"]?.string))
            api.catalog.clock.advance(by: 1)
        }
        func rows(_ answer: Received) -> [String] {
            answer["activations"]?.elements?.compactMap { $0["activation"]?.string } ?? []
        }
        let oldest = Array(seats.prefix(most).reversed())

        let refused = api.activate(sold.key, most + more + 1)
        let stranger = api.call("/v1/seats", sold.key, most + more + 1)
        let holder = api.call("/v1/seats", sold.key, most + more)
        let first = api.call("/v1/seats", sold.key, 1)

        #expect(refused.code == "NO_SEATS_AVAILABLE" && rows(refused) == oldest)
        #expect(rows(stranger) == oldest)
        #expect(rows(holder) == [seats[most + more - 1]] + oldest)
        #expect(
            holder["activations"]?.elements?.first { $0["this"]?.bool == true }?["activation"]?.string == seats.last
        )
        #expect(rows(first) == oldest && first["activations"]?.elements?.filter { $0["this"]?.bool == true }.count == 1)
        for answer in [refused, stranger, holder, first] {
            #expect(answer["seats", "used"]?.int64 == Int64(most + more))
        }
        let replaced = api.activate(sold.key, most + more + 1, more: #","replace":"\#(seats[0])""#)
        #expect(replaced.status == 200)
    }

    @Test("administration tells the seats that were seen last, reads at most so many, and says how many more there are")
    func administered() throws {
        var api = try TestAPI.open()
        let (most, more) = (LicenseDetail.mostSeats, 3)
        let sold = try api.sell { plan in plan.seatLimit = .unlimited }
        var seats: [String] = []
        for install in 1...(most + more) {
            seats.append(try #require(api.activate(sold.key, install)["activation", "id"]?.string))
            api.catalog.clock.advance(by: 1)
        }
        func told(_ answer: Received) throws -> (seats: [String], omitted: Int64?, used: Int64?) {
            let license = try #require(answer["license"], "\(answer.text)")
            return (
                license["activations"]?.elements?.compactMap { $0["id"]?.string } ?? [],
                license["activations_omitted"]?.int64, license["seats"]?["used"]?.int64
            )
        }
        let path = "/v1/admin/licenses/\(sold.id)"

        let shown = try told(api.admin("GET", path))
        // Whoever reads the one that was unseen for longest fails: it has no identifier.
        try api.writer.write { db in _ = try db.run("UPDATE activations SET id = 'damaged' WHERE rowid = 1") }
        let suspended = try told(api.admin("POST", path + "/suspend", #"{"reason":"unpaid"}"#))
        let released = try told(
            api.admin("POST", path + "/release-seat", #"{"activation":"\#(seats[9])","reason":"lost"}"#)
        )

        let latest = Array(seats.suffix(most).reversed())
        #expect(shown.seats == latest && shown.omitted == Int64(more) && shown.used == Int64(most + more))
        #expect(suspended.seats == latest && suspended.omitted == Int64(more))
        #expect(released.omitted == Int64(more - 1) && released.used == Int64(most + more - 1))
        let listed = api.admin("GET", "/v1/admin/licenses")["licenses"]?.elements.map(Array.init)
        #expect(listed?.count == 1 && listed?.first?["activations"] == nil)
    }

    @Test("many leases that are over take no seat, and are written down as ended a few with each new one")
    func lapsed() throws {
        var api = try TestAPI.open()
        let sold = try api.sell { plan in
            plan.seatLimit = .limited(40)
            plan.leaseSeconds = 60
        }
        for install in 1...40 { #expect(api.activate(sold.key, install).status == 200) }
        api.catalog.clock.advance(by: 60)

        var left: [Int] = []
        for install in 101...104 {
            let answer = api.activate(sold.key, install)
            #expect(answer["seats", "used"]?.int64 == Int64(install - 100))
            left.append(try api.count("SELECT count(*) FROM activations WHERE released_at IS NULL"))
        }

        #expect(left[0] < 40 && left[1] < left[0] && left.last == 4)
        #expect(api.validate(sold.key, 7).code == "NOT_ACTIVATED")
        #expect(api.activate(sold.key, 7).status == 200)
    }
}
