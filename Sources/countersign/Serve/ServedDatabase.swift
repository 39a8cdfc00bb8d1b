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
    let kind: ServedClock
    /// Only this is looked at once a second; `nil` under a test clock.
    private let guarded: GuardedClock?

    /// Judges the clock by the last commit, before anything is opened for writing.
    ///
    /// - Throws: `ServedClock.Mismatch`, `StorageError`, `ClockUnsure` for a test clock that cannot be read.
    static func judge(
        _ configuration: Configuration,
        testClock: String?,
        acceptsClock: Bool,
        log: Log
    ) throws -> ServedDatabase {
        let file = testClock.map { FileClock(path: $0) }
        let kind: ServedClock = file == nil ? .wall : .test
        if let file {
            let now = try file.now()
            log.warning("test_clock_in_use", ["file": .string(file.path), "now": .string(now.rfc3339)])
        }
        let known = try past(of: Database(folder: configuration.data, options: Database.Options(now: { nil })))
        try ServedClock.check(kind, against: known.mark)
        let clock: any WallClock
        let guarded: GuardedClock?
        if let file {
            (clock, guarded) = (file, nil)
        } else {
            let system = GuardedClock(lastCommit: known.lastCommit, isAccepted: acceptsClock)
            (clock, guarded) = (system, system)
            if let doubt = system.doubt { log.error("clock_unsure", ["reason": .string(doubt)]) }
        }
        // The state version is an order: it follows real time also under a test clock.
        var options = Database.Options(now: { guarded?.doubt == nil ? SystemTime.microseconds() : nil })
        options.lockWait = .seconds(configuration.lockWaitSeconds)
        return ServedDatabase(
            database: Database(folder: configuration.data, options: options),
            clock: clock,
            kind: kind,
            guarded: guarded
        )
    }

    private static func past(of database: Database) throws -> (mark: ServedClock?, lastCommit: Timestamp?) {
        guard try database.exists() else { return (nil, nil) }
        do {
            let reader = try database.openReader()
            return try reader.snapshot { db in
                let committed = try db.committedAt()
                return (
                    try ServedClock.mark(in: db),
                    committed > 0 ? Timestamp(secondsSinceEpoch: committed) : nil
                )
            }
        } catch is StorageError {
            // A start that was killed left a file without tables, or something is wrong: the opening that follows makes
            // what is missing, or tells what is wrong with its fix.
            return (nil, nil)
        }
    }

    /// Compares the clock with the newest commit; tells when trust is lost or won.
    func watchClock(through reader: borrowing Reader, log: Log) {
        guard let guarded else { return }
        let committed = (try? reader.snapshot { db in try db.committedAt() }) ?? 0
        let changed = guarded.observe(lastCommit: committed > 0 ? Timestamp(secondsSinceEpoch: committed) : nil)
        guard changed else { return }
        if let doubt = guarded.doubt {
            log.error("clock_unsure", ["reason": .string(doubt)])
        } else {
            log.info("clock_sure")
        }
    }
}
