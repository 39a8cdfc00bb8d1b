import CountersignAPI
import Diagnostics
import Licensing
import LicensingServices
import Storage

/// The database of a running server, with the clock it is served by.
struct ServedDatabase {
    /// The folder.
    let database: Database
    /// What requests read.
    let clock: any WallClock
    /// Which of both clocks it is.
    private let kind: ServedClock
    /// The same as `clock`; `nil` under a test clock, with which nothing is compared.
    private let guarded: GuardedClock?
    private let acceptsClock: Bool

    /// Names the folder and the clock; nothing is opened yet.
    ///
    /// - Throws: `ClockUnsure` for a test clock that cannot be read.
    init(_ configuration: Configuration, testClock: String?, acceptsClock: Bool, log: Log) throws {
        var options: Database.Options
        if let testClock {
            let file = FileClock(path: testClock)
            log.warning("test_clock_in_use", ["file": .string(file.path), "now": .string(try file.now().rfc3339)])
            (clock, kind, guarded) = (file, .test, nil)
            // The state version is an order: it follows real time also under a test clock.
            options = Database.Options(now: { SystemTime.microseconds() })
        } else {
            let system = GuardedClock()
            (clock, kind, guarded) = (system, .wall, system)
            options = Database.Options(date: { (last) throws(StorageError) in try system.date(after: last) })
        }
        options.lockWait = .seconds(configuration.lockWaitSeconds)
        options.isWaitGivenUp = { ProcessSignals.isStopPending }
        database = Database(folder: configuration.data, options: options)
        self.acceptsClock = acceptsClock
    }

    /// Opens the database, and judges the clock by what it remembers in the transaction that the start begins with:
    /// whatever another process did until then, or keeps locked for a while, nothing is served unjudged.
    ///
    /// - Throws: `ServedClock.Mismatch`, `StorageError`; `VaultFault` where the folder has lost its database.
    func open(_ queue: APIWriterQueue, settings: APIWriter.Settings, log: Log) throws -> sending APIWriter {
        let (kind, guarded, acceptsClock) = (kind, guarded, acceptsClock)
        let former = FormerDatabase(of: database)
        if try !database.exists() { try former.check(nil) }
        let writer = try database.openForServing(
            queue,
            settings: settings,
            judging: { past in
                try former.check(past)
                try ServedClock.check(kind, against: past)
                guarded?.start(after: past?.committedAt ?? 0, isAccepted: acceptsClock)
            },
            starting: { db in try ServedClock.record(kind, in: db) }
        )
        tell(guarded?.look(lastCommit: 0).changes, log)
        return writer
    }

    /// Tells when trust in the clock is lost or won; to be called once a second.
    ///
    /// - Returns: whether the last commit has a wrong date, so that another is called for.
    func watchClock(through reader: borrowing Reader, log: Log) -> Bool {
        guard let guarded else { return false }
        // Where it cannot be read, what is known of it still counts.
        let committed = (try? reader.snapshot { db in try db.committedAt() }) ?? 0
        let (changes, isDateWrong) = guarded.look(lastCommit: committed)
        tell(changes, log)
        return isDateWrong
    }

    private func tell(_ changes: [GuardedClock.Change]?, _ log: Log) {
        for change in changes ?? [] {
            switch change {
            case .lost(let reason): log.error("clock_unsure", ["reason": .string(reason)])
            case .won: log.info("clock_sure")
            case .disbelieved(let reason): log.error("commit_date_wrong", ["reason": .string(reason)])
            }
        }
    }
}
