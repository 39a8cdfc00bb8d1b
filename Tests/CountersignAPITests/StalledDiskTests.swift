import CFaultyVFS
import Licensing
import Storage
import Synchronization
import SystemPrimitives
import Testing

@testable import CountersignAPI

@Suite("A server whose disk does not answer", .timeLimit(.minutes(30))) struct StalledDiskTests {
    /// Goes on only when told to.
    private final class Clock: Sendable {
        private let nanoseconds = Atomic<UInt64>(MonotonicClock.nanoseconds())

        var now: @Sendable () -> UInt64 { { self.nanoseconds.load(ordering: .acquiring) } }

        /// By more than a write may wait in these tests, which is a minute.
        func advance() { nanoseconds.wrappingAdd(61_000_000_000, ordering: .acquiringAndReleasing) }
    }

    /// A server with one activation in a sync that hangs, and another behind it.
    private struct Stalled {
        let vfs = "stalled-\(UInt64.random(in: 0...(.max)))"
        let clock = Clock()
        let server: LiveServer
        let first: LiveClient
        let second: LiveClient

        init() throws {
            faulty_vfs_register(vfs)
            server = try LiveServer(loops: 1, { $0.seatLimit = .limited(50) }, vfs: vfs, queueClock: clock.now)
            (first, second) = (try server.connect(), try server.connect())
            faulty_vfs_hold_syncs(vfs, 1)
            try first.send(server.activation(server.licenses[0], 1))
            faulty_vfs_await_sync(vfs)
            try second.send(server.activation(server.licenses[0], 2))
            let server = server
            wait { server.catalog.queue.status().waiting > 0 }
        }

        func expectRefusal() throws {
            let answer = try second.receive()
            #expect(answer.status == 503 && answer.code == "UNAVAILABLE" && answer.verdict == "unknown")
            #expect(answer.field("Retry-After") == "1")
        }

        func isReady() throws -> Bool {
            try second.send("GET /ready HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return try second.receive().status == 200
        }
    }

    @Test("who waits is told 503 when its time is over, /ready tells, and all goes on when the disk answers")
    func refusals() throws {
        let stalled = try Stalled()
        // Whatever is thrown: a writer that hangs could not be waited for.
        defer { faulty_vfs_hold_syncs(stalled.vfs, 0) }
        let server = stalled.server.server
        #expect(server.lookAfterDatabase(commits: false) == nil)

        stalled.clock.advance()
        let trouble = server.lookAfterDatabase(commits: false)
        try stalled.expectRefusal()
        let wasReady = try stalled.isReady()
        faulty_vfs_hold_syncs(stalled.vfs, 0)
        let acknowledged = try stalled.first.receive()

        #expect(trouble?.category == .unavailable && !wasReady)
        #expect(acknowledged.status == 200 && acknowledged.verdict == "granted")
        #expect(try stalled.isReady())
        #expect(server.lookAfterDatabase(commits: false) == nil)
        try stalled.second.send(stalled.server.activation(stalled.server.licenses[0], 2))
        #expect(try stalled.second.receive().status == 200)
    }

    @Test("a stop tells who waits 503, and lets what is under way end")
    func stop() throws {
        let stalled = try Stalled()
        // Whatever is thrown: a writer that hangs could not be waited for.
        defer { faulty_vfs_hold_syncs(stalled.vfs, 0) }
        stalled.clock.advance()

        let stopping = try Thread.start("stop", with: stalled.server) { server in server.server.stop() }
        try stalled.expectRefusal()
        faulty_vfs_hold_syncs(stalled.vfs, 0)
        let acknowledged = try stalled.first.receive()
        stopping.join()

        #expect(acknowledged.status == 200 && acknowledged.verdict == "granted")
        #expect(stalled.server.catalog.queue.status().hasStopped)
    }
}
