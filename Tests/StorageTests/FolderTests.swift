import Foundation
import Storage
import Testing

private func names(in folder: String) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: folder).sorted()) ?? []
}

/// Owners and mounts: needs root to make them; elsewhere only the first test says anything.
@Suite("Folders of others") struct FolderTests {
    @Test("a folder that cannot be made is refused in one line that names it, the own uid and the fix")
    func noParent() throws {
        let folder = try TemporaryFolder()
        let database = Database(folder: folder.path + "/no/data", options: .test())

        do {
            _ = try database.openForServing(WriterQueue<Int, Int64>())
            Issue.record("it was made")
        } catch let error as StorageError {
            #expect(error.category == .access)
            #expect(error.message.contains(folder.path + "/no"))
            #expect(error.message.contains("uid \(geteuid())"))
            #expect(error.message.contains("fix: mkdir -p"))
            #expect(!error.message.contains("\n"))
        }
    }

    @Test(
        "a link in the place of a file of ours is refused, and what it leads to is neither made nor changed",
        arguments: ["countersign.db", "serve.lock", "write.lock"],
        [true, false]
    )
    func links(name: String, leadsToAFile: Bool) throws {
        let folder = try TemporaryFolder()
        let database = Database(folder: folder.path + "/data", options: .test())
        let victim = folder.path + "/victim"
        try FileManager.default.createDirectory(
            atPath: database.folder,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
        try FileManager.default.createSymbolicLink(
            atPath: "\(database.folder)/\(name)",
            withDestinationPath: victim
        )
        // An empty file is a new database to SQLite.
        let bytes = Data((name == "countersign.db" ? "" : "precious").utf8)
        if leadsToAFile { try bytes.write(to: URL(filePath: victim)) }

        for opening: () throws -> Void in [
            { _ = try database.openForServing(Queue()) }, { _ = try database.openForCommandLine() },
            { _ = try database.openReader() }, { _ = try database.backUp(to: folder.path + "/copy") },
        ] {
            // What does not touch a lock has nothing against one.
            do { try opening() } catch { #expect((error as? StorageError)?.category == .access) }
        }
        do {
            _ = try database.openForServing(Queue())
            Issue.record("it was served")
        } catch {
            let refusal = try #require(error as? StorageError)
            #expect(refusal.category == .access && refusal.message.contains("\(database.folder)/\(name)"))
        }

        #expect(FileManager.default.fileExists(atPath: victim) == leadsToAFile)
        if leadsToAFile { #expect(try Data(contentsOf: URL(filePath: victim)) == bytes) }
        #expect(!FileManager.default.fileExists(atPath: victim + "-wal"))
    }

    #if os(Linux)
        @Test(
            "root becomes the owner of the folder and nobody else, whatever that owner put there",
            .enabled(if: geteuid() == 0, "NOT RUN: it takes root"),
            arguments: ["countersign.db", "serve.lock", "write.lock"],
            [true, false]
        )
        func rootAndLinks(name: String, isLink: Bool) async throws {
            let folder = try TemporaryFolder()
            await #expect(processExitsWith: .success) { [path = folder.path as String, name, isLink] in
                let database = Database(folder: path + "/data", options: .test())
                let victim = path + "/victim"
                try FileManager.default.createDirectory(
                    atPath: database.folder,
                    withIntermediateDirectories: false,
                    attributes: [.posixPermissions: 0o700]
                )
                try #require(chmod(path, 0o755) == 0 && chown(database.folder, 12345, 12345) == 0)
                let placed = "\(database.folder)/\(name)"
                if isLink {
                    try Data().write(to: URL(filePath: victim))
                    // To be read by whoever this process becomes, whatever the umask is.
                    try #require(chmod(victim, 0o644) == 0)
                    try FileManager.default.createSymbolicLink(atPath: placed, withDestinationPath: victim)
                } else {
                    try Data().write(to: URL(filePath: placed))
                }

                do {
                    _ = try database.becomeOwner()
                    _ = try database.openForServing(Queue())
                    exit(1)
                } catch let error as StorageError {
                    let isTold = error.category == .access && error.message.contains(placed)
                    let isKept = try !isLink || Data(contentsOf: URL(filePath: victim)).isEmpty
                    exit(isTold && geteuid() != 0 && isKept ? 0 : 2)
                }
            }
        }

        @Test(
            "another user is refused, before anything is written",
            .enabled(if: geteuid() == 0, "NOT RUN: it takes root")
        )
        func rootOwned() async throws {
            let folder = try TemporaryFolder()
            await #expect(processExitsWith: .success) { [path = folder.path as String] in
                let database = Database(folder: path, options: .test())
                try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
                try #require(setuid(12345) == 0)

                do {
                    _ = try database.openForServing(WriterQueue<Int, Int64>())
                    exit(1)
                } catch let error as StorageError {
                    let text = error.message
                    let parts = [path, "belongs to uid 0", "runs as uid 12345", "fix: chown -R 12345"]
                    exit(parts.allSatisfy(text.contains) && names(in: path) == [] && !text.contains("\n") ? 0 : 2)
                }
            }
        }

        @Test(
            "another user's database in the right folder is refused",
            .enabled(if: geteuid() == 0, "NOT RUN: it takes root")
        )
        func rootOwnedDatabase() async throws {
            let folder = try TemporaryFolder()
            await #expect(processExitsWith: .success) { [path = folder.path as String] in
                let database = Database(folder: path, options: .test())
                _ = try database.openForCommandLine()
                try #require(chown(path, 12345, 12345) == 0)
                let before = names(in: path)
                try #require(setuid(12345) == 0)

                do {
                    _ = try database.openForCommandLine()
                    exit(1)
                } catch let error as StorageError {
                    let text = error.message
                    let parts = [database.path, "belongs to uid 0", "runs as uid 12345", "fix: chown -R 12345"]
                    exit(parts.allSatisfy(text.contains) && names(in: path) == before ? 0 : 2)
                }
            }
        }

        @Test(
            "root becomes the owner of the database, and its files stay that owner's",
            .enabled(if: geteuid() == 0, "NOT RUN: it takes root")
        )
        func becomesOwner() async throws {
            let folder = try TemporaryFolder()
            await #expect(processExitsWith: .success) { [path = folder.path as String] in
                let database = Database(folder: path, options: .test())
                try #require(chown(path, 12345, 12346) == 0)

                try #require(try database.becomeOwner() == 12345)
                let connection = try database.openForCommandLine()
                try connection.write { db in _ = try insertItem("a", in: db) }

                let files = try database.examine().files
                exit(getuid() == 12345 && getgid() == 12346 && files.allSatisfy { $0.owner == 12345 } ? 0 : 2)
            }
        }
    #endif
}
