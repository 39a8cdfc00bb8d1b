import Foundation
import Testing

/// Root's command line beside a server that runs as another user: only root can try that.
@Suite("The database's owner, seen from outside", .enabled(if: geteuid() == 0, "NOT RUN: it takes root"))
struct OwnerTests {
    private static let owner: uid_t = 12345

    /// A database that belongs to another user, and a folder beside it.
    private func shop(folder mode: Int, of user: uid_t) throws -> (program: Program, folder: String) {
        let program = try Program()
        #expect(try program.run("admin", "vendor", "create", "--slug", "acme").code == 0)
        let files = try FileManager.default.contentsOfDirectory(atPath: program.data)
        for path in [program.data] + files.map({ "\(program.data)/\($0)" }) {
            try #require(chown(path, Self.owner, Self.owner) == 0)
        }
        let folder = program.folder + "/keep"
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: mode]
        )
        try #require(chown(folder, user, user) == 0)
        return (program, folder)
    }

    @Test(
        "a file that root alone may make or read is refused by its folder, the owner's uid and the fix",
        arguments: [
            (["backup"], "install -d -m 700 -o 12345"),
            (["admin", "master-key", "export"], "install -d -m 700 -o 12345"),
            (["restore"], "install -m 600 -o 12345"),
        ],
        [0o700, 0o755]
    )
    func closedFolder(command: (words: [String], fix: String), mode: Int) throws {
        let (program, folder) = try shop(folder: mode, of: 0)
        let file = folder + "/file"
        let isRead = command.words == ["restore"]
        if isRead {
            try Data("x".utf8).write(to: URL(filePath: file))
            try #require(chmod(file, 0o600) == 0)
        }

        let outcome = try program.run(command.words + [file])

        #expect(outcome.code == 1 && outcome.output.isEmpty)
        #expect(outcome.errors.filter { $0 == "\n" }.count == 1)
        for part in [file, "\(folder) belongs to uid 0", "runs as uid 12345", "where root calls it", command.fix] {
            #expect(outcome.errors.contains(part), "\(outcome.errors)")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == (isRead ? ["file"] : []))
    }

    @Test("in a folder of the owner's the same file is made, and is the owner's", arguments: ["backup", "export"])
    func ownFolder(word: String) throws {
        let (program, folder) = try shop(folder: 0o700, of: Self.owner)
        let file = folder + "/file"

        let outcome = try program.run((word == "backup" ? [] : ["admin", "master-key"]) + [word, file])

        #expect(outcome.code == 0, "\(outcome.errors)")
        let facts = try FileManager.default.attributesOfItem(atPath: file)
        #expect(facts[.ownerAccountID] as? UInt == UInt(Self.owner) && facts[.posixPermissions] as? Int == 0o600)
    }
}
