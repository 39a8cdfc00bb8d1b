import StrictJSON
import Testing

@Suite("Catalog commands") struct CatalogCommandTests {
    let console = Console()

    @Test("a vendor comes with its database, a master key of mode 0600 and four signing keys")
    func vendor() throws {
        let made = try console.json(["admin", "vendor", "create", "--slug", "acme", "--name", "Acme Software"])

        #expect(made.at("vendor.id")?.string?.hasPrefix("ven_") == true)
        #expect(made.at("vendor.slug")?.string == "acme")
        #expect(made.at("vendor.name")?.string == "Acme Software")
        #expect(made.at("vendor.issuer")?.string == "countersign:acme")
        #expect(try console.mode(of: console.data + "/master.key") == 0o600)
        let keys = try console.json("admin keys list --vendor acme")
        let states = try #require(keys["keys"]?.elements).map {
            "\($0["mode"]?.string ?? "") \($0["state"]?.string ?? "")"
        }
        #expect(Set(states) == ["live active", "live next", "test active", "test next"])
        let first = try #require(keys.at("keys.0"))
        #expect(first["algorithm"]?.string == "ES256")
        #expect(first.at("jwk.kid")?.string == first["kid"]?.string)
        #expect(first["spki"]?.string?.hasPrefix("MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE") == true)
    }

    @Test("what is there already is refused with a code")
    func duplicates() throws {
        _ = try console.prepared()

        for line in [
            "admin vendor create --slug acme", "admin product create --vendor acme --slug editor",
            "admin feature create --product acme/editor --code export",
            "admin plan create --product acme/editor --code pro",
        ] {
            let failure = try console.failure(line)
            #expect(failure.exit == 1)
            #expect(failure.code == "ALREADY_EXISTS", "\(line)")
        }
    }

    @Test(
        "what is not there is refused with the code of its kind",
        arguments: [
            ("admin vendor show other", "VENDOR_NOT_FOUND"),
            ("admin vendor edit other --name x", "VENDOR_NOT_FOUND"),
            ("admin product create --vendor other --slug x", "VENDOR_NOT_FOUND"),
            ("admin product show acme/other", "PRODUCT_NOT_FOUND"),
            ("admin product setup other/editor", "VENDOR_NOT_FOUND"),
            ("admin feature edit --product acme/editor --code no --name x", "FEATURE_NOT_FOUND"),
            ("admin plan show --product acme/editor --code no", "PLAN_NOT_FOUND"),
            ("admin plan create --product acme/editor --code x --features no", "FEATURE_NOT_FOUND"),
            ("admin product set acme/editor trial_plan=no", "PLAN_NOT_FOUND"),
            ("admin credential show crd_01J9Z3T5B7QK8M2N4P6R8S0V1W", "CREDENTIAL_NOT_FOUND"),
            ("admin customer show cus_01J9Z3T5B7QK8M2N4P6R8S0V1W", "CUSTOMER_NOT_FOUND"),
            ("admin customer erase a@example.com --vendor acme", "CUSTOMER_NOT_FOUND"),
            ("admin audit list --vendor other", "VENDOR_NOT_FOUND"),
        ]
    )
    func missing(line: String, code: String) throws {
        _ = try console.prepared()

        let failure = try console.failure(line)

        #expect(failure.exit == 1)
        #expect(failure.code == code)
    }

    @Test("settings are set, shown and unset; of a wrong one nothing is kept")
    func settings() throws {
        _ = try console.prepared()

        let set = try console.json(
            "admin product set acme/editor trial_duration=P14D trial_plan=pro offline_life=P3D refresh_after=PT12H "
                + "free_tier=true minimum_version=2.1 extra={\"theme\":\"dark\"}"
        )
        #expect(set.at("product.product")?.string == "acme/editor")
        #expect(set.at("product.settings.trial_duration")?.string == "P14D")
        #expect(set.at("product.settings.trial_plan")?.string == "pro")
        #expect(set.at("product.settings.offline_life")?.string == "P3D")
        #expect(set.at("product.settings.free_tier")?.bool == true)
        #expect(set.at("product.settings.extra.theme")?.string == "dark")

        #expect(
            try console.failure("admin product set acme/editor offline_life=P2D trial_plan=none").code
                == "PLAN_NOT_FOUND"
        )
        #expect(
            try console.json("admin product show acme/editor").at("product.settings.offline_life")?.string == "P3D"
        )

        let unset = try console.json("admin product set acme/editor trial_duration= offline_life=")
        #expect(unset.at("product.settings.trial_duration")?.isNull == true)
        #expect(unset.at("product.settings.offline_life")?.string == "P7D")
        let off = try console.json("admin product set acme/editor trial_duration=0")
        #expect(off.at("product.settings.trial_duration")?.string == "PT0S")
        #expect(try console.failure("admin product set acme/editor extra=[1]").code == "VALIDATION")
    }

    @Test("a plan is shown with every member, and an edit changes what was said alone")
    func plan() throws {
        _ = try console.prepared()

        let edited = try console.json(
            "admin plan edit --product acme/editor --code pro --seats unlimited --seat-policy allow_overage "
                + "--overage-percent 10 --lease-seconds 3600 --environment {\"hosts\":[\"*.example.com\"]}"
        )

        #expect(edited.at("plan.features")?.texts == ["export", "pro_unlock"])
        #expect(edited.at("plan.type")?.string == "subscription")
        #expect(edited.at("plan.duration")?.string == "P1Y")
        #expect(edited.at("plan.seat_limit")?.isNull == true)
        #expect(edited.at("plan.seat_policy")?.string == "allow_overage")
        #expect(edited.at("plan.lease_seconds")?.int64 == 3600)
        #expect(edited.at("plan.environment.hosts")?.texts == ["*.example.com"])
        let reset = try console.json(
            "admin plan edit --product acme/editor --code pro --lease-seconds none --environment none --duration none"
        )
        #expect(reset.at("plan.lease_seconds")?.isNull == true)
        #expect(reset.at("plan.environment")?.isNull == true)
        #expect(reset.at("plan.duration")?.isNull == true)
    }

    @Test("an edit that takes a right from licenses is refused, says how many, and works when it is meant")
    func affectsExisting() throws {
        _ = try console.prepared()
        // Without a license nobody loses anything.
        try console.json("admin plan edit --product acme/editor --code pro --seats 2")
        try console.json("admin license issue --product acme/editor --plan pro --count 2")
        try console.json("admin license issue --product acme/editor --plan pro --seats 9")

        let seats = try console.failure("admin plan edit --product acme/editor --code pro --seats 1")
        #expect(seats.exit == 1)
        #expect(seats.code == "AFFECTS_EXISTING")
        #expect(seats.error["licenses"]?.int64 == 2, "the license with seats of its own is not hit")
        let features = try console.failure("admin plan edit --product acme/editor --code pro --features export")
        #expect(features.error["licenses"]?.int64 == 3)

        try console.json("admin plan edit --product acme/editor --code pro --seats 4")
        let meant = try console.json(
            "admin plan edit --product acme/editor --code pro --features export --affects-existing"
        )
        #expect(meant.at("plan.features")?.texts == ["export"])
    }

    @Test("an environment rule, or a shorter offline life of the product, is an edit that takes a right, too")
    func environmentAndOfflineLife() throws {
        _ = try console.prepared()
        let narrow = #"{"hosts":["*.shop.example"]}"#
        let plan = "admin plan edit --product acme/editor --code pro --environment "
        // Without a license nobody loses anything.
        try console.json("admin product set acme/editor offline_life=P5D")
        let seeded = try console.file(
            "licenses.json",
            #"{"vendors":[{"slug":"acme","products":[{"slug":"editor","plans":[{"code":"own","offline_life":"P1D"}],"#
                + #""licenses":[{"order_id":"1","plan":"pro"},{"order_id":"2","plan":"own"},"#
                + #"{"order_id":"3","plan":"pro","offline_life":"P2D","environment":{"hosts":["own.example"]}},"#
                + #"{"order_id":"4","plan":"pro"}]}]}]}"#
        )
        try console.json("seed \(seeded)")
        let revoked = try #require(
            console.json("admin license list --product acme/editor --order-id 4").at("licenses.0.id")?.string
        )
        try console.json("admin license revoke \(revoked) --reason gone")

        let rule = try console.failure(plan + narrow)
        #expect(rule.code == "AFFECTS_EXISTING" && rule.error["licenses"]?.int64 == 1, "one has a rule of its own")
        let life = try console.failure("admin product set acme/editor offline_life=P4D")
        #expect(life.code == "AFFECTS_EXISTING" && life.error["licenses"]?.int64 == 1, "others have their own life")
        try console.json("admin product set acme/editor offline_life=P6D")
        #expect(try console.failure("admin product set acme/editor offline_life=P5D").code == "AFFECTS_EXISTING")
        for (member, pointer) in [
            (#""plans":[{"code":"pro","environment":\#(narrow)}]"#, "/plans/0"),
            (#""settings":{"offline_life":"P4D"}"#, "/settings/offline_life"),
        ] {
            let members = #""vendors":[{"slug":"acme","products":[{"slug":"editor",\#(member)}]}]"#
            let refused = try console.failure("seed \(try console.file("take.json", "{\(members)}"))")
            #expect(refused.code == "AFFECTS_EXISTING" && refused.error["licenses"]?.int64 == 1)
            #expect(refused.error["pointer"]?.string == "/vendors/0/products/0\(pointer)")
            let meant = try console.file("meant.json", #"{"affects_existing":true,\#(members)}"#)
            #expect(try console.json("seed \(meant)")["changed"]?.count == 1)
        }

        try console.json(plan + #"{"hosts":["*.example"]}"#)
        #expect(try console.failure(plan + narrow).code == "AFFECTS_EXISTING")
        try console.json(plan + narrow + " --affects-existing")
        try console.json("admin product set acme/editor offline_life=P1D --affects-existing")
        try console.json(plan + "none")
    }

    @Test("lists page by a cursor to their end")
    func paging() throws {
        for slug in ["a", "b", "c", "d", "e"] { try console.json("admin vendor create --slug \(slug)") }

        var seen: [String] = []
        var cursor: String?
        repeat {
            let page = try console.json("admin vendor list --limit 2" + (cursor.map { " --cursor \($0)" } ?? ""))
            seen += try #require(page["vendors"]?.elements).compactMap { $0["slug"]?.string }
            cursor = page["next"]?.string
        } while cursor != nil
        #expect(seen == ["a", "b", "c", "d", "e"])
    }

    @Test("a vendor's issuer is a URL that no other vendor signs as")
    func issuer() throws {
        _ = try console.prepared()
        try console.json("admin vendor create --slug other")
        try console.json("admin vendor edit acme --issuer https://licenses.example.com --validation-quota 1000")

        let taken = try console.failure("admin vendor edit other --issuer https://licenses.example.com")
        #expect(taken.code == "ALREADY_EXISTS")
        #expect(try console.failure("admin vendor edit other --issuer countersign:acme").code == "USAGE")
        #expect(try console.json("admin vendor show acme").at("vendor.validation_quota")?.int64 == 1000)
        let reset = console.run([
            "admin", "vendor", "edit", "acme", "--issuer=", "--validation-quota", "none", "--json",
        ])
        #expect(try reset.json().at("vendor.issuer")?.string == "countersign:acme")
        #expect(try reset.json().at("vendor.validation_quota")?.isNull == true)
    }

    @Test("the set-up page has everything an app must ship, as Swift and as JSON")
    func setup() throws {
        _ = try console.prepared()
        let credential = try console.json("admin credential create --product acme/editor --kind pk")
        let token = try #require(credential.at("credential.token")?.string)

        let setup = try console.json("admin product setup acme/editor")

        #expect(setup.at("setup.publishable_key")?.string == token)
        #expect(setup.at("setup.product")?.string == "editor")
        #expect(setup.at("setup.issuer")?.string == "countersign:acme")
        #expect(setup.at("setup.mode")?.string == "live")
        let pins = try #require(setup.at("setup.pins")?.elements)
        #expect(pins.map { $0["state"]?.string } == ["active", "next"])
        let page = console.run("admin product setup acme/editor").out
        for pin in pins { #expect(page.contains(try #require(pin["spki"]?.string))) }
        #expect(page.contains(token))
        #expect(page.contains("audience: \"editor\""))
        #expect(console.run("admin product setup acme/editor --mode test").error.contains("no publishable key yet"))
    }

    @Test("control characters in a name are refused and never printed")
    func names() throws {
        let failure = try console.failure(["admin", "vendor", "create", "--slug", "acme", "--name", "a\u{1B}[2Jb"])

        #expect(failure.code == "USAGE")
        #expect(try console.failure(["admin", "vendor", "create", "--slug", "acme", "--name", "  "]).code == "USAGE")
    }
}

@Suite("Credential commands") struct CredentialCommandTests {
    let console = Console()

    @Test("a token has its kind and mode in front; only a publishable one is shown again")
    func tokens() throws {
        _ = try console.prepared()
        let app = try console.json("admin credential create --product acme/editor --kind pk --mode test")
        let server = try console.json("admin credential create --vendor acme --kind sk --name ci")

        #expect(app.at("credential.token")?.string?.hasPrefix("pk_test_") == true)
        #expect(server.at("credential.token")?.string?.hasPrefix("sk_live_") == true)
        let appID = try #require(app.at("credential.id")?.string)
        let serverID = try #require(server.at("credential.id")?.string)
        #expect(
            try console.json("admin credential show \(appID)").at("credential.token")?.string
                == app.at("credential.token")?.string
        )
        #expect(try console.json("admin credential show \(serverID)").at("credential.token") == nil)
        let list = console.run("admin credential list --vendor acme --json")
        #expect(try list.json()["credentials"]?.count == 2)
        #expect(!list.out.contains("pk_test_"))
    }

    @Test("a kind goes with what it is for")
    func kinds() throws {
        _ = try console.prepared()

        #expect(try console.failure("admin credential create --vendor acme --kind pk").code == "VALIDATION")
        #expect(try console.failure("admin credential create --product acme/editor --kind ul").code == "VALIDATION")
        try console.json("admin credential create --vendor acme --kind ul --mode live")
        try console.json("admin credential create --product acme/editor --kind sk")
    }

    @Test("a credential names its product in full wherever it is told, also in the audit log")
    func credentialProduct() throws {
        _ = try console.prepared()
        let made = try console.json("admin credential create --product acme/editor --kind pk")
        let id = try #require(made.at("credential.id")?.string)
        let rotated = try console.json("admin credential rotate \(id)")
        let whole = try console.json("admin credential create --vendor acme --kind sk")

        let told = [
            made.at("credential"), rotated.at("credential"),
            try console.json("admin credential show \(id)")["credential"],
            try console.json("admin credential list --vendor acme")["credentials"]?.elements?
                .first { $0["id"]?.string == id },
            try console.json("admin credential revoke \(id)")["credential"],
        ].map { $0?["product"]?.string }

        #expect(told == Array(repeating: "acme/editor", count: 5))
        #expect(whole.at("credential.product")?.isNull == true)
        let entries = try console.json("admin audit list")["entries"]?.elements.map(Array.init) ?? []
        for action in ["credential.revoke", "credential.rotate", "credential.create"] {
            let entry = try #require(entries.last { $0["action"]?.string == action })
            #expect(entry.at("detail.after.product")?.string == "acme/editor", "\(action)")
        }
    }

    @Test(
        "a setting that would do nothing of what it says is refused",
        arguments: [
            "trial_duration=0 --revive", "trial_duration=P0D --revive", "trial_duration= --revive",
            "free_tier=true --revive", "minimum_version=\u{20}", "minimum_version=\u{A0}\u{2003}",
        ]
    )
    func emptySettings(words: String) throws {
        _ = try console.prepared()
        let before = console.run("admin product show acme/editor --json").out
        let split = words.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        let setting = words.hasPrefix("minimum_version") ? [words] : split

        let failure = try console.failure(["admin", "product", "set", "acme/editor"] + setting)

        #expect(failure.exit == 2 && failure.code == "USAGE")
        #expect(console.run("admin product show acme/editor --json").out == before)
    }

    @Test("a rotation overlaps, a revocation does not")
    func rotation() throws {
        _ = try console.prepared()
        let old = try console.json("admin credential create --vendor acme --kind sk")
        let oldID = try #require(old.at("credential.id")?.string)

        let new = try console.json("admin credential rotate \(oldID) --overlap P1D")
        #expect(new.at("credential.id")?.string != oldID)
        #expect(new.at("credential.token")?.string != old.at("credential.token")?.string)
        let ending = try console.json("admin credential show \(oldID)")
        #expect(ending.at("credential.expires_at")?.isNull == false)
        #expect(ending.at("credential.revoked_at")?.isNull == true)

        let newID = try #require(new.at("credential.id")?.string)
        let revoked = try console.json(["admin", "credential", "revoke", newID, "--reason", "leaked"])
        #expect(revoked.at("credential.revoked_at")?.isNull == false)
        #expect(try console.failure("admin credential rotate \(newID)").code == "VALIDATION")
        #expect(try console.json("admin audit list --limit 1").at("entries.0.reason")?.string == "leaked")
    }

    @Test("a dry run shows no token, which would open nothing")
    func dryRun() throws {
        _ = try console.prepared()

        let made = try console.json("admin credential create --vendor acme --kind sk --dry-run")

        #expect(made.at("credential.token")?.isNull == true)
        #expect(try console.json("admin credential list --vendor acme")["credentials"]?.count == 0)
    }
}
