import CFaultyVFS
import Glibc
import Licensing
import Testing

@testable import CountersignAPI

@Suite("A server whose disk takes no more", .timeLimit(.minutes(30))) struct FullDiskTests {
    @Test(
        "who writes is told 503 and nothing else as long as it lasts, who asks is answered, and it goes on by itself",
        arguments: [ENOSPC, EDQUOT, EFBIG, EROFS]
    )
    func full(error: Int32) throws {
        let vfs = "full-\(UInt64.random(in: 0...(.max)))"
        faulty_vfs_register(vfs)
        let server = try LiveServer(loops: 1, { $0.seatLimit = .limited(50) }, vfs: vfs)
        let client = try server.connect()
        let license = server.licenses[0]
        func activate(_ install: Int) throws -> Received {
            try client.send(server.activation(license, install))
            return try client.receive()
        }
        #expect(try activate(1).status == 200)

        faulty_vfs_break(vfs, error, .max)
        // More than the failures in a row that end a server on a failing disk.
        for install in 2..<8 {
            let answer = try activate(install)
            #expect(answer.status == 503 && answer.code == "UNAVAILABLE" && answer.verdict == "unknown")
            #expect(answer.field("Retry-After") == "1")
        }
        try client.send(
            server.request("/v1/validate", #"{"license_key":"\#(license.key)","install_id":"\#(installID(1))"}"#)
        )
        let valid = try client.receive()
        faulty_vfs_break(vfs, 0, 0)

        #expect(valid.status == 200 && valid.code == "VALID")
        #expect(try activate(2).status == 200)
    }
}
