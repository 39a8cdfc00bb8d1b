import Licensing
import LicensingServices
import Storage
import StrictJSON
import Synchronization
import Testing

@testable import CountersignAPI

/// Both clocks of a machine; the wall clock is wrong during some readings, counted from when a test says so.
private final class SteppingMachine: Sendable {
    private struct Clocks {
        var boot: Int64 = 5000
        var step: Int64 = 0
        var wrong: Range<Int> = 0..<0
        var readings = 0
    }

    private let clocks = Mutex(Clocks())

    /// The right time.
    var now: Int64 { clocks.withLock { Catalog.start.secondsSinceEpoch + $0.boot - 5000 } }

    /// Makes the wall clock wrong by `step` during those of the next readings.
    func step(_ step: Int64, during wrong: Range<Int>) {
        clocks.withLock { clocks in
            clocks.step = step
            clocks.wrong = wrong
            clocks.readings = 0
        }
    }

    /// How often the clocks were read since.
    var readings: Int { clocks.withLock { $0.readings } }

    func pass(_ seconds: Int64) { clocks.withLock { $0.boot += seconds } }

    func clock() -> GuardedClock {
        GuardedClock {
            self.clocks.withLock { clocks in
                let isWrong = clocks.wrong.contains(clocks.readings)
                clocks.readings += 1
                let right = Catalog.start.secondsSinceEpoch + clocks.boot - 5000
                return ClockGuard.Reading(
                    wallMicroseconds: (right + (isWrong ? clocks.step : 0)) * 1_000_000,
                    bootMicroseconds: clocks.boot * 1_000_000
                )
            }
        }
    }
}

@Suite("A clock that is set while requests run") struct ClockStepTests {
    /// Far enough to end or to revive everything, and such as the rules let pass.
    static let steps: [Int64] = [-40_000_000, -86_400, -3700, -3500, -1, 1, 3500, 500_000, 700_000, 63_244_800]

    /// Every kind of call, new installs and known ones.
    private func calls(_ license: SoldLicense, _ catalog: Catalog, _ number: Int) -> [String] {
        let app = catalog.appToken
        func post(_ path: String, _ install: Int, _ more: String = "") -> String {
            let body = #"{"license_key":"\#(license.key)","install_id":"\#(installID(install))"\#(more)}"#
            return request("POST", path, token: app, body: body)
        }
        return [
            post("/v1/activate", 1), post("/v1/activate", 100 + number), post("/v1/validate", 1),
            post("/v1/validate", 200 + number), post("/v1/heartbeat", 1), post("/v1/sync", 1),
            post("/v1/sync", 300 + number),
            post("/v1/trial", 1), post("/v1/trial", 400 + number), post("/v1/seats", 1),
            post("/v1/meters/peek", 1, #","meter":"runs""#), post("/v1/meters/consume", 1, #","meter":"runs""#),
            request("GET", "/v1/config", token: app), request("GET", "/v1/keys", token: app),
            request(
                "POST",
                "/v1/admin/licenses",
                token: catalog.secretToken,
                body: #"{"product":"acme/editor","plan":"\#(license.plan.code)"}"#
            ),
        ]
    }

    @Test(
        "no step between any two readings of a request takes or gives a right, or is left behind in the database",
        arguments: steps
    )
    func everyStep(step: Int64) throws {
        let machine = SteppingMachine()
        let clock = machine.clock()
        var settings = ProductSettings()
        try settings.set(.trialDuration, to: "P14D")
        var api = try TestAPI.open(settings: settings, guarded: clock)
        let end = Catalog.start.adding(seconds: 30 * 86_400)
        let license = try api.sell(end: .at(end)) { $0.seatLimit = .unlimited }
        try api.addMeter("runs", limit: .limited(1_000_000))
        clock.start(after: machine.now, isAccepted: false)
        #expect(api.activate(license.key).status == 200)
        let mayPass = step >= -ClockGuard.mostBehind && step <= ClockGuard.mostJump
        var number = 0
        var refused = 0

        // Wrong from each of a request's readings on: for one, and for good.
        for first in 0..<3 {
            for length in [1, 100] {
                number += 1
                for call in calls(license, api.catalog, number) {
                    machine.pass(1)
                    let before = try committedAt(api)
                    machine.step(step, during: first..<(first + length))
                    let answer = api.send(call)
                    let isDisturbed = machine.readings > first
                    machine.step(0, during: 0..<0)

                    let words = "\(step) at \(first) for \(length): \(call.prefix(30)) \(answer.text.prefix(300))"
                    #expect(answer.status == 200 || answer.status == 201 || answer.code == "CLOCK_UNSURE", "\(words)")
                    if !mayPass {
                        if isDisturbed { #expect(answer.code == "CLOCK_UNSURE", "\(words)") }
                        // The time that was decided by.
                        if let told = answer["server_time"]?.string {
                            #expect(try Timestamp(told, as: .instant).secondsSinceEpoch == machine.now, "\(words)")
                        }
                    }
                    #expect(answer.verdict != "rejected", "\(words)")
                    if answer.code == "CLOCK_UNSURE" { refused += 1 }
                    let after = try committedAt(api)
                    #expect(after >= before && after <= machine.now + ClockGuard.mostBehind, "\(words)")
                    // Right again, and at once.
                    #expect(api.send(call).code != "CLOCK_UNSURE", "\(words)")
                }
            }
        }
        #expect((refused > 0) == !mayPass)
    }

    private func committedAt(_ api: borrowing TestAPI) throws -> Int64 {
        try api.catalog.database.openReader().snapshot { db in try db.committedAt() }
    }
}
