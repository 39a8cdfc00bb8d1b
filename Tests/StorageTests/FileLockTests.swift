import Foundation
import Storage
import Testing

@Suite("Locks of the folder") struct FileLockTests {
    /// What takes locks, and ends.
    enum Holder: CaseIterable, Sendable {
        case server, command, keys, restore
    }

    /// Copies of the descriptors that lead to the lock files now: what a child has between its `fork` and its `exec`.
    private static func inherited(_ folder: TemporaryFolder) throws -> [Int32] {
        let locks = ["serve.lock", "write.lock", "keys.lock"].compactMap { facts(of: folder.path + "/" + $0) }
        // Beside other tests there may be thousands open.
        let open = try FileManager.default.contentsOfDirectory(atPath: "/dev/fd").compactMap { Int32($0) }
        return open.compactMap { number in
            var facts = stat()
            guard fstat(number, &facts) == 0,
                locks.contains(where: { $0.st_dev == facts.st_dev && $0.st_ino == facts.st_ino })
            else { return nil }
            return dup(number)
        }
    }

    private static func facts(of path: String) -> stat? {
        var facts = stat()
        return stat(path, &facts) == 0 ? facts : nil
    }

    @Test("a lock ends with whoever took it, also while a child has its file open still", arguments: Holder.allCases)
    func descriptors(of holder: Holder) throws {
        let folder = try TemporaryFolder()
        let database = Database(folder: folder.path, options: .test())
        _ = try database.openForCommandLine().write { db in try insertItem("a", in: db) }
        let backup = folder.path + "/before.db"
        _ = try database.backUp(to: backup)
        var children: [Int32] = []
        defer { for child in children { close(child) } }

        switch holder {
        case .server:
            let writer = try database.openForServing(Queue())
            children = try Self.inherited(folder)
            _ = consume writer
        case .command: _ = try database.openForCommandLine().write { _ in children = try Self.inherited(folder) }
        case .keys: _ = try database.holdingKeys(waits: true) { children = try Self.inherited(folder) }
        case .restore: _ = try database.restore(from: backup) { _ in children = try Self.inherited(folder) }
        }

        #expect(!children.isEmpty)
        // Each of these refuses at once, or after the short wait of the tests, where a lock is held.
        _ = try database.restore(from: backup) { _ in }
        _ = try database.openForCommandLine().write { db in try insertItem("b", in: db) }
        _ = try database.openForServing(Queue())
    }
}
