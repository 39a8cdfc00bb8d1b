import Foundation
import StrictJSON
import Testing

@Suite("Install and feature commands") struct InstallCommandTests {
    let console = Console()
    private let secret = "0b9f1e52-6c1d-4a54-9d7b-3f1a2b4c5d6e"

    /// An install that holds a seat of one license; answers the license.
    private func seated() throws -> String {
        _ = try console.prepared()
        let issued = try console.json("admin license issue --product acme/editor --plan pro")
        try activate(issued.at("licenses.0.key")?.string ?? "", secret)
        return try #require(issued.at("licenses.0.id")?.string)
    }

    private func activate(_ key: String, _ install: String) throws {
        let request = try console.file(
            "request.json",
            #"{"license_key":"\#(key)","install_id":"\#(install)","fingerprint":"the-machine-of-\#(install)","nonce":"n","#
                + #""device":{"name":"Lab","platform":"linux","app_version":"2.1"}}"#
        )
        try console.json("admin offline activate \(request)")
    }

    private func show(_ more: String) throws -> JSONValue {
        try #require(try console.json("admin install show \(more)")["install"])
    }

    @Test("an install is shown by its own id and by that of its app, with all it has, and no secret of it")
    func show() throws {
        let license = try seated()
        try console.json("admin product set acme/editor trial_duration=P14D trial_plan=pro")
        try console.json("admin gift create --product acme/editor --features export --install-id \(secret)")

        let install = try show("--product acme/editor --install-id \(secret)")

        let id = try #require(install["id"]?.string)
        #expect(id.hasPrefix("ins_"))
        #expect(install["product"]?.string == "acme/editor" && install["mode"]?.string == "live")
        #expect(install["first_seen_at"]?.string == install["last_seen_at"]?.string)
        #expect(install.at("device.platform")?.string == "linux" && install.at("device.app_version")?.string == "2.1")
        #expect(install["has_fingerprint"]?.bool == true && install["seats_held"]?.int64 == 1)
        #expect(install.at("activations.0.license")?.string == license)
        #expect(install.at("activations.0.status")?.string == "active")
        #expect(install.at("trial.state")?.string == "active")
        #expect(install.at("gifts.0.features")?.texts == ["export"])
        #expect(install["purchases"]?.count == 0)
        let grants = install["grants"]?.elements?.map { grant in
            ["feature", "source"].compactMap { grant[$0]?.string }.joined(separator: " ")
        }
        #expect(
            grants == [
                "export license", "export gift", "export trial", "pro_unlock license", "pro_unlock trial",
            ]
        )
        #expect(try show(id)["id"]?.string == id)
        let text = String(decoding: install.source, as: UTF8.self)
        #expect(!text.contains(secret) && !text.contains("the-machine"))
    }

    @Test("what has ended is no grant, and an install that gave its seat back holds none")
    func released() throws {
        let license = try seated()
        let seat = try #require(
            try console.json("admin license show \(license)").at("license.activations.0.id")?.string
        )

        try console.json("admin license release-seat \(license) --activation \(seat)")

        let install = try show("--product acme/editor --install-id \(secret)")
        #expect(install["seats_held"]?.int64 == 0 && install["activations"]?.count == 0)
        #expect(install["grants"]?.count == 0)
    }

    @Test("installs are listed page by page, by mode")
    func list() throws {
        _ = try console.prepared()
        for mode in ["live", "test"] {
            let issued = try console.json(
                "admin license issue --product acme/editor --plan pro --seats 3 --mode \(mode)"
            )
            for number in 1...3 {
                try activate(issued.at("licenses.0.key")?.string ?? "", "install-number-\(number)-\(mode)")
            }
        }

        var (ids, cursor): ([String], String?) = ([], nil)
        repeat {
            let page = try console.json(
                "admin install list --product acme/editor --limit 4" + (cursor.map { " --cursor \($0)" } ?? "")
            )
            ids += page["installs"]?.elements?.compactMap { $0["id"]?.string } ?? []
            cursor = page["next"]?.string
        } while cursor != nil

        #expect(ids.count == 6 && ids == Set(ids).sorted())
        let test = try console.json("admin install list --product acme/editor --mode test")["installs"]
        #expect(test?.count == 3 && test?.elements?.allSatisfy { $0["mode"]?.string == "test" } == true)
        #expect(test?.at("0.seats_held")?.int64 == 1)
    }

    @Test(
        "an install that is not there, or is not named well, is refused",
        arguments: [
            ("ins_01K9ZQ5J6T8V0W2X4Y6Z8A0C2E", 1, "INSTALL_NOT_FOUND"),
            ("--product acme/editor --install-id nobody-was-here", 1, "INSTALL_NOT_FOUND"),
            ("--install-id nobody-was-here", 2, "USAGE"), ("", 2, "USAGE"), ("lic_1", 2, "USAGE"),
            ("ins_01K9ZQ5J6T8V0W2X4Y6Z8A0C2E --install-id nobody-was-here --product acme/editor", 2, "USAGE"),
        ] as [(String, Int32, String)]
    )
    func refused(words: String, exit: Int32, code: String) throws {
        _ = try console.prepared()

        let failure = try console.failure("admin install show \(words)")

        #expect(failure.exit == exit && failure.code == code)
    }

    @Test("an install of another product is not found there")
    func otherProduct() throws {
        _ = try seated()
        let id = try #require(try show("--product acme/editor --install-id \(secret)")["id"]?.string)
        try console.json("admin product create --vendor acme --slug viewer")

        #expect(try console.failure("admin install show \(id) --product acme/viewer").code == "INSTALL_NOT_FOUND")
        #expect(try console.json("admin install list --product acme/viewer")["installs"]?.count == 0)
    }

    @Test("a feature is shown with the plans that give it")
    func feature() throws {
        _ = try console.prepared()
        try console.json("admin plan create --product acme/editor --code basic --features export")

        let shown = try console.json("admin feature show --product acme/editor --code pro_unlock")

        #expect(shown.at("feature.name")?.string == "Pro" && shown["plans"]?.texts == ["pro"])
        #expect(try console.json("admin feature show --product acme/editor --code export")["plans"]?.count == 2)
        #expect(try console.failure("admin feature show --product acme/editor --code none").code == "FEATURE_NOT_FOUND")
    }

    @Test(
        "an install that an adapter recorded by a short id can be named wherever an install is",
        arguments: [
            ("admin install show --product acme/editor", 1, "INSTALL_NOT_FOUND"),
            ("admin trial show --product acme/editor", 1, "INSTALL_NOT_FOUND"),
            ("admin trial extend --product acme/editor --until 2100-01-01", 1, "INSTALL_NOT_FOUND"),
            ("admin gift create --product acme/editor --features export", 1, "INSTALL_NOT_FOUND"),
            ("admin gift list --product acme/editor", 1, "INSTALL_NOT_FOUND"),
            ("admin meter show --product acme/editor --meter runs", 1, "INSTALL_NOT_FOUND"),
            ("admin meter reset --product acme/editor --meter runs", 1, "INSTALL_NOT_FOUND"),
            ("admin meter refund --product acme/editor --meter runs", 1, "INSTALL_NOT_FOUND"),
        ] as [(String, Int32, String)]
    )
    func shortID(line: String, exit: Int32, code: String) throws {
        _ = try console.prepared()
        try console.json("admin meter create --product acme/editor --name runs --limit 3")

        let known = try console.failure("\(line) --install-id short123")
        let tooShort = try console.failure("\(line) --install-id short12")

        #expect(known.exit == exit && known.code == code)
        #expect(tooShort.code == "USAGE")
    }
}
