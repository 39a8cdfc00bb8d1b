import Bundles
import Cryptography
import Licensing
import LicensingServices
import Storage
import StoreTestSupport
import StrictJSON
import Testing

@testable import CountersignAPI

/// Every kind of end, a second before, at and after it, asked of every route that tells of it: before the end all say that
/// it lies ahead, from the end on all say that it is over.
@Suite("Ends, told alike by all routes") struct EndsTests {
    enum Kind: String, CaseIterable, Sendable {
        case license, grace, lease, trial, gift, store, meter
    }

    /// What one route says: whether the end lies ahead.
    private struct Saying {
        let route: String
        let isAhead: Bool

        init(_ route: String, _ isAhead: Bool) {
            self.route = route
            self.isAhead = isAhead
        }
    }

    @Test(
        "a second before it all say that it lies ahead, at it and a second later that it is over",
        arguments: Kind.allCases,
        [-1, 0, 1] as [Int64]
    )
    func ends(kind: Kind, offset: Int64) throws {
        var world = try World.open(kind)
        world.api.catalog.clock.set(world.end.adding(seconds: offset))

        let sayings = try world.sayings()

        #expect(sayings.count >= 6)
        for saying in sayings { #expect(saying.isAhead == (offset < 0), "\(saying.route)") }
    }

    /// An editor with one thing that ends.
    private struct World: ~Copyable {
        let kind: Kind
        var api: TestAPI
        let license: SoldLicense
        let activation: String
        let end: Timestamp

        static func open(_ kind: Kind) throws -> World {
            let start = Catalog.start
            let tryout = try PlanCode("tryout")
            let settings = ProductSettings(
                trialDuration: kind == .trial ? CalendarDuration(days: 14) : nil,
                trialPlan: tryout
            )
            var api = try TestAPI.open(settings: settings)
            let plan = Plan(
                id: try .fresh(),
                product: api.catalog.editor.id,
                code: tryout,
                name: "Try-out",
                features: [try FeatureCode("pro")]
            )
            try api.writer.write { db in try PlanStore.insert(plan, at: start, in: db) }
            try api.connect()
            try api.addMeter("shared", limit: .limited(100), scope: .license)
            try api.addMeter("daily", limit: .limited(1), period: .day)
            let expires = start.adding(seconds: 30 * day)
            let license = try api.sell(end: [.license, .grace].contains(kind) ? .at(expires) : .never) { plan in
                plan.seatLimit = .limited(1)
                if kind == .grace { plan.expiryGrace = CalendarDuration(days: 3) }
                if kind == .lease { plan.leaseSeconds = 3600 }
            }
            let activation = try #require(api.activate(license.key)["activation", "id"]?.string)
            let end: Timestamp
            switch kind {
            case .license: end = expires
            case .grace: end = expires.adding(seconds: 3 * day)
            case .lease: end = start.adding(seconds: 3600)
            case .trial: end = start.adding(seconds: 14 * day)
            case .gift:
                end = start.adding(seconds: 5 * day)
                try give(until: end, api)
            case .store:
                end = start.adding(seconds: 10 * day + 7200)
                #expect(try api.verify(month(end: 10 * day)).status == 200)
            case .meter:
                end = Timestamp(secondsSinceEpoch: (start.secondsSinceEpoch / day + 1) * day)
                #expect(api.meters("consume", #""meter":"daily""#)["allowed"]?.bool == true)
            }
            return World(kind: kind, api: api, license: license, activation: activation, end: end)
        }

        private static func give(until end: Timestamp, _ api: borrowing TestAPI) throws {
            let editor = api.catalog.editor
            let services = api.catalog.services
            let digest = services.keys.digest(of: try InstallID(installID(1)), product: editor.id)
            try api.writer.write { db in
                _ = try GiftService(keys: services.keys).create(
                    .fresh(),
                    of: [FeatureCode("export")],
                    to: .install(digest),
                    mode: nil,
                    until: end,
                    of: editor,
                    by: Actor(name: "test", now: Catalog.start),
                    in: db
                )
            }
        }

        /// Asks every route; those that change something last.
        mutating func sayings() throws -> [Saying] {
            var sayings: [Saying] = []
            let body = #"{"install_id":"\#(installID(1))"}"#
            let key = #","license_key":"\#(license.key)""#
            var answers: [(route: String, answer: Received)] = [
                ("sync", api.post("/v1/sync", body)), ("trial", api.post("/v1/trial", body)),
            ]
            let peeks = [
                ("peek with a key", api.meters("peek", #""meter":"shared"\#(key)"#)),
                ("peek", api.meters("peek", #""meter":"shared""#)),
            ]
            let daily = api.meters("peek", #""meter":"daily""#)
            let seats = api.call("/v1/seats", license.key)
            let shown = api.send(
                request("GET", "/v1/admin/licenses/\(license.id)", token: api.catalog.secretToken)
            )
            let explained = try explanation()
            answers.append(("validate", api.validate(license.key)))
            answers.append(("heartbeat", api.call("/v1/heartbeat", license.key)))
            answers.append(("consume", api.meters("consume", #""meter":"daily","bundle":true"#)))
            answers.append(
                ("store/verify", try api.verify(kind == .store ? month(end: 10 * day) : unlock("2000000009")))
            )
            answers.append(("activate", api.activate(license.key)))
            let byRoute = Dictionary(uniqueKeysWithValues: answers.map { ($0.route, $0.answer) })

            switch kind {
            case .license, .grace, .lease:
                let heartbeat = try #require(byRoute["heartbeat"])
                for (route, answer) in peeks + [("heartbeat", heartbeat)] {
                    // Without a key nothing is known of a license: the install just holds no seat of one in force.
                    let refusal = kind == .lease || route == "peek" ? 409 : 410
                    #expect([200, refusal].contains(answer.status), "\(route)")
                    sayings.append(Saying(route, answer.status == 200))
                }
                sayings.append(Saying("validate", byRoute["validate"]?.code == "VALID"))
                sayings.append(Saying("explain", explained == .valid))
                if kind == .lease {
                    sayings.append(Saying("seats", seats["seats", "used"]?.int64 == 1))
                    sayings.append(Saying("show", shown["license", "seats", "used"]?.int64 == 1))
                    sayings.append(
                        Saying("activate", byRoute["activate"]?["activation", "id"]?.string == activation)
                    )
                } else {
                    sayings.append(Saying("seats", seats.status == 200))
                    sayings.append(Saying("show", shown["license", "status"]?.string == "active"))
                    sayings.append(Saying("activate", byRoute["activate"]?.status == 200))
                }
            case .trial: sayings.append(Saying("trial", byRoute["trial"]?.code == "TRIAL_ACTIVE"))
            case .gift: break
            case .store: sayings.append(Saying("store/verify", byRoute["store/verify"]?.status == 200))
            case .meter:
                sayings.append(Saying("peek", daily["allowed"]?.bool == false))
                sayings.append(Saying("peek's end", daily["resets_at"]?.string == end.rfc3339))
                sayings.append(Saying("consume", byRoute["consume"]?["allowed"]?.bool == false))
            }
            for (route, answer) in answers { sayings += try bundleSayings(route, answer) }
            return sayings
        }

        /// What the bundle of an answer says.
        private func bundleSayings(_ route: String, _ answer: Received) throws -> [Saying] {
            let claims = try api.bundle(in: answer).claims
            func has(_ source: GrantSource) -> Bool { claims.grants.contains { $0.source == source } }
            switch kind {
            case .license, .grace:
                return [
                    Saying("grants of \(route)", has(.license)),
                    Saying("licenses of \(route)", claims.licenses.first?.status == .active),
                ]
            case .lease:
                // A new seat was taken with it.
                guard route != "activate" else { return [] }
                return [
                    Saying("grants of \(route)", has(.license)),
                    Saying("licenses of \(route)", !claims.licenses.isEmpty),
                ]
            case .trial:
                return [
                    Saying("grants of \(route)", has(.trial)),
                    Saying("trial of \(route)", claims.trial?.state == .active),
                ]
            case .gift: return [Saying("grants of \(route)", has(.gift))]
            case .store: return [Saying("grants of \(route)", has(.store))]
            case .meter:
                let isCountedAnew = ["consume", "store/verify", "activate"].contains(route)
                let meter = claims.meters.first { $0.meter.text == "daily" }
                let ahead = Saying("meters of \(route)", meter?.resets == end)
                return isCountedAnew ? [ahead] : [ahead, Saying("count of \(route)", meter?.used == 1)]
            }
        }

        /// What the command line's `explain` says.
        private func explanation() throws -> OutcomeCode {
            let service = LicenseService(keys: api.catalog.services.keys, entropy: SystemEntropy())
            let now = try api.catalog.clock.now()
            let install = try InstallID(installID(1))
            return try api.context.reader.snapshot { db in
                try service.explain(license.key, of: api.catalog.editor, for: install, at: now, in: db)
                    .explanation.code
            }
        }
    }
}
