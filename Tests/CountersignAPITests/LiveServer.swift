import CountersignWire
import Diagnostics
import Foundation
import HTTPServer
import Licensing
import LicensingServices
import Storage
import StrictJSON
import SystemPrimitives
import SystemTestSupport
import Testing

@testable import CountersignAPI

/// Asks again and again until it is so, for ten minutes at most.
func wait(_ place: SourceLocation = #_sourceLocation, for isSo: () throws -> Bool) rethrows {
    let end = MonotonicClock.nanoseconds() + 600_000_000_000
    while try !isSo() {
        guard MonotonicClock.nanoseconds() < end else {
            Issue.record("it never came to that", sourceLocation: place)
            return
        }
        sched_yield()
    }
}

/// A server on a free port, with the catalog of these tests.
final class LiveServer: Sendable {
    let catalog: Catalog
    let server: APIServer
    /// Sold before the start, in order.
    let licenses: [SoldLicense]

    init(
        loops: Int = 2,
        licenses count: Int = 1,
        _ plan: @Sendable (inout Plan) throws -> Void = { _ in },
        settings: ProductSettings = ProductSettings(),
        vfs: String? = nil,
        queueClock: (@Sendable () -> UInt64)? = nil,
        limits: RateLimits = RateLimits(),
        options change: (inout ServerOptions) -> Void = { _ in },
        setUp: @Sendable (borrowing WriteTransaction, Catalog) throws -> Void = { _, _ in }
    ) throws {
        let opened = try Catalog.open(settings: settings, vfs: vfs, queueClock: queueClock)
        catalog = opened.catalog
        let catalog = catalog
        licenses = try opened.writer.write { db in
            try setUp(db, catalog)
            return try (0..<count).map { _ in try catalog.sell(catalog.editor, plan, in: db) }
        }
        var http = ServerOptions()
        // A client that is not scheduled for a while is not a slow one.
        (http.headerSeconds, http.bodySeconds, http.idleSeconds) = (0, 0, 0)
        change(&http)
        server = try APIServer.start(
            APIServerOptions(http: http, loops: loops, limits: limits),
            services: catalog.services,
            database: catalog.database,
            queue: catalog.queue,
            writer: opened.writer,
            metrics: catalog.metrics,
            log: catalog.log,
            onWriterFailure: { Issue.record("the writer gave up: \($0)") }
        )
    }

    func connect() throws -> LiveClient { try LiveClient(port: server.addresses[0].port) }

    func request(_ path: String, _ body: String, fields: [String] = []) -> String {
        CountersignAPITests.request("POST", path, token: catalog.appToken, fields: fields, body: body)
    }

    func activation(_ license: SoldLicense, _ install: Int, nonce: String = "n") -> String {
        request(
            "/v1/activate",
            #"{"license_key":"\#(license.key)","install_id":"\#(installID(install))","nonce":"\#(nonce)"}"#
        )
    }

    deinit { server.stop() }
}

/// A client's connection to a server that runs, and what it is answered.
struct LiveClient {
    private let connection: TestConnection

    /// The connection ended instead of an answer.
    struct Ended: Error {}

    init(port: UInt16) throws {
        connection = try TestConnection(port: port)
    }

    func send(_ text: String) throws { try connection.send(text) }

    /// The next answer, 100 Continue among them.
    func receive() throws -> Received {
        guard let answer = try connection.receive() else { throw Ended() }
        return Received(
            status: answer.status,
            fields: answer.fields.map { HTTPField($0.name, $0.value) },
            body: answer.body
        )
    }
}
