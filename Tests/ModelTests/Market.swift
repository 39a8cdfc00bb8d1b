import CountersignAPI
import Cryptography
import Foundation
import Licensing
import LicensingServices
import Storage
import StoreTestSupport
import Synchronization
import Testing

/// A database in a folder of its own with two vendors; every scenario gets products of its own in it. The folder goes away
/// with its last user.
final class Market: Sendable {
    let folder: String
    let vendors: [Vendor]
    let services: Services
    let entropy = CountingEntropy()
    /// What the database's commits take for the time, in microseconds.
    let microseconds = Mutex<Int64>(0)
    private let count = Mutex(0)

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("model-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
        let start = Timestamp(secondsSinceEpoch: 1_700_000_000)
        let (entropy, names) = (entropy, ["acme", "umbrella"])
        let vendors = try names.map { name in
            Vendor(id: try Identifier(at: start, entropy: entropy), slug: try Slug(name), name: "Vendor")
        }
        self.vendors = vendors
        let root = SHA256.digest(of: try Storefront.signer.get().root)
        let services = Services(
            keys: try DataKeys.random(),
            clock: NoClock(),
            entropy: entropy,
            storeRootDigests: [try #require(Digest256(bytes: root))]
        )
        self.services = services
        try open().writer.write { db in
            for vendor in vendors {
                try VendorStore.insert(vendor, at: start, in: db)
                for key in try services.signingKeys.initialKeys(of: vendor.id, at: start) {
                    try SigningKeyStore.insert(key, in: db)
                }
            }
        }
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// As the server opens it.
    func open() throws -> sending Opened {
        var options = Database.Options(now: { [weak self] in self?.microseconds.withLock { $0 } ?? 0 })
        options.synchronous = .off
        options.lockWait = .seconds(30)
        let database = Database(folder: folder, options: options)
        let writer = try database.openForServing(APIWriterQueue(capacity: 16))
        return Opened(writer: writer, reader: try database.openReader())
    }

    func nextNumber() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }
}

/// The writer and a reader of a market, closed with it.
struct Opened: ~Copyable {
    let writer: APIWriter
    let reader: Reader
}

/// Nobody asks it: every call here carries its time.
private struct NoClock: WallClock {
    func now(after lastCommit: Int64) throws(ClockUnsure) -> Timestamp {
        throw ClockUnsure(reason: "calls of the model carry their time")
    }
}
