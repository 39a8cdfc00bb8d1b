import CountersignWire
import Diagnostics
import Foundation
import Glibc
import HTTPServer
import Licensing
import LicensingServices
import Storage
import StrictJSON
import SystemPrimitives
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

/// A blocking client for one connection.
final class LiveClient {
    private let descriptor: Int32
    private var buffer: [UInt8] = []

    struct Failure: Error { let call: String }

    init(port: UInt16) throws {
        // Kept from processes that other tests start: one that had it, too, would keep the connection open.
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(call: "socket") }
        // Only so that a failing test ends.
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 else { throw Failure(call: "connect") }
    }

    deinit { close(descriptor) }

    func send(_ text: String) throws {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { throw Failure(call: "send") }
            bytes = bytes.dropFirst(count)
        }
    }

    /// The next answer, 100 Continue among them.
    func receive() throws -> Received {
        while true {
            if let answer = next() { return answer }
            var piece = [UInt8](repeating: 0, count: 65_536)
            let count = piece.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
            guard count > 0 else { throw Failure(call: "recv") }
            buffer += piece[..<count]
        }
    }

    private func next() -> Received? {
        let separator = Array("\r\n\r\n".utf8)
        guard buffer.count >= 4,
            let end = (0...buffer.count - 4).first(where: { buffer[$0..<$0 + 4].elementsEqual(separator) })
        else { return nil }
        let head = String(decoding: buffer[..<end], as: UTF8.self)
        let fields = head.split(separator: "\r\n").dropFirst().compactMap { line -> HTTPField? in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            return HTTPField(String(line[..<colon]), String(line[line.index(colon, offsetBy: 2)...]))
        }
        let length = fields.first { $0.name == "Content-Length" }.flatMap { Int($0.value) } ?? 0
        guard buffer.count >= end + 4 + length else { return nil }
        let body = String(decoding: buffer[(end + 4)..<(end + 4 + length)], as: UTF8.self)
        buffer.removeFirst(end + 4 + length)
        return Received(status: Int(head.dropFirst(9).prefix(3)) ?? 0, fields: fields, body: body)
    }
}
