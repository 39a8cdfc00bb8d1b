import Bundles
import Cryptography
import HTTPServer
import Licensing
import LicensingServices
import Storage
import StrictJSON
import Testing

@testable import CountersignAPI

@Suite("Trials and signed settings over HTTP") struct TrialRoutesTests {
    static let fortnight = CalendarDuration(days: 14)
    static let fortnightSeconds: Int64 = 14 * 86_400

    /// A product with a trial of its feature `pro`.
    func open(_ length: CalendarDuration? = fortnight, _ start: TrialStart = .firstContact) throws -> TestAPI {
        let plan = try PlanCode("tryout")
        let api = try TestAPI.open(
            settings: ProductSettings(trialDuration: length, trialPlan: plan, trialStart: start)
        )
        let row = Plan(
            id: try .fresh(),
            product: api.catalog.editor.id,
            code: plan,
            name: "Try-out",
            type: .trial,
            features: [try FeatureCode("pro")]
        )
        try api.writer.write { db in try PlanStore.insert(row, at: Catalog.start, in: db) }
        return api
    }

    func body(_ install: Int, _ more: String = "") -> String { #"{"install_id":"\#(installID(install))"\#(more)}"# }

    /// The product's settings as an administrator changes them.
    func set(_ api: borrowing TestAPI, _ changes: [ProductSetting: String?]) throws {
        let service = CatalogService(keys: api.catalog.services.keys, entropy: SystemEntropy())
        let now = try api.catalog.clock.now()
        try api.writer.write { db in
            let product = try #require(try ProductStore.find(api.catalog.editor.id, in: db))
            let actor = Actor(name: "test", now: now)
            _ = try service.edit(product, by: ProductChanges(settings: changes), actor: actor, in: db)
        }
    }

    @Test("an install whose first call asks for its trial is written once: the trial's token is all that is more")
    func writtenOnce() throws {
        var api = try open()
        let changes = { (api: borrowing TestAPI) in try api.count("SELECT total_changes()") }
        let start = try changes(api)

        #expect(api.post("/v1/sync", body(1, #","fingerprint":"fingerprint-1""#)).status == 200)
        let contact = try changes(api) - start
        #expect(api.post("/v1/trial", body(2, #","fingerprint":"fingerprint-2""#)).status == 200)

        #expect(try changes(api) - start == 2 * contact + 1)
    }

    @Test("a trial starts with its first contact, and the answer has the members of the contract")
    func starts() throws {
        var api = try open()

        let answer = api.post("/v1/trial", body(1, #","nonce":"n-1""#))

        #expect(answer.status == 200)
        #expect(
            answer.members == [
                "state", "code", "verdict", "started_at", "ends_at", "remaining_seconds", "trial_token", "bundle",
                "server_time",
            ]
        )
        #expect(answer["state"]?.string == "active" && answer.code == "TRIAL_ACTIVE" && answer.verdict == "granted")
        #expect(answer["started_at"]?.string == "2027-01-15T08:00:00Z")
        #expect(answer["ends_at"]?.string == "2027-01-29T08:00:00Z")
        #expect(answer["remaining_seconds"]?.int64 == Self.fortnightSeconds)
        let bundle = try api.bundle(in: answer, nonce: "n-1")
        #expect(bundle.claims.trial?.state == .active)
        #expect(bundle.claims.trial?.ends == Catalog.start.adding(seconds: Self.fortnightSeconds))
        #expect(bundle.claims.grants.map(\.source) == [.trial])
        #expect(bundle.claims.grants.first?.reference.hasPrefix("trl_") == true)
        #expect(bundle.claims.settings.trialSeconds == Self.fortnightSeconds)
    }

    @Test("a repeat writes nothing, finds the same trial and tells the same token; a reinstall is told none")
    func repeats() throws {
        var api = try open()
        let machine = #","fingerprint":"laptop-4711""#
        let first = api.post("/v1/trial", body(1, machine))
        api.catalog.clock.advance(by: 3600)

        let again = api.post("/v1/trial", body(1, machine))
        let reinstall = api.post("/v1/trial", body(2, machine))

        #expect(!again.wrote)
        #expect(again["ends_at"]?.string == first["ends_at"]?.string)
        #expect(again["trial_token"]?.string == first["trial_token"]?.string)
        #expect(first["trial_token"]?.string?.utf8.count == 35)
        #expect(reinstall["started_at"]?.string == first["started_at"]?.string)
        #expect(!reinstall.members.contains("trial_token"))
    }

    @Test(
        "a machine that a known install tells of for the first time is known at once, whatever the call",
        arguments: ["/v1/sync", "/v1/validate", "/v1/heartbeat", "/v1/seats", "/v1/trial", "/v1/meters/peek"]
    )
    func machineToldLater(path: String) throws {
        var api = try open()
        let first = api.post("/v1/trial", body(1))
        let more = #","license_key":"ACME-AAAA-BBBB-CCCC-DDDD-EEEE","meter":"flow_run""#
        let machine = #","fingerprint":"laptop-4711""#
        api.catalog.clock.advance(by: 86_400)

        let told = api.post(path, body(1, more + machine))
        let reinstall = api.post("/v1/trial", body(2, machine))

        #expect(told.wrote)
        #expect(reinstall["started_at"]?.string == first["started_at"]?.string)
        #expect(!api.post(path, body(1, more + machine)).wrote, "once is enough")
    }

    @Test("a call that tells another machine and asks for a trial starts the one that counts from then on")
    func trialOfAnotherMachine() throws {
        var api = try open()
        try set(api, [.trialDuration: "0"])
        func on(_ machine: String) -> String { #","fingerprint":"\#(machine)""# }
        _ = api.post("/v1/trial", body(1, on("laptop-4711")))
        _ = api.post("/v1/trial", body(2, on("desktop-0815")))
        _ = api.post("/v1/trial", body(1, on("desktop-0815")))
        try set(api, [.trialStart: "explicit", .trialDuration: "P14D"])
        #expect(api.post("/v1/trial", body(2, on("desktop-0815"))).code == "TRIAL_ACTIVE")
        #expect(api.post("/v1/trial", body(1)).code == "TRIAL_ACTIVE", "its machine's")

        let moved = api.post("/v1/trial", body(1, on("tablet-1234")))

        #expect(moved.code == "TRIAL_ACTIVE" && moved["trial_token"]?.string != nil)
    }

    @Test("sync, validate and trial agree to the second: active until the last one, then rejected without a grant")
    func agree() throws {
        var api = try open()
        _ = api.post("/v1/sync", body(1))
        for (advance, state, verdict) in [
            (Self.fortnightSeconds - 1, LicenseBundle.Trial.State.active, "granted"), (1, .expired, "rejected"),
        ] {
            api.catalog.clock.advance(by: advance)

            let trial = api.post("/v1/trial", body(1))
            let bundles = [
                try api.bundle(in: trial), try api.bundle(in: api.post("/v1/sync", body(1))),
                try api.bundle(in: api.validate("ACME-AAAA-BBBB-CCCC-DDDD-EEEE")),
            ]

            #expect(trial.status == 200 && trial.verdict == verdict)
            #expect(bundles.allSatisfy { $0.claims.trial?.state == state })
            #expect(bundles.allSatisfy { $0.claims.grants.isEmpty == (state == .expired) })
        }
    }

    @Test("the clock starts at the first contact whatever it answers, also while no trial is offered")
    func refusedContact() throws {
        var api = try open(nil)
        let refused = api.post("/v1/activate", body(1, #","license_key":"ACME-AAAA-BBBB-CCCC-DDDD-EEEE""#))
        let invalid = api.post("/v1/trial", body(2, #","start":"yes","first_launch_at":"soon""#))
        #expect(refused.status == 404)
        #expect(invalid.status == 400 && invalid.pointers == ["/start", "/first_launch_at"])
        #expect(api.post("/v1/trial", body(1)).code == "TRIAL_NOT_CONFIGURED")
        api.catalog.clock.advance(by: Self.fortnightSeconds)
        try set(api, [.trialDuration: "P14D"])

        let answers = [1, 2, 3].map { api.post("/v1/trial", body($0)) }

        #expect(answers.map(\.code) == ["TRIAL_EXPIRED", "TRIAL_EXPIRED", "TRIAL_ACTIVE"])
    }

    @Test(
        "without a trial the setting answers, with the same members and a bundle that says nothing of one",
        arguments: [(nil, "TRIAL_NOT_CONFIGURED", nil), (.zero, "TRIAL_DISABLED", 0)]
            as [(CalendarDuration?, String, Int64?)]
    )
    func unavailable(length: CalendarDuration?, code: String, seconds: Int64?) throws {
        var api = try open(length)

        let answer = api.post("/v1/trial", body(1))

        #expect(answer.status == 200 && answer.code == code && answer.verdict == "unknown")
        #expect(answer["state"]?.string == "unavailable")
        for name in ["started_at", "ends_at", "remaining_seconds"] { #expect(answer[name]?.isNull == true) }
        #expect(!answer.members.contains("trial_token"))
        let claims = try api.bundle(in: answer).claims
        #expect(claims.trial == nil)
        #expect(claims.settings.trialSeconds == seconds)
    }

    @Test("explicit: available until it is asked for; start false only asks")
    func explicit() throws {
        var api = try open(Self.fortnight, .explicit)
        let asked = api.post("/v1/trial", body(1, #","start":false"#))
        api.catalog.clock.advance(by: 100)

        let started = api.post("/v1/trial", body(1))

        #expect(asked.code == "TRIAL_AVAILABLE" && asked["state"]?.string == "available")
        #expect(asked.verdict == "unknown")
        #expect(try api.bundle(in: asked).claims.trial == LicenseBundle.Trial(state: .available))
        #expect(started.code == "TRIAL_ACTIVE" && started["started_at"]?.string == "2027-01-15T08:01:40Z")
        #expect(api.post("/v1/sync", body(1)).wrote == false)
    }

    @Test("switched to first contact, the next call of a known install has its trial, whatever it asks")
    func switched() throws {
        var api = try open(Self.fortnight, .explicit)
        _ = api.post("/v1/sync", body(1))
        try set(api, [.trialStart: "first_contact"])
        api.catalog.clock.advance(by: 50)

        let answer = api.post("/v1/sync", body(1))

        #expect(answer.wrote)
        #expect(try api.bundle(in: answer).claims.trial?.starts == Catalog.start)
        #expect(!api.post("/v1/sync", body(1)).wrote)
    }

    @Test("the settings of a bundle made after a write are those that the database has then")
    func settingsAfterWrite() throws {
        let api = try open()
        let now = Catalog.start
        let caller = Caller(vendor: api.catalog.vendor, product: api.catalog.editor, mode: .live)
        let contact = Contact(
            caller: caller,
            credential: api.catalog.credential,
            now: now,
            install: nil,
            nonce: nil,
            services: api.catalog.services,
            client: nil,
            limiter: RateLimiter(RateLimits())
        )
        try set(api, [.freeTier: "true"])

        let renewed = try api.context.reader.snapshot { db in try contact.renewed(in: db) }

        #expect(!contact.caller.product.settings.freeTier)
        #expect(renewed.caller.product.settings.freeTier)
    }

    // MARK: Configuration

    @Test("the signed settings and the offers that have not ended, of the credential's product and mode")
    func configuration() throws {
        var api = try open(.zero)
        let offers = OfferService(keys: api.catalog.services.keys, entropy: SystemEntropy())
        let start = Catalog.start
        let yearly = Offer(
            id: try OfferName("yearly"),
            plan: try PlanCode("tryout"),
            kind: .subscription,
            priceMilliunits: 49_990,
            currency: "USD",
            trialDuration: Self.fortnight,
            url: "https://example.com/buy",
            until: start.adding(seconds: 100)
        )
        let later = Offer(
            id: try OfferName("app-store"),
            kind: .purchase,
            storeProductID: "com.acme.pro",
            from: start.adding(seconds: 500)
        )
        let product = api.catalog.editor
        try api.writer.write { db in
            let actor = Actor(name: "test", now: start)
            for offer in [yearly, later] { try offers.create(offer, of: product, by: actor, in: db) }
        }
        try set(api, [.freeTier: "true", .extra: #"{"a":1}"#])
        api.catalog.clock.advance(by: 99)

        let answer = api.get("/v1/config")
        let payload = try api.payload(of: try #require(answer["config"]?.string), type: "countersign-config+jwt")

        #expect(answer.status == 200 && answer.members == ["config", "server_time"])
        #expect(
            payload.root.members.map { $0.map(\.name) } == ["iss", "aud", "iat", "exp", "mode", "settings", "offers"]
        )
        #expect(payload.root["aud"]?.string == "editor" && payload.root["mode"]?.string == "live")
        #expect(payload.root["settings"]?["trial_seconds"]?.int64 == 0)
        #expect(payload.root["settings"]?["free_tier"]?.bool == true)
        #expect(payload.root["settings"]?["extra"]?["a"]?.int64 == 1)
        let told = Array(try #require(payload.root["offers"]?.elements))
        #expect(told.compactMap { $0["id"]?.string } == ["app-store", "yearly"])
        #expect(told[0]["from"]?.int64 == start.adding(seconds: 500).secondsSinceEpoch)
        #expect(told[1]["price_milliunits"]?.int64 == 49_990 && told[1]["currency"]?.string == "USD")
        #expect(told[1]["trial_duration"]?.string == "P14D")
        api.catalog.clock.advance(by: 1)
        let second = try api.payload(
            of: try #require(api.get("/v1/config")["config"]?.string),
            type: "countersign-config+jwt"
        )
        #expect(second.root["offers"]?.elements?.compactMap { $0["id"]?.string } == ["app-store"])
        let viewer = try #require(api.get("/v1/config", token: api.catalog.viewerToken)["config"]?.string)
        let foreign = try api.payload(of: viewer, type: "countersign-config+jwt")
        #expect(
            foreign.root["offers"]?.elements.map(Array.init)?.isEmpty == true && foreign.root["aud"]?.string == "viewer"
        )
        #expect(api.get("/v1/config", token: "pk_live_wrong").status == 401)
        #expect(api.get("/v1/config", token: api.catalog.secretToken).status == 403)
    }
}

extension TestAPI {
    mutating func get(_ path: String, token: String? = nil) -> Received {
        send(request("GET", path, token: token ?? catalog.appToken))
    }

    /// The payload of a JWS, its signature checked with the keys of the vendor's live mode.
    func payload(of token: String, type: String) throws -> JSONDocument {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        try #require(parts.count == 3)
        let header = try JSONDocument(parsing: try #require(Base64URL.decode(String(parts[0]))))
        #expect(header.root["typ"]?.string == type && header.root["alg"]?.string == "ES256")
        let keys = try signingKeys().filter { $0.kid == header.root["kid"]?.string && $0.state == .active }
        let key = try P256.PublicKey(spki: try #require(keys.first).spki)
        let signed = Array("\(parts[0]).\(parts[1])".utf8)
        #expect(try key.isValid(try #require(Base64URL.decode(String(parts[2]))), for: signed))
        return try JSONDocument(parsing: try #require(Base64URL.decode(String(parts[1]))))
    }

    private func signingKeys() throws -> [SigningKeyRecord] {
        try context.reader.snapshot { db in try SigningKeyStore.all(of: catalog.vendor.id, in: db) }
    }
}
