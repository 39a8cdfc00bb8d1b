import Licensing
import LicensingServices
import Storage
import Synchronization
import Testing

/// Both clocks of a machine, as a test moves them.
private final class Machine: Sendable {
    private struct Clocks {
        var boot: Int64 = 1000
        var offset: Int64 = 1_800_000_000 - 1000
    }

    private let clocks = Mutex(Clocks())

    /// Real time passes, for both clocks.
    func pass(_ seconds: Int64) { clocks.withLock { $0.boot += seconds } }

    /// Somebody sets the wall clock.
    func step(_ seconds: Int64) { clocks.withLock { $0.offset += seconds } }

    var now: Int64 { clocks.withLock { $0.boot + $0.offset } }

    func clock() -> GuardedClock {
        GuardedClock {
            self.clocks.withLock { clocks in
                ClockGuard.Reading(
                    wallMicroseconds: (clocks.boot + clocks.offset) * 1_000_000,
                    bootMicroseconds: clocks.boot * 1_000_000
                )
            }
        }
    }
}

@Suite("The guarded clock") struct GuardedClockTests {
    private let machine = Machine()
    private let hour: Int64 = 3600
    private let day: Int64 = 86_400

    /// A clock that has started by a commit of now.
    private func started() -> GuardedClock {
        let clock = machine.clock()
        clock.start(after: machine.now, isAccepted: false)
        return clock
    }

    @Test(
        "every reading is judged at that moment, and a commit as well",
        arguments: [-40_000_000, -86_400, -3601, 604_801, 63_244_800, 40_000_000] as [Int64]
    )
    func atOnce(step: Int64) throws {
        let clock = started()
        let start = machine.now
        _ = try clock.now(after: start)

        machine.step(step)
        #expect(throws: ClockUnsure.self) { try clock.now(after: start) }
        #expect(throws: StorageError.self) { try clock.date(after: start) }

        machine.step(-step)
        machine.pass(1)
        #expect(try clock.now(after: start).secondsSinceEpoch == start + 1)
        #expect(try clock.date(after: start).seconds == start + 1)
        #expect(clock.doubt == nil)
    }

    @Test(
        "small steps, and a machine that slept, go on",
        arguments: [-3600, -60, -1, 0, 1, 60, 3600, 86_400, 604_800] as [Int64]
    )
    func smallSteps(step: Int64) throws {
        let clock = started()
        let start = machine.now

        machine.step(step)
        #expect(try clock.now(after: start).secondsSinceEpoch == start + step)
        machine.pass(40 * day)
        #expect(try clock.now(after: start).secondsSinceEpoch == start + step + 40 * day)
        #expect(try clock.date(after: start).seconds >= start)
    }

    @Test("a commit of another process counts for the reading that sees it, not a second later")
    func foreignCommit() throws {
        let clock = started()
        let start = machine.now
        machine.pass(5 * hour)
        _ = try clock.now(after: start)

        machine.step(-2 * hour)

        #expect(throws: ClockUnsure.self) { try clock.now(after: start + 5 * hour) }
        // And for the readings after it, whatever they have seen.
        #expect(throws: ClockUnsure.self) { try clock.now(after: start) }
    }

    @Test("the log is told of a doubt once, also of one that was over before anybody looked, and of its end")
    func news() throws {
        let clock = started()
        let start = machine.now
        #expect(clock.look(lastCommit: start).changes == [])

        machine.step(8 * day)
        _ = try? clock.now(after: start)
        #expect(clock.look(lastCommit: start).changes == [.lost("the clock jumped \(8 * day) s forward")])
        #expect(clock.look(lastCommit: start).changes == [])
        machine.step(-8 * day)
        #expect(clock.look(lastCommit: start).changes == [.won])

        machine.step(8 * day)
        _ = try? clock.now(after: start)
        machine.step(-8 * day)
        _ = try clock.now(after: start)
        #expect(clock.look(lastCommit: start).changes == [.lost("the clock jumped \(8 * day) s forward"), .won])
        #expect(clock.look(lastCommit: start).changes == [])
    }

    @Test("a wrong date of another process is told once, and another commit is called for until it is replaced")
    func foreignDate() throws {
        let clock = started()
        let wrong = machine.now + 8 * day
        _ = try clock.now(after: wrong)

        let first = clock.look(lastCommit: wrong)
        #expect(first.isDateWrong && first.changes.count == 1)
        let second = clock.look(lastCommit: wrong)
        #expect(second.isDateWrong && second.changes == [])
        let date = try clock.date(after: wrong)
        #expect(date.seconds == machine.now && date.replacesLast)
        #expect(!clock.look(lastCommit: date.seconds).isDateWrong)
    }

    @Test("what a start accepts does not count, and later commits do")
    func accepted() throws {
        let clock = machine.clock()
        let wrong = machine.now + 500 * day
        clock.start(after: wrong, isAccepted: true)

        #expect(try clock.now(after: wrong).secondsSinceEpoch == machine.now)
        let date = try clock.date(after: wrong)
        #expect(date.seconds == machine.now && date.replacesLast)
        machine.step(-2 * hour)
        #expect(throws: ClockUnsure.self) { try clock.now(after: date.seconds) }
    }
}
