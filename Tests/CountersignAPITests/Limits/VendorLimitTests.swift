import AppStore
import HTTPServer
import Licensing
import LicensingServices
import Storage
import StoreTestSupport
import Testing

@testable import CountersignAPI

/// Two vendors whose apps are used behind one address.
@Suite("Limits of vendors who share an address") struct VendorLimitTests {
    private static let wrongKey = "WRONG-KEYS-OF-NOBODY-AT-ALL"

    /// An API that lets one of everything through, and has trials of both vendors.
    private func open() throws -> LimitedAPI {
        let settings = ProductSettings(trialDuration: try CalendarDuration("P14D"), trialStart: .explicit)
        let limited = try LimitedAPI(settings: settings) {
            $0.firstContactsPerMinute = 1
            $0.trialsPerDay = 1
            $0.wrongKeysPerMinute = 1
            $0.administrationPerMinute = 1
        }
        var foreign = limited.api.catalog.foreign
        foreign.settings = settings
        try limited.api.writer.write { db in try ProductStore.update(foreign, in: db) }
        return limited
    }

    /// Asks with one vendor's credentials until there is nothing left of a kind.
    private func exhaust(
        _ kind: RateKey.Kind,
        _ limited: inout LimitedAPI,
        through connection: StoreConnection
    ) throws -> Received? {
        func body(_ install: Int, more: String = "") -> String { #"{"install_id":"\#(installID(install))"\#(more)}"# }
        let wrong = #","license_key":"\#(Self.wrongKey)""#
        var last: Received?
        for round in 1...2 {
            switch kind {
            case .requests: last = nil
            case .firstContacts: last = try limited.sync(100 + round)
            case .trials:
                limited.limiter.current.firstContactsPerMinute = 0
                last = try limited.post("/v1/trial", body(100 + round))
                limited.limiter.current.firstContactsPerMinute = 1
            case .wrongKeys: last = try limited.post("/v1/validate", body(100, more: wrong))
            case .notifications:
                limited.limiter.current.addressPerMinute = 1
                last = limited.api.notify(
                    connection.notificationPath,
                    jws: Array("a.b.c".utf8),
                    from: try #require(PeerAddress(parsing: "203.0.113.5"))
                )
                limited.limiter.current.addressPerMinute = 3_000
            case .administration:
                let token = limited.api.catalog.secretToken
                last = try limited.send(request("GET", "/v1/admin/licenses", token: token), from: "203.0.113.5")
            }
        }
        return last
    }

    @Test(
        "what one vendor's app uses up is not another's, whatever it asks for",
        arguments: RateKey.Kind.allCases.filter { $0 != .requests }
    )
    func apart(kind: RateKey.Kind) throws {
        var limited = try open()
        let license = try limited.api.sell(limited.api.catalog.foreign)
        let token = limited.api.catalog.foreignToken
        let ours = try limited.api.connect()
        let theirs = try limited.api.connect(product: limited.api.catalog.foreign)
        let address = try #require(PeerAddress(parsing: "203.0.113.5"))

        let refused = try exhaust(kind, &limited, through: ours)
        let install = #""install_id":"\#(installID(1))""#
        let key = #","license_key":"\#(license.key)""#
        let trial = try limited.post("/v1/trial", "{\(install)}", token: token)
        let seat = try limited.post("/v1/activate", "{\(install)\(key)}", token: token)
        let asked = try limited.post("/v1/validate", "{\(install)\(key)}", token: token)
        let told = try limited.api.notify(theirs, "TEST", uuid: "u", from: address)

        #expect(refused?.code == "RATE_LIMITED")
        #expect(trial.code == "TRIAL_ACTIVE")
        #expect(seat.status == 200)
        #expect(asked.code == "VALID")
        #expect(told.status == 200)
    }

    @Test("several apps of one vendor give a guesser no more tries")
    func severalApps() throws {
        var limited = try open()
        limited.limiter.current.firstContactsPerMinute = 0
        let catalog = limited.api.catalog
        let license = try limited.api.sell(catalog.viewer)
        func ask(_ key: String, _ token: String, _ limited: inout LimitedAPI) throws -> Received {
            let body = #"{"license_key":"\#(key)","install_id":"\#(installID(1))"}"#
            return try limited.post("/v1/validate", body, token: token)
        }

        let wrong = try ask(Self.wrongKey, catalog.appToken, &limited)
        let test = try ask(Self.wrongKey, catalog.testToken, &limited)
        let right = try ask(license.key, catalog.viewerToken, &limited)

        #expect(wrong.code == "LICENSE_NOT_FOUND")
        #expect(test.code == "RATE_LIMITED")
        #expect(right.code == "RATE_LIMITED")
    }
}

@Suite("Limits of notifications") struct NotificationLimitTests {
    private let store: PeerAddress

    init() throws { store = try #require(PeerAddress(parsing: "17.58.100.1")) }

    @Test("genuine ones do not count, and do not wait for those who share the store's address")
    func genuine() throws {
        var limited = try LimitedAPI { $0.addressPerMinute = 2 }
        let connection = try limited.api.connect()
        for _ in 1...3 { _ = try limited.sync(1, from: store.description) }

        let answers = try (1...5).map {
            try limited.api.notify(connection, "TEST", uuid: "u\($0)", from: store).status
        }
        let stranger = try limited.sync(1, from: store.description)

        #expect(answers == [200, 200, 200, 200, 200])
        #expect(stranger.status == 429)
    }

    @Test("forged ones are limited for each connection and address, and use up nothing else")
    func forged() throws {
        var limited = try LimitedAPI { $0.addressPerMinute = 2 }
        let connection = try limited.api.connect()
        let other = try limited.api.connect(product: limited.api.catalog.foreign)
        let forger = try TestStore()
        func forge(_ limited: inout LimitedAPI) throws -> Int {
            limited.api.notify(connection.notificationPath, jws: try forger.sign("{}"), from: store).status
        }

        let answers = try (1...3).map { _ in try forge(&limited) }
        let elsewhere = try limited.api.notify(connection, "TEST", uuid: "u1", from: .loopback)
        let others = try limited.api.notify(other, "TEST", uuid: "u2", from: store)
        let neighbor = try limited.sync(1, from: store.description)

        #expect(answers == [400, 400, 429])
        #expect(elsewhere.status == 200)
        #expect(others.status == 200)
        #expect(neighbor.status == 200)
    }

    @Test("who caught a genuine one cannot send it for ever")
    func replayed() throws {
        var limited = try LimitedAPI { $0.addressPerMinute = 2 }
        let connection = try limited.api.connect()

        let answers = try (1...4).map { _ in
            try limited.api.notify(connection, "TEST", uuid: "u1", from: store).status
        }

        #expect(answers == [200, 200, 200, 429])
    }

    @Test("what names no connection that is there counts as any request of its address")
    func unknown() throws {
        var limited = try LimitedAPI { $0.addressPerMinute = 2 }

        let answers = try (1...3).map { _ in
            let path = "/v1/store/apple/notifications/\(try StoreConnectionID.fresh())"
            return limited.api.notify(path, jws: [0x61], from: store).status
        }

        #expect(answers == [404, 404, 429])
    }
}
