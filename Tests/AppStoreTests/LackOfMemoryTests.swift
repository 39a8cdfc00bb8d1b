import AppStore
import CFailingMemory
import Cryptography
import Foundation
import Licensing
import StoreTestSupport
import Testing

@Suite("Signed data for which there is no memory") struct LackOfMemoryTests {
    /// One allocation in so many fails; the environment variable `MEMORY_WALK` says `all` for each.
    private static var step: Int { ProcessInfo.processInfo.environment["MEMORY_WALK"] == "all" ? 1 : 23 }

    /// Opens `jws` while allocations of OpenSSL fail: each `step`th alone, then each with all that follow.
    ///
    /// - Returns: what was found beside `wanted` and "not checked".
    private static func faults(
        _ jws: [UInt8],
        _ connection: StoreConnection,
        wanted: StoreRefusal?
    ) -> [String] {
        func open() -> StoreRefusal? {
            refusal { () throws(StoreRefusal) in
                var chains = ChainCache()
                return try SignedTransaction(jws, admittedBy: [connection], in: .live)
                    .verified(at: TestStore.now, chains: &chains)
            }
        }
        failing_memory_fail(0, 0)
        var faults: [String] = []
        if open() != wanted { faults.append("is found as \(String(describing: open()))") }
        failing_memory_fail(0, 0)
        _ = open()
        let count = failing_memory_count()
        for lasting: CInt in [0, 1] {
            var unchecked = 0
            for number in stride(from: 1, through: count, by: step) {
                failing_memory_fail(number, lasting)
                let found = open()
                failing_memory_fail(0, 0)
                if found == .notChecked { unchecked += 1 }
                if found != wanted && found != .notChecked {
                    faults.append("\(number) of \(count): \(String(describing: found))")
                }
            }
            if unchecked < Int(count) / step { faults.append("\(unchecked) of \(count) by \(step) were noticed") }
            if open() != wanted { faults.append("is found otherwise afterwards") }
        }
        return faults
    }

    @Test("a genuine transaction is taken or not judged, whichever allocation fails")
    func genuine() async {
        await #expect(processExitsWith: .success) {
            try #require(failing_memory_install() == 1)
            try #require(OpenSSLMemory.watch())
            let store = try TestStore()

            #expect(try Self.faults(store.sign(unlockMembers()), store.connection(), wanted: nil) == [])
        }
    }

    @Test("a forged one is refused or not judged, and nothing makes it pass")
    func forged() async {
        await #expect(processExitsWith: .success) {
            try #require(failing_memory_install() == 1)
            try #require(OpenSSLMemory.watch())
            let store = try TestStore()
            let connection = try store.connection()
            let stranger = try TestStore()
            let unmarked = try TestStore(leaf: .leaf.with { $0.marker = nil }, under: store)

            let forgeries: [(jws: [UInt8], wanted: StoreRefusal)] = [
                (try store.sign(unlockMembers(), key: P256.SigningKey.generate()), .badSignature),
                (
                    try stranger.sign(
                        unlockMembers(),
                        header: TestStore.header([stranger.leaf, store.intermediate, store.root])
                    ), .badChain
                ),
                (
                    try stranger.sign(
                        unlockMembers(),
                        header: TestStore.header([stranger.leaf, stranger.intermediate, store.root])
                    ), .badChain
                ),
                (
                    // Signed by nobody, and like the real one in all else.
                    try store.sign(
                        unlockMembers(),
                        header: TestStore.header([
                            store.leaf.dropLast() + [(store.leaf.last ?? 0) ^ 1], store.intermediate, store.root,
                        ])
                    ), .badChain
                ),
                (try unmarked.sign(unlockMembers()), .missingMarker),
            ]
            for forgery in forgeries {
                #expect(Self.faults(forgery.jws, connection, wanted: forgery.wanted) == [])
            }
        }
    }

    @Test("what could not be looked at is not remembered")
    func memory() async {
        await #expect(processExitsWith: .success) {
            try #require(failing_memory_install() == 1)
            try #require(OpenSSLMemory.watch())
            let store = try TestStore()
            let connection = try store.connection()
            let jws = try store.sign(unlockMembers())
            var chains = ChainCache()
            func open() -> StoreRefusal? {
                refusal { () throws(StoreRefusal) in
                    try SignedTransaction(jws, admittedBy: [connection], in: .live)
                        .verified(at: TestStore.now, chains: &chains)
                }
            }

            failing_memory_fail(1, 1)
            #expect(open() == .notChecked)
            failing_memory_fail(0, 0)

            #expect(chains.failedCount == 0)
            #expect(open() == nil)
            #expect(chains.count == 1)
        }
    }
}
