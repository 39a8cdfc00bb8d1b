import Cryptography
import Foundation
import StrictJSON
import Testing

@Suite("Key commands") struct KeyCommandTests {
    let console = Console()

    private func states(_ mode: String = "live") throws -> [String: String] {
        let keys = try console.json("admin keys list --vendor acme --mode \(mode)")
        let pairs = try #require(keys["keys"]?.elements).map { ($0["kid"]?.string ?? "", $0["state"]?.string ?? "") }
        return Dictionary(uniqueKeysWithValues: pairs)
    }

    private func kid(_ state: String) throws -> String {
        try #require(try states().first { $0.value == state }?.key)
    }

    @Test("a rotation promotes next, makes a new next, lets the old key retire, and prints the pins")
    func rotation() throws {
        _ = try console.prepared()
        let (active, next) = (try kid("active"), try kid("next"))
        let untouched = try states("test")

        let rotated = try console.json("admin keys rotate --vendor acme")

        #expect(rotated.at("rotation.active")?.string == next)
        #expect(rotated.at("rotation.old")?.string == active)
        #expect(rotated.at("rotation.old_state")?.string == "retiring")
        #expect(rotated.at("rotation.old_published_until")?.isNull == false)
        #expect(rotated.at("pins")?.elements?.map { $0["state"]?.string } == ["active", "next", "retiring"])
        let after = try states()
        #expect(after[next] == "active")
        #expect(after[active] == "retiring")
        #expect(after.values.filter { $0 == "next" }.count == 1)
        #expect(try states("test") == untouched)
        #expect(console.run("doctor").code == 0)
    }

    @Test("after a compromise neither the old key nor next is trusted")
    func compromised() throws {
        _ = try console.prepared()
        let (active, next) = (try kid("active"), try kid("next"))

        let rotated = try console.json("admin keys rotate --vendor acme --compromised --reason leaked")

        #expect(rotated.at("rotation.discarded")?.string == next)
        #expect(rotated["notes"]?.texts.first?.contains("ship an update") == true)
        let after = try states()
        #expect(after[active] == "retired")
        #expect(after[next] == "retired")
        #expect(after.values.filter { $0 == "active" }.count == 1)
        #expect(!(rotated["pins"]?.elements?.contains { $0["kid"]?.string == active } ?? true))
        let keys = try console.json("admin keys list --vendor acme --mode live")
        for key in try #require(keys["keys"]?.elements) where ["retired", "discarded"].contains(key["state"]?.string) {
            #expect(key["private_here"]?.bool == false, "what is not trusted is not kept")
        }
        #expect(console.run("doctor").code == 0)
    }

    @Test("a dry run of a rotation changes no key")
    func dryRun() throws {
        _ = try console.prepared()
        let before = try states()

        try console.json("admin keys rotate --vendor acme --dry-run")
        try console.json("admin keys rotate --vendor acme --compromised --dry-run")

        #expect(try states() == before)
    }

    @Test("a next key of one's own is published first, and signs once its private half is here")
    func importNext() throws {
        _ = try console.prepared()
        let key = try P256.SigningKey.generate()
        let pem = { (label: String, bytes: [UInt8]) in
            "-----BEGIN \(label)-----\n\(Base64.string(bytes))\n-----END \(label)-----\n"
        }
        let publicFile = try console.file("next.pub", pem("PUBLIC KEY", key.publicKey.spki))
        let privateFile = try console.file("next.key", pem("PRIVATE KEY", key.pkcs8.copy()))

        let published = try console.json("admin keys import-next --vendor acme --public-key \(publicFile)")
        #expect(published.at("key.kid")?.string == key.publicKey.keyID.text)
        #expect(published.at("key.private_here")?.bool == false)
        #expect(try states().values.contains("retired"), "the next that never signed is given up")
        #expect(try console.failure("admin keys rotate --vendor acme").code == "NO_NEXT_KEY")

        let other = try P256.SigningKey.generate()
        let wrong = try console.file("wrong.key", pem("PRIVATE KEY", other.pkcs8.copy()))
        #expect(try console.failure("admin keys import-next --vendor acme --private-key \(wrong)").code == "VALIDATION")
        try console.json("admin keys import-next --vendor acme --private-key \(privateFile)")
        try console.json("admin keys rotate --vendor acme")
        #expect(try states()[key.publicKey.keyID.text] == "active")
        #expect(console.run("doctor").code == 0)
    }

    @Test(
        "what is no key is refused",
        arguments: ["", "hello", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"]
    )
    func noKey(text: String) throws {
        _ = try console.prepared()
        let file = try console.file("next.pub", text)

        #expect(try console.failure("admin keys import-next --vendor acme --public-key \(file)").code == "VALIDATION")
    }
}

@Suite("Master key") struct MasterKeyTests {
    let console = Console()
    private var path: String { console.data + "/master.key" }

    @Test(
        "a database without its key, with another's, or a key others can read, is not opened; the message has the fix"
    )
    func faults() throws {
        _ = try console.prepared()
        let kept = try String(contentsOfFile: path, encoding: .utf8)

        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        let open = try console.failure("admin vendor list")
        #expect(open.code == "MASTER_KEY")
        #expect(open.error["message"]?.string?.contains("chmod 600 \(path)") == true)

        try FileManager.default.removeItem(atPath: path)
        let missing = try console.failure("admin vendor create --slug other")
        #expect(missing.code == "MASTER_KEY")
        #expect(missing.error["message"]?.string?.contains("COUNTERSIGN_MASTER_KEY_FILE") == true)
        #expect(!FileManager.default.fileExists(atPath: path), "a key is made only together with a new database")

        func write(_ text: String) {
            _ = FileManager.default.createFile(
                atPath: path,
                contents: Data(text.utf8),
                attributes: [.posixPermissions: 0o600]
            )
        }
        write(Base64URL.string([UInt8](repeating: 7, count: 32)) + "\n")
        #expect(
            try console.failure("admin vendor list").error["message"]?.string?.contains("is not the one of") == true
        )
        write("not a key\n")
        #expect(try console.failure("admin vendor list").code == "MASTER_KEY")

        write(kept)
        try console.json("admin vendor list")
    }

    /// A key in a folder of its own of this mode, named by the environment; of which user, and by a link or not.
    private func kept(in mode: mode_t, owner: uid_t = geteuid(), isLink: Bool = false) throws -> (
        Console, folder: String
    ) {
        var console = console
        let folder = console.folder.path + "/keys"
        try #require(mkdir(folder, 0o700) == 0)
        console.environment["COUNTERSIGN_MASTER_KEY_FILE"] = folder + "/a.key"
        try console.json("admin vendor create --slug acme")
        if isLink {
            let link = console.folder.path + "/link.key"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder + "/a.key")
            console.environment["COUNTERSIGN_MASTER_KEY_FILE"] = link
        }
        try #require(chown(folder + "/a.key", owner, getegid()) == 0 && chmod(folder, mode) == 0)
        return (console, folder)
    }

    @Test(
        "a key that others can put another in the place of is not used, whether it is named itself or by a link",
        arguments: [0o702, 0o777] as [mode_t],
        [false, true]
    )
    func replaceable(mode: mode_t, isLink: Bool) throws {
        let (console, folder) = try kept(in: mode, isLink: isLink)

        let refused = try console.failure("admin vendor list")
        let found = try console.failure("doctor")

        #expect(refused.code == "MASTER_KEY" && found.code == "UNHEALTHY")
        for failure in [refused, found] {
            #expect(failure.error["message"]?.string?.contains("chmod o-w \(folder)") == true)
        }
        try #require(chmod(folder, 0o700) == 0)
        try console.json("admin vendor list")
    }

    @Test(
        "a folder like /tmp, where a file is replaced by its owner alone, keeps a key of the own user; one of a group is used",
        arguments: [0o1777, 0o1733, 0o770, 0o2775, 0o755] as [mode_t],
        [false, true]
    )
    func irreplaceable(mode: mode_t, isLink: Bool) throws {
        let (console, _) = try kept(in: mode, isLink: isLink)

        try console.json("admin vendor list")

        let checks = try console.json("doctor")["checks"]?.elements
        let status = checks?.first { $0["check"]?.string == "master_key" }?["status"]?.string
        #expect(status == (mode & 0o1020 == 0o020 ? "warning" : "ok"))
    }

    @Test("in a folder like /tmp a key of another user's is not used", .enabled(if: geteuid() == 0))
    func strangersKey() throws {
        let (console, folder) = try kept(in: 0o1777, owner: 12345)

        let refused = try console.failure("admin vendor list")

        #expect(refused.code == "MASTER_KEY")
        #expect(refused.error["message"]?.string?.contains(folder) == true)
    }

    @Test("COUNTERSIGN_MASTER_KEY_FILE names another place")
    func elsewhere() throws {
        var console = console
        let elsewhere = console.folder.path + "/elsewhere.key"
        console.environment["COUNTERSIGN_MASTER_KEY_FILE"] = elsewhere

        try console.json("admin vendor create --slug acme")

        #expect(try console.mode(of: elsewhere) == 0o600)
        #expect(!FileManager.default.fileExists(atPath: path))
        console.environment = [:]
        #expect(try console.failure("admin vendor list").code == "MASTER_KEY")
    }

    @Test("a rotation puts a new key in place, keeps the old one, and everything opens as before")
    func rotation() throws {
        _ = try console.prepared()
        let credential = try console.json("admin credential create --product acme/editor --kind pk")
        let before = try String(contentsOfFile: path, encoding: .utf8)
        try console.json("admin master-key rotate --dry-run")
        #expect(try String(contentsOfFile: path, encoding: .utf8) == before)

        let rotated = try console.json("admin master-key rotate")

        #expect(try String(contentsOfFile: path, encoding: .utf8) != before)
        #expect(try console.mode(of: path) == 0o600)
        let old = try #require(rotated.at("master_key.old_file")?.string)
        #expect(try String(contentsOfFile: old, encoding: .utf8) == before)
        let id = try #require(credential.at("credential.id")?.string)
        #expect(
            try console.json("admin credential show \(id)").at("credential.token")?.string
                == credential.at("credential.token")?.string
        )
        #expect(console.run("doctor").code == 0)
    }

    @Test("what an earlier version left, that broke off in a rotation, opens all the same", arguments: [true, false])
    func brokenRotation(hasOldKey: Bool) throws {
        _ = try console.prepared()
        let before = try String(contentsOfFile: path, encoding: .utf8)
        try console.json("admin master-key rotate")
        // As it was between the commit and the renaming, or the two renamings.
        try FileManager.default.moveItem(atPath: path, toPath: path + ".next")
        guard hasOldKey else {
            try console.json("admin vendor list")
            try console.json("admin master-key rotate")
            return
        }
        try before.write(toFile: path, atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)

        try console.json("admin vendor list")

        #expect(try String(contentsOfFile: path, encoding: .utf8) != before)
        #expect(!FileManager.default.fileExists(atPath: path + ".next"))
    }

    @Test("an export is a key file of mode 0600 that replaces nothing")
    func export() throws {
        _ = try console.prepared()
        let target = console.folder.path + "/exported.key"

        try console.json("admin master-key export \(target)")

        #expect(try console.mode(of: target) == 0o600)
        #expect(
            try String(contentsOfFile: target, encoding: .utf8) == String(contentsOfFile: path, encoding: .utf8)
        )
        #expect(try console.failure("admin master-key export \(target)").code == "ALREADY_EXISTS")
    }
}
