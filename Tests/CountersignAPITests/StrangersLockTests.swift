import CFaultyVFS
import Testing

@testable import CountersignAPI

@Suite("A server whose database a stranger keeps locked", .timeLimit(.minutes(30))) struct StrangersLockTests {
    @Test("who asks is told 503 at once, health goes on, and nobody has to restart anything")
    func readers() throws {
        let vfs = "locks-\(UInt64.random(in: 0...(.max)))"
        faulty_vfs_register(vfs)
        let server = try LiveServer(loops: 1, vfs: vfs)
        let client = try server.connect()
        let (key, install) = (server.licenses[0].key, installID(1))
        func ask(_ path: String) throws -> Received {
            try client.send(server.request(path, #"{"license_key":"\#(key)","install_id":"\#(install)"}"#))
            return try client.receive()
        }
        func get(_ path: String) throws -> Int {
            try client.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return try client.receive().status
        }
        #expect(try ask("/v1/activate").status == 200)

        faulty_vfs_lock(vfs, 123, 127)
        for path in ["/v1/validate", "/v1/activate", "/v1/sync", "/v1/heartbeat", "/v1/deactivate"] {
            let answer = try ask(path)
            #expect(answer.status == 503 && answer.code == "UNAVAILABLE" && answer.verdict == "unknown", "\(path)")
            #expect(answer.field("Retry-After") == "1")
        }
        #expect(try get("/health") == 200)
        #expect(try get("/ready") == 503)
        faulty_vfs_unlock(vfs)

        let valid = try ask("/v1/validate")
        #expect(valid.status == 200 && valid.code == "VALID")
        #expect(try ask("/v1/activate").status == 200)
    }
}
