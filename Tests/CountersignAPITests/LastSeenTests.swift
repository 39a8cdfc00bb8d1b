import Licensing
import LicensingServices
import Storage
import StrictJSON
import Testing

@testable import CountersignAPI

/// A seat whose install has not been seen for the offline life may go to somebody else: whoever was just answered has been.
@Suite("Who was just answered was just seen") struct LastSeenTests {
    /// The ways in which an install that holds a seat may come back.
    enum Contact: String, CaseIterable, Sendable {
        case validate, heartbeat, sync, seats, trial, peek, consume, activateAnother, deactivateAnother, unsound,
            malformedKey

        func request(_ live: LiveServer) -> (path: String, members: String) {
            let (own, another) = (live.licenses[0].key, live.licenses[1].key)
            switch self {
            case .validate, .heartbeat, .seats: return ("/v1/\(rawValue)", #""license_key":"\#(own)""#)
            case .sync, .trial: return ("/v1/\(rawValue)", #""nonce":"n""#)
            case .peek: return ("/v1/meters/peek", #""meter":"pages""#)
            case .consume: return ("/v1/meters/consume", #""meter":"pages","amount":1"#)
            case .activateAnother: return ("/v1/activate", #""license_key":"\#(another)""#)
            case .deactivateAnother: return ("/v1/deactivate", #""license_key":"\#(another)""#)
            case .unsound: return ("/v1/sync", #""nonce":7"#)
            case .malformedKey: return ("/v1/validate", #""license_key":"""#)
            }
        }
    }

    private static let day: Int64 = 86_400

    private func open() throws -> LiveServer {
        try LiveServer(licenses: 2) { plan in
            plan.seatLimit = .limited(1)
            plan.seatPolicy = .releaseOldest
        } setUp: { db, catalog in
            try catalog.addMeter("pages", limit: .unlimited, in: db)
        }
    }

    private func ask(_ client: LiveClient, _ live: LiveServer, _ path: String, _ install: Int, _ members: String) throws
        -> Received
    {
        try client.send(live.request(path, #"{"install_id":"\#(installID(install))",\#(members)}"#))
        return try client.receive()
    }

    @Test("no seat is taken from an install that was answered before, by whatever call", arguments: Contact.allCases)
    func answered(contact: Contact) throws {
        let live = try open()
        let (first, second) = (try live.connect(), try live.connect())
        let key = #""license_key":"\#(live.licenses[0].key)""#
        #expect(try ask(first, live, "/v1/activate", 1, key).status == 200)
        live.catalog.clock.advance(by: 9 * Self.day)

        let call = contact.request(live)
        _ = try ask(first, live, call.path, 1, call.members)
        let taken = try ask(second, live, "/v1/activate", 2, key)

        #expect(taken.status == 409 && taken.code == "NO_SEATS_AVAILABLE")
    }

    /// What may keep the writer from knowing of a contact.
    enum Delay: CaseIterable, Sendable { case fails, waits }

    @Test("the same where the contact could not be written, or waits behind others", arguments: Delay.allCases)
    func notWritten(delay: Delay) throws {
        var api = try TestAPI.open()
        let license = try api.sell { plan in
            plan.seatLimit = .limited(1)
            plan.seatPolicy = .releaseOldest
        }
        #expect(api.activate(license.key, 1).status == 200)
        api.catalog.clock.advance(by: 9 * Self.day)
        // Nobody takes jobs from the queue here, so the contact waits in it.
        #expect(api.validate(license.key, 1).code == "VALID")
        if delay == .fails { api.catalog.queue.stop() }

        let taken = api.activate(license.key, 2)
        api.catalog.clock.advance(by: 7 * Self.day)
        let later = api.activate(license.key, 2)

        #expect(taken.status == 409 && taken.code == "NO_SEATS_AVAILABLE")
        #expect(later.status == 200)
    }

    @Test("the same for the places of a purchase")
    func links() throws {
        var api = try TestAPI.open()
        try api.connect()
        for install in 1...10 { #expect(try api.verify(unlock(), install).status == 200) }
        api.catalog.clock.advance(by: 9 * Self.day)
        for install in 1...10 {
            #expect(api.post("/v1/sync", #"{"install_id":"\#(installID(install))"}"#).status == 200)
        }

        let taken = try api.verify(unlock(), 11)
        api.catalog.clock.advance(by: 9 * Self.day)
        let later = try api.verify(unlock(), 11)

        #expect(taken.status == 409 && taken.code == "NO_SEATS_AVAILABLE")
        #expect(later.status == 200)
    }

    @Test("an install that stayed away gives its seat")
    func absent() throws {
        let live = try open()
        let (first, second) = (try live.connect(), try live.connect())
        let key = #""license_key":"\#(live.licenses[0].key)""#
        #expect(try ask(first, live, "/v1/activate", 1, key).status == 200)
        live.catalog.clock.advance(by: 9 * Self.day)

        #expect(try ask(second, live, "/v1/activate", 2, key).status == 200)
    }

    @Test("what could not be written is kept, and what was seen or written since stays")
    func unwritten() throws {
        var api = try TestAPI.open()
        let license = try api.sell()
        _ = api.activate(license.key, 1)
        let install = try #require(try api.install(1)).id
        func seen(_ seconds: Int64, _ name: String) -> Sightings {
            Sightings(install, DeviceInfo(name: name), at: Catalog.start.adding(seconds: seconds))
        }
        func write(_ seen: Sightings) throws { try api.writer.write { db in try seen.write(in: db) } }

        var kept = seen(60, "middle")
        kept.add(seen(90, "last"))
        kept.add(seen(30, "first"))
        try write(kept)
        try write(seen(60, "middle"))
        try write(seen(90, "same second"))

        let row = try #require(try api.install(1))
        #expect(row.lastSeenAt == Catalog.start.adding(seconds: 90))
        #expect(row.device.name == "last")
    }

    @Test("a read that is flushed late takes back nothing that a write recorded since")
    func lateFlush() throws {
        var api = try TestAPI.open()
        let license = try api.sell()
        func tell(_ path: String, _ machine: String) {
            _ = api.call(
                path,
                license.key,
                1,
                more: #","fingerprint":"\#(machine)-machine","device":{"name":"\#(machine)"}"#
            )
            api.catalog.clock.advance(by: 1)
        }
        tell("/v1/activate", "old")
        tell("/v1/validate", "old")
        var seen = api.context.sightings
        tell("/v1/activate", "new")
        let before = try #require(try api.install(1))

        for portion in seen.takePortions() { try api.writer.write { db in try portion.write(in: db) } }

        let after = try #require(try api.install(1))
        #expect(after == before && after.device.name == "new")
    }

    @Test("many installs are written in portions, each once")
    func portions() {
        var seen = Sightings()
        for number in 0..<1000 { seen.note(.init(high: 1, low: UInt64(number)), .none, at: Catalog.start) }

        let portions = seen.takePortions()

        #expect(seen.isEmpty)
        #expect(portions.count == (1000 + Sightings.mostInPortion - 1) / Sightings.mostInPortion)
    }
}
