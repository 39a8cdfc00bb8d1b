import Cryptography
import Licensing
import Migrations
import Storage
import Testing

@testable import LicensingServices

@Suite("Counting seats") struct SeatCountTests {
    /// Numbers that follow from a seed.
    private struct Numbers {
        private var state: UInt64

        init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1 }

        mutating func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(bound))
        }

        mutating func instant() -> Timestamp { LicenseOffice.noon.adding(seconds: Int64(next(200) - 200)) }
    }

    /// A license with so many seats.
    private func office(_ count: Int) throws -> (LicenseOffice, License.ID, [Activation.ID]) {
        let office = try LicenseOffice()
        let issued = try office.issue(office.order(plan: "team"))
        let key = try #require(issued.key).text
        let seats = try (0..<count).map { number in
            try #require(try office.activate(key, on: "the-install-number-\(number)")?.value).id
        }
        return (office, issued.license.id, seats)
    }

    /// Gives a seat times and perhaps an end, whatever they were.
    private func change(_ seat: Activation.ID, _ numbers: inout Numbers, in db: borrowing WriteTransaction) throws {
        let hasLease = numbers.next(3) > 0
        let isReleased = numbers.next(3) == 0
        let reason = ReleaseReason.allCases[numbers.next(ReleaseReason.allCases.count)]
        let renewed = numbers.instant()
        try db.run(
            """
            UPDATE activations SET activated_at = :activated_at, last_seen_at = :last_seen_at,
                lease_renewed_at = :lease_renewed_at, lease_expires_at = :lease_expires_at,
                released_at = :released_at, release_reason = :release_reason
            WHERE id = :id
            """,
            [
                "id": .id(seat), "activated_at": .instant(numbers.instant()),
                "last_seen_at": .instant(numbers.instant()),
                "lease_renewed_at": .instantOrNull(hasLease ? renewed : nil),
                "lease_expires_at": .instantOrNull(
                    hasLease ? renewed.adding(seconds: Int64(1 + numbers.next(200))) : nil
                ),
                "released_at": .instantOrNull(isReleased ? numbers.instant() : nil),
                "release_reason": .textOrNull(isReleased ? reason.rawValue : nil),
            ]
        )
    }

    @Test(
        "a count says what each seat says, whatever their leases are and however they came and went",
        arguments: 0..<8 as Range<UInt64>
    )
    func counted(seed: UInt64) throws {
        let (office, license, seats) = try office(24)
        var numbers = Numbers(seed: seed)

        for _ in 0..<6 {
            try office.write { db in
                for seat in seats where numbers.next(2) == 0 { try change(seat, &numbers, in: db) }
                if numbers.next(2) == 0 {
                    try db.run("DELETE FROM activations WHERE id = :id", ["id": .id(seats[numbers.next(seats.count)])])
                }
            }
            let times = [0, 1, 50, 100, 199, 400].map { LicenseOffice.noon.adding(seconds: $0 - 200) }
            for now in times + [numbers.instant()] {
                for lease in [nil, 1, 60, 100, 1_000] as [Int64?] {
                    let since = numbers.instant()
                    let read = try self.read(license, seats, lease, since: since, at: now, of: office)
                    let rows = read.all.filter { $0.releasedAt == nil }
                    let over = rows.filter { !$0.isHeld(at: now, leaseSeconds: lease) }
                    let held = rows.filter { $0.isHeld(at: now, leaseSeconds: lease) }
                        .sorted { ($0.lastSeenAt, $0.id) < ($1.lastSeenAt, $1.id) }
                    #expect(read.count == SeatCount(unreleased: rows.count, lapsed: over.count))
                    #expect(read.threeUnseen.map(\.id) == held.prefix(3).map(\.id))
                    #expect(read.threeLatest.map(\.id) == held.reversed().prefix(3).map(\.id))
                    #expect(Set(read.lapsed.map(\.id)) == Set(over.map(\.id)))
                    #expect(read.threeLapsed.count == min(3, over.count))
                    let given = read.all.filter { seat in
                        guard let reason = seat.releaseReason else { return seat.isHeld(at: now, leaseSeconds: lease) }
                        return [.deactivated, .replaced, .idle].contains(reason)
                    }
                    #expect(read.newSeats == given.count { $0.activatedAt > since })
                }
            }
        }
    }

    /// The seats of a license one by one, and what is counted and found of them.
    private struct Read: Sendable {
        let all: [Activation]
        let newSeats: Int
        let count: SeatCount
        let lapsed: [Activation]
        let threeLapsed: [Activation]
        let threeUnseen: [Activation]
        let threeLatest: [Activation]
    }

    private func read(
        _ license: License.ID,
        _ seats: [Activation.ID],
        _ lease: Int64?,
        since: Timestamp,
        at now: Timestamp,
        of office: LicenseOffice
    ) throws -> Read {
        try office.read { db in
            Read(
                all: try seats.compactMap { try ActivationStore.find($0, in: db) },
                newSeats: try ActivationStore.newSeats(
                    of: license,
                    leaseSeconds: lease,
                    after: since,
                    at: now,
                    in: db
                ),
                count: try ActivationStore.seatCount(of: license, leaseSeconds: lease, at: now, in: db),
                lapsed: try lease.map { lease in
                    try ActivationStore.lapsed(of: license, leaseSeconds: lease, at: now, limit: 100, in: db)
                } ?? [],
                threeLapsed: try lease.map { lease in
                    try ActivationStore.lapsed(of: license, leaseSeconds: lease, at: now, limit: 3, in: db)
                } ?? [],
                threeUnseen: try ActivationStore.longestUnseen(
                    of: license,
                    leaseSeconds: lease,
                    at: now,
                    limit: 3,
                    in: db
                ),
                threeLatest: try ActivationStore.latestSeen(
                    of: license,
                    leaseSeconds: lease,
                    at: now,
                    limit: 3,
                    in: db
                )
            )
        }
    }

    @Test("seats from before there was a count are counted when the database is brought up to date")
    func migrated() throws {
        let office = try LicenseOffice(migrations: Array(Migration.all.prefix { !$0.name.hasSuffix("count_seats") }))
        let license = try office.issue(office.order(plan: "team")).license.id
        let directory = InstallDirectory(entropy: SystemEntropy())
        try office.write { db in
            for number in 0..<3 {
                let claim = try office.install("the-install-number-\(number)")
                let install = try directory.record(claim, of: office.caller, at: LicenseOffice.noon, in: db)
                let seat = Activation(
                    id: try Identifier(at: LicenseOffice.noon, entropy: SystemEntropy()),
                    license: license,
                    install: install.id,
                    activatedAt: LicenseOffice.noon,
                    lastSeenAt: LicenseOffice.noon
                )
                try ActivationStore.insert(seat, in: db)
                if number == 0 {
                    try ActivationStore.release(seat.id, at: LicenseOffice.noon, because: .deactivated, in: db)
                }
            }
        }
        var options = office.database.options
        options.migrations = Migration.all

        let newer = try Database(folder: office.folder, options: options).openForCommandLine(isMade: false)
        let count = try newer.snapshot { db in
            try ActivationStore.seatCount(of: license, leaseSeconds: nil, at: LicenseOffice.noon, in: db)
        }

        #expect(count.held == 2)
    }
}
