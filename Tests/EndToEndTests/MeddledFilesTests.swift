import Foundation
import FoundationNetworking
import Testing

@Suite("A server whose files are meddled with", .timeLimit(.minutes(30))) struct MeddledFilesTests {
    private func isReady(_ server: RunningServer) async throws -> Bool {
        let url = try #require(URL(string: server.url + "/ready"))
        let (_, response) = try await URLSession.shared.data(from: url)
        return (response as? HTTPURLResponse)?.statusCode == 200
    }

    @Test("it is not ready and refuses writes while its database is elsewhere, and the log says so once, and its end")
    func moved() async throws {
        let program = try Program()
        let server = try program.serve("--demo")
        let lines = try server.output(through: "KEY=").split(separator: "\n")
        let token = String(try #require(lines.first { $0.hasPrefix("PK=") }).dropFirst(3))
        let key = String(try #require(lines.first { $0.hasPrefix("KEY=") }).dropFirst(4))
        func activate(_ install: String, untilDecided: Bool = true) async throws -> Int {
            let body = ["license_key": key, "install_id": install]
            return try await server.post("/v1/activate", token: token, body, untilDecided: untilDecided).status
        }
        let (database, away) = (program.data + "/countersign.db", program.folder + "/away.db")
        func told(_ event: String, of reason: String = "time") throws -> Int {
            let log = try String(contentsOfFile: program.folder + "/server.log", encoding: .utf8)
            return log.split(separator: "\n").count { $0.contains(#""\#(event)""#) && $0.contains(reason) }
        }
        #expect(try await activate("install-before-it-went") == 200)

        try FileManager.default.moveItem(atPath: database, toPath: away)
        #expect(try await activate("install-while-it-is-away", untilDecided: false) == 503)
        try await wait { try await !isReady(server) }
        try await wait { try told("database_unusable") > 0 }
        #expect(try await activate("install-while-it-is-away-still", untilDecided: false) == 503)
        let asked = try await server.post("/v1/validate", token: token, ["license_key": key])
        try FileManager.default.moveItem(atPath: away, toPath: database)
        try await wait { try await isReady(server) }

        #expect(asked.status == 200 && asked.json["code"] as? String == "VALID")
        #expect(try await activate("install-after-it-came-back") == 200)
        #expect(try server.stop().code == 0)
        #expect(try told("database_unusable", of: "countersign.db") == 1)
        #expect(try told("database_usable") <= told("database_unusable"))
    }

    @Test("a start finds a key and no database, and makes none")
    func lost() throws {
        let program = try Program()
        #expect(try program.run("admin", "vendor", "create", "--slug", "acme").code == 0)
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: program.data + "/countersign.db" + suffix)
        }

        let outcome = try program.run("serve", "--listen", "127.0.0.1:0")

        #expect(outcome.code == 1 && outcome.output.isEmpty)
        #expect(outcome.errors.contains("countersign restore BACKUP"))
        #expect(!FileManager.default.fileExists(atPath: program.data + "/countersign.db"))
    }
}
