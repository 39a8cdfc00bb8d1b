import CFaultyVFS
import Foundation
import Storage
import Testing

/// What errno(3) names, and what follows from it: `docs/crash-safety.md`, first table.
@Suite("Reasons that the system gives") struct SystemErrorTests {
    let folder: TemporaryFolder
    let vfs: String
    let database: Database

    init() throws {
        folder = try TemporaryFolder()
        vfs = folder.path
        var options = Database.Options.test()
        options.vfs = vfs
        database = Database(folder: folder.path, options: options)
        faulty_vfs_register(vfs)
    }

    /// "The disk or a quota is full, or the disk was made read-only": goes on by itself, however long it takes.
    static let full: [(Int32, String)] = [
        (ENOSPC, "no space left on device"), (EDQUOT, "disk quota exceeded"), (EFBIG, "file too large"),
        (EROFS, "read-only file system"),
    ]

    /// Whatever else: nobody relies on a disk that fails three COMMITs in a row.
    static let failing: [(Int32, String)] = [
        (EIO, "input/output error"), (ENXIO, "no such device"), (ENODEV, "no such device"),
        (ESTALE, "stale file handle"),
        (ETIMEDOUT, "connection timed out"), (EPERM, "operation not permitted"), (EACCES, "permission denied"),
    ]

    @Test(
        "what keeps a write from its place, and ends by itself, ends no process; anything else does after three in a row",
        arguments: full + failing
    )
    func writes(error: Int32, name: String) throws {
        var settings = Writer<Int, Int64>.Settings()
        settings.batchLimit = 1
        let isFull = Self.full.contains { $0.0 == error }

        let answers = try workOff(
            (0..<8).map { .insert("n\($0)", ticket: $0) },
            in: database,
            settings: settings
        ) { _ in faulty_vfs_break(vfs, error, 5) }

        #expect(answers.succeeded == (isFull ? [5, 6, 7] : []), "\(name)")
        #expect(answers.aborts.count == (isFull ? 0 : 1), "\(name)")
        for ticket in 0..<8 where !answers.succeeded.contains(ticket) {
            #expect(answers.error(of: ticket)?.isTransient == true, "\(name)")
        }
        faulty_vfs_break(vfs, 0, 0)
        let names = try database.committedNames()
        #expect(names == answers.succeeded.map { "n\($0)" }, "\(name)")
    }

    @Test(
        "a sync that fails is never taken for a full disk, whatever the reason: nobody knows what it did",
        arguments: full
    )
    func syncs(error: Int32, name: String) throws {
        var settings = Writer<Int, Int64>.Settings()
        settings.batchLimit = 1
        var durable = database
        durable.options.synchronous = .full

        let answers = try workOff(
            (0..<5).map { .insert("n\($0)", ticket: $0) },
            in: durable,
            settings: settings
        ) { _ in
            faulty_vfs_break(vfs, error, 0)
            faulty_vfs_fail_syncs(vfs, 1000)
        }

        #expect(answers.succeeded == [] && answers.aborts.count == 1, "\(name)")
    }

    @Test(
        "a file of the operator's that cannot be made is told by what the reason means",
        arguments: [
            (ENOSPC, .full), (EDQUOT, .full), (EFBIG, .full), (EACCES, .access), (EPERM, .access), (EROFS, .access),
            (ENOENT, .access), (ENOTDIR, .access), (EISDIR, .access), (ELOOP, .access), (ENOMEM, .noMemory), (EIO, .io),
            (EMFILE, .io), (ENFILE, .io), (ENOLCK, .io),
        ] as [(Int32, StorageError.Category)]
    )
    func files(error: Int32, category: StorageError.Category) {
        let refusal = Database.refusal(of: "/folder/copy.db", isMade: true, code: error)

        #expect(refusal.category == category && refusal.code == error && refusal.message.contains("/folder/copy.db"))
    }

    /// What may lie in the place of a lock's file.
    enum Obstacle: CaseIterable { case folder, link, linkToItself }

    @Test(
        "a lock that a running server cannot open any more is trouble of the server's, until it can",
        arguments: Obstacle.allCases,
        ["write.lock", "serve.lock"]
    )
    func locks(obstacle: Obstacle, name: String) throws {
        let path = "\(folder.path)/\(name)"
        var settings = Writer<Int, Int64>.Settings()
        settings.batchLimit = 1
        let queue = Queue.still()
        var writer = try database.openForServing(queue, settings: settings)
        var errors: [Int: StorageError] = [:]
        func submit(_ ticket: Int) {
            guard ticket < 4 else { return queue.stop() }
            if ticket == 1 {
                unlink(path)
                switch obstacle {
                case .folder: mkdir(path, 0o700)
                case .link: symlink("\(path).other", path)
                case .linkToItself: symlink(path, path)
                }
            }
            if ticket == 3 { remove(path) }
            var submissions = [Queue.Submission.insert("n\(ticket)", ticket: ticket)]
            #expect(queue.submit(&submissions))
        }
        submit(0)

        writer.run(
            deliver: { answers in
                for answer in answers {
                    if case .failure(let error) = answer.result { errors[answer.ticket] = error as? StorageError }
                    submit(answer.ticket + 1)
                }
            },
            abort: { _ in }
        )

        #expect(errors.keys.sorted() == [1, 2])
        #expect(errors.values.allSatisfy { $0.category == .unavailable && $0.isTransient }, "\(errors)")
        #expect(!FileManager.default.fileExists(atPath: path + ".other"))
    }
}
