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

    #if os(Linux)
        @Test("another user is refused, before anything is written", .enabled(if: geteuid() == 0))
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

        @Test("another user's database in the right folder is refused", .enabled(if: geteuid() == 0))
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
                    let parts = [database.path, "belongs to uid 0", "runs as uid 12345", "fix: run as uid 0"]
                    exit(parts.allSatisfy(text.contains) && names(in: path) == before ? 0 : 2)
                }
            }
        }

        @Test("root becomes the owner of the database, and its files stay that owner's", .enabled(if: geteuid() == 0))
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
