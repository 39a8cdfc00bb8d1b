import HTTPServer
import Licensing
import Synchronization
import Testing

@testable import CountersignAPI

/// Nanoseconds that a test sets.
final class SettableNanoseconds: Sendable {
    private let value = Atomic<UInt64>(1_000_000_000_000)

    var now: UInt64 { value.load(ordering: .relaxed) }

    func advance(seconds: UInt64) { value.wrappingAdd(seconds * 1_000_000_000, ordering: .relaxed) }
}

/// An API with limits, called from addresses that a test names.
struct LimitedAPI: ~Copyable {
    var api: TestAPI
    let limiter: RateLimiter
    let clock = SettableNanoseconds()

    init(
        settings: ProductSettings = ProductSettings(),
        _ change: (inout RateLimits) -> Void = { _ in }
    ) throws {
        var limits = RateLimits()
        change(&limits)
        let clock = clock
        limiter = RateLimiter(limits) { clock.now }
        api = try TestAPI.open(settings: settings, limiter: limiter)
    }

    mutating func send(_ text: String, from address: String) throws -> Received {
        api.exchange(Array(text.utf8), from: try #require(PeerAddress(parsing: address)))
    }

    mutating func post(
        _ path: String,
        _ body: String,
        from address: String = "203.0.113.5",
        token: String? = nil,
        fields: [String] = []
    ) throws -> Received {
        let text = request("POST", path, token: token ?? api.catalog.appToken, fields: fields, body: body)
        return try send(text, from: address)
    }

    mutating func sync(_ install: Int, from address: String = "203.0.113.5", fields: [String] = []) throws -> Received {
        try post("/v1/sync", #"{"install_id":"\#(installID(install))"}"#, from: address, fields: fields)
    }

    mutating func validate(_ key: String, _ install: Int, from address: String = "203.0.113.5") throws -> Received {
        try post("/v1/validate", #"{"license_key":"\#(key)","install_id":"\#(installID(install))"}"#, from: address)
    }
}
