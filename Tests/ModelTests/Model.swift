/// The rules for one product in one mode, written from the design a second time, as plainly as they can be said: numbers for
/// names, seconds for times, arrays for tables, nothing shared with the product.
struct Model {
    struct License {
        enum Term: Equatable {
            case unending
            case ending(Int64, anchor: Int64, months: Int64)
            case pending(Span)
        }

        var plan: Int
        var issued: Int64
        var starts: Int64?
        var term: Term
        var standing = "active"
        var seats: Seats?
        var offlineLife: Int64?
        var customer: Int?
        var firstActivated: Int64?
        /// How many keys it ever had.
        var keys = 1
        /// By which fingerprint an install was last replaced.
        var replacedBy: [Int: Int] = [:]
        var clones: Set<Int> = []
    }

    struct Seat {
        var number: Int
        var license: Int
        var install: Int
        var fingerprint: Int?
        var taken: Int64
        var seen: Int64
        /// When its lease was renewed, and until when that lasts.
        var lease: (renewed: Int64, end: Int64)?
        var takeovers: [Int64] = []
        /// Nil while nobody wrote that it ended; its lease may be over.
        var release: String?
    }

    struct Install {
        var fingerprint: Int?
        var firstContact: Int64
        /// The latest contact.
        var seen: Int64
        /// In the order of first contacts.
        var number: Int
        var trial: Int?
    }

    struct Trial {
        /// The install that started it, which is told its token.
        var owner: Int
        var hasToken = false
        var made: Int64
        /// The machines it is known by: those of its installs, whatever their fingerprints drifted to.
        var fingerprints: Set<Int> = []
        var start: Int64
        var end: Int64?
        var extended: Int64?

        var lastEnd: Int64? { [end, extended].compactMap { $0 }.max() }
    }

    struct Gift {
        var recipient: Recipient
        var features: [Int]
        var starts: Int64
        var ends: Int64?
        var isWithdrawn = false
    }

    enum Subject: Hashable {
        case install(Int)
        case license(Int)
        case customer(Int)
    }

    struct Counter: Hashable {
        var meter: Int
        var subject: Subject
    }

    struct Usage {
        var opened: Int64
        var used: Int64
        /// False for a rolling window that only the next count opens.
        var isOpened = true
    }

    struct RepeatKey: Hashable {
        var install: Int
        var key: Int
    }

    struct Kept {
        var amounts: [AmountSpec]
        /// The license and the number of the key that was shown.
        var key: [Int]?
        var told: Told
        var at: Int64
    }

    var now: Int64
    let isTest: Bool
    var settings: SettingsSpec
    var plans: [PlanSpec]
    var meters: [MeterSpec]
    var licenses: [License] = []
    var seats: [Seat] = []
    var installs: [Int: Install] = [:]
    var trials: [Trial] = []
    var gifts: [Gift] = []
    var customers: Set<Int> = []
    var usage: [Counter: Usage] = [:]
    var kept: [RepeatKey: Kept] = [:]
    /// Of both modes.
    var ledger: Ledger?
    /// Numbers of trials in the order in which they were first told of.
    var toldTrials: [Int: Int] = [:]

    init(_ product: ProductSpec, isTest: Bool, at start: Int64) {
        now = start
        self.isTest = isTest
        ledger = product.store.map { Ledger($0, at: start) }
        settings = product.settings
        plans = product.plans
        meters = product.meters
    }

    // MARK: What counts for a license

    func plan(_ license: License) -> PlanSpec { plans[license.plan] }

    func end(_ license: License) -> Int64? {
        if case .ending(let end, _, _) = license.term { return end }
        return nil
    }

    func rightEnd(_ license: License) -> Int64? { end(license).map { $0 + plan(license).grace } }

    func status(_ license: License) -> String {
        if license.standing != "active" { return license.standing }
        if let starts = license.starts, now < starts { return "not_started" }
        if let end = rightEnd(license), now >= end { return "expired" }
        return "active"
    }

    /// Why a license is not in force, as a code.
    func refusal(_ license: License) -> String? {
        switch status(license) {
        case "revoked": "LICENSE_REVOKED"
        case "suspended": "LICENSE_SUSPENDED"
        case "not_started": "LICENSE_NOT_STARTED"
        case "expired": "LICENSE_EXPIRED"
        default: nil
        }
    }

    func seatLimit(_ license: License) -> Int? {
        switch license.seats ?? plan(license).seats {
        case .limited(let count): count
        case .unlimited: nil
        }
    }

    func offlineLife(_ license: License) -> Int64 {
        license.offlineLife ?? plan(license).offlineLife ?? settings.offlineLife
    }

    func told(_ number: Int) -> Told.License {
        let license = licenses[number]
        return Told.License(
            number: number,
            plan: license.plan,
            status: status(license),
            starts: license.starts,
            ends: end(license)
        )
    }

    // MARK: Seats

    func leaseEnd(_ seat: Seat) -> Int64? {
        guard let length = plan(licenses[seat.license]).lease else { return nil }
        guard let lease = seat.lease else { return max(seat.taken, seat.seen) + length }
        return min(lease.end, lease.renewed + length)
    }

    func isHeld(_ seat: Seat) -> Bool {
        guard seat.release == nil else { return false }
        return leaseEnd(seat).map { now < $0 } ?? true
    }

    /// The seats of a license that are held, last seen first.
    func held(_ license: Int) -> [Int] {
        seats.indices.filter { seats[$0].license == license && isHeld(seats[$0]) }.sorted { left, right in
            let (left, right) = (seats[left], seats[right])
            return (right.seen, right.taken, right.number) < (left.seen, left.taken, left.number)
        }
    }

    /// The place of the seat that an install holds of a license.
    func seat(of license: Int, heldBy install: Int) -> Int? {
        seats.indices.first {
            seats[$0].license == license && seats[$0].install == install && isHeld(seats[$0])
        }
    }

    /// The licenses in force that an install holds a seat of.
    func active(_ install: Int) -> [Int] {
        licenses.indices.filter { refusal(licenses[$0]) == nil && seat(of: $0, heldBy: install) != nil }
    }

    /// Writes that seats are over whose lease is.
    mutating func endLapsed(_ isMeant: (Seat) -> Bool) {
        for place in seats.indices where seats[place].release == nil && !isHeld(seats[place]) && isMeant(seats[place]) {
            seats[place].release = "lease"
        }
    }

    mutating func renewLease(_ place: Int) {
        let length = plan(licenses[seats[place].license]).lease
        // A call that is written after a later one takes nothing of it; one that is more than an hour ahead was wrong.
        let former = seats[place].lease.map(\.renewed) ?? now
        let renewed = former > now && former <= now + 3600 ? former : now
        seats[place].lease = length.map { (renewed, renewed + $0) }
    }

    // MARK: Installs

    /// A call of an install, whatever it asks.
    mutating func record(_ number: Int, _ fingerprint: Int?, asks: Bool = false, firstLaunch: Int64? = nil) {
        if var install = installs[number] {
            let isElsewhere = fingerprint != nil && fingerprint != install.fingerprint
            install.fingerprint = fingerprint ?? install.fingerprint
            install.seen = max(install.seen, now)
            installs[number] = install
            // A silent call of a machine that is known says nothing new about its trial.
            guard install.trial == nil || isElsewhere || asks || firstLaunch != nil else { return }
        } else {
            installs[number] = Install(fingerprint: fingerprint, firstContact: now, seen: now, number: installs.count)
        }
        stepTrial(number, asks: asks, firstLaunch: firstLaunch)
    }

    /// After every call: what it told is kept, and the seats of the install were seen.
    mutating func settle(_ number: Int, _ fingerprint: Int?) {
        guard installs[number] != nil else { return }
        record(number, fingerprint)
        for place in seats.indices where seats[place].install == number && seats[place].release == nil {
            seats[place].seen = max(seats[place].seen, now)
        }
    }

    /// Whether an install's call is written before it is answered.
    func isNew(_ number: Int, _ fingerprint: Int?) -> Bool {
        guard let install = installs[number] else { return true }
        if let fingerprint, fingerprint != install.fingerprint { return true }
        return !settings.isExplicit && install.trial == nil
    }

    // MARK: Ends

    /// When half of a lease is over, from where on it is renewed.
    func renewalDue(_ seat: Seat) -> Int64? {
        leaseEnd(seat).flatMap { end in plan(licenses[seat.license]).lease.map { end - $0 / 2 } }
    }

    /// All ends that lie ahead: what a test of boundaries is drawn to.
    var ends: [Int64] {
        var ends = licenses.flatMap { [$0.starts, end($0), rightEnd($0)] }
        ends += seats.flatMap { seat -> [Int64?] in
            guard seat.release == nil else { return [] }
            let license = licenses[seat.license]
            let idle = max(plan(license).idle ?? 0, offlineLife(license))
            let ends = [leaseEnd(seat), renewalDue(seat), seat.taken + plan(license).transferPeriod, seat.seen + idle]
            return ends + seat.takeovers.map { $0 + 30 * 86_400 }
        }
        ends += trials.map(\.lastEnd)
        ends += gifts.map(\.ends)
        ends += usage.map { windowEnd($0.key.meter, $0.value.opened) }
        ends += kept.values.map { $0.at + 86_400 }
        ends += storeEnds
        return Set(ends.compactMap { $0 }.filter { now < $0 }).sorted()
    }
}
