import AppStore
import Cryptography
import Licensing
import StoreTestSupport
import Testing

@testable import CountersignAPI
@testable import HTTPServer
@testable import LicensingServices

@Suite("The worker") struct WorkerTests {
    private final class Kept: Sendable {}

    private func submit(
        _ queue: WorkerQueue,
        _ origin: Origin,
        _ number: Int = 0,
        bytes: Int = 0,
        keeping kept: Kept? = nil
    ) -> Bool {
        queue.submit(
            WorkerQueue.Submission(ticket: ticket(number), origin: origin, bytes: bytes) { _ in
                _ = kept
                throw HTTPFailure.notFound
            }
        )
    }

    private func ticket(_ number: Int) -> Ticket { Ticket(loop: 0, slot: UInt32(number), generation: 1) }

    private func origins(_ count: Int) throws -> [Origin] {
        try (0..<count).map { number in
            number % 2 == 0 ? Origin(try CredentialID.fresh()) : Origin(try StoreConnectionID.fresh())
        }
    }

    /// What the next turns are: tickets of work, and of what is refused.
    private func turns(_ count: Int, of queue: WorkerQueue) -> (work: [Ticket], refused: [Ticket]) {
        var (work, refused): ([Ticket], [Ticket]) = ([], [])
        for _ in 0..<count {
            switch queue.take() {
            case .work(let submission): work.append(submission.ticket)
            case .refuse(let tickets): refused += tickets
            case nil: break
            }
        }
        return (work, refused)
    }

    @Test("its queue has room for 1,024, whosever they are, works off what waits, and then ends")
    func queue() throws {
        let queue = WorkerQueue()
        let origins = try origins(3)
        for number in 0..<1024 { #expect(submit(queue, origins[0], number)) }
        #expect(!submit(queue, origins[0], 1024))
        #expect(turns(1, of: queue).work == [ticket(0)])
        #expect(submit(queue, origins[0], 1025))

        queue.stop()

        #expect(!submit(queue, origins[1]))
        #expect(turns(1024, of: queue).work == (1...1023).map(ticket) + [ticket(1025)])
        #expect(queue.take() == nil)
    }

    @Test(
        "what waits in it is bounded by its bytes",
        arguments: [(0, 1024), (4 * 1024, 1024), (4 * 1024 + 1, 512), (262_144, 16), (16 << 20, 1)]
    )
    func bytes(of each: Int, fitting: Int) throws {
        let queue = WorkerQueue()
        let origin = try origins(1)[0]

        let accepted = (0..<2_000).count { _ in submit(queue, origin, bytes: each) }

        #expect(accepted == fitting)
    }

    @Test("in a full queue whoever has most gives way to who comes, is told, and all take turns")
    func givesWay() throws {
        let queue = WorkerQueue(capacity: 8)
        let origins = try origins(3)
        for number in 0..<9 { #expect(submit(queue, origins[0], number) == (number < 8)) }

        #expect(submit(queue, origins[1], 10))
        #expect(submit(queue, origins[2], 20))
        #expect(submit(queue, origins[1], 11))
        #expect(queue.count == 8)
        let (work, refused) = turns(9, of: queue)
        queue.stop()

        #expect(refused == [7, 6, 5].map(ticket))
        #expect(work == [0, 10, 20, 1, 11, 2, 3, 4].map(ticket))
        #expect(queue.take() == nil)
    }

    @Test("whoever gave way is answered 503, which says when to ask again; all others get their answer")
    func refused() throws {
        var api = try TestAPI.open()
        let queue = WorkerQueue(capacity: 8)
        let origins = try origins(2)
        for number in 0..<8 { #expect(submit(queue, origins[0], number)) }
        #expect(submit(queue, origins[1], 8))
        queue.stop()
        let mailbox = try Mailbox<LoopState>.make(loops: 1)[0]
        var worker = Worker(
            queue,
            writes: api.context.shared.queue,
            mailboxes: [mailbox],
            limiter: api.context.shared.limiter
        )

        worker.run()

        var answers: [Answer<LoopState>] = []
        var connections: [NewConnection] = []
        #expect(!mailbox.take(&answers, &connections))
        #expect(answers.map(\.ticket) == [7, 0, 8, 1, 2, 3, 4, 5, 6].map(ticket))
        for answer in answers {
            let failure = #expect(throws: HTTPFailure.self) { _ = try answer.result.get()(&api.context) }
            switch failure {
            case .unavailable(let seconds): #expect(answer.ticket == ticket(7) && seconds == 1)
            case .notFound: #expect(answer.ticket != ticket(7))
            default: Issue.record("another failure: \(String(describing: failure))")
            }
        }
    }

    @Test("a worker that is never idle keeps nothing of what it has done")
    func keepsNothing() throws {
        let queue = WorkerQueue()
        let origin = Origin(try CredentialID.fresh())
        #expect(submit(queue, origin))
        weak var first: Kept?

        for round in 0..<100 {
            let kept = Kept()
            if round == 0 { first = kept }
            #expect(submit(queue, origin, keeping: kept))
            #expect(queue.take() != nil)
        }

        #expect(queue.count == 1)
        #expect(first == nil)
    }

    @Test("over a socket, a purchase is verified, and one that is not genuine is refused", .timeLimit(.minutes(30)))
    func overSocket() throws {
        let store = try TestStore.standard.get()
        let server = try LiveServer(setUp: { db, catalog in
            var changes = StoreConnectionChanges()
            changes.rootDigests = [try #require(Digest256(bytes: SHA256.digest(of: store.root)))]
            changes.mappings = [.init(id: "unlock", features: [try FeatureCode("pro")])]
            _ = try StoreConnectionService(keys: catalog.services.keys).connect(
                .fresh(),
                .production,
                bundleID: TestStore.bundleID,
                with: changes,
                of: catalog.editor,
                by: Actor(name: "test", now: Catalog.start),
                in: db
            )
        })
        let client = try server.connect()
        let jws = String(decoding: try store.sign(unlock()), as: UTF8.self)
        func body(_ jws: String) -> String {
            #"{"install_id":"\#(installID(1))","store":"apple","signed_transaction":"\#(jws)"}"#
        }

        try client.send(server.request("/v1/store/verify", body(jws)))
        let good = try client.receive()
        try client.send(server.request("/v1/store/verify", body(jws.dropLast(4) + "AAAA")))
        let bad = try client.receive()

        #expect(good.status == 200)
        #expect(good.verdict == "granted")
        #expect(bad.code == "STORE_UNVERIFIED")
    }
}
