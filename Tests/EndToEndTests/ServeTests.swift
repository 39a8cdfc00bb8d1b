import Foundation
import SystemTestSupport
import Testing

@Suite("Serving, seen from outside") struct ServeTests {
    /// The demonstration's token and key, from what it prints.
    private func demonstration(_ server: RunningServer) throws -> (token: String, key: String) {
        let lines = try server.output(through: "KEY=").split(separator: "\n")
        let token = try #require(lines.first { $0.hasPrefix("PK=") }).dropFirst(3)
        let key = try #require(lines.first { $0.hasPrefix("KEY=") }).dropFirst(4)
        return (String(token), String(key))
    }

    @Test("a demonstration activates, validates and deactivates, and SIGTERM ends it with 0")
    func demonstrationWorks() async throws {
        let program = try Program()
        let server = try program.serve("--demo")
        let (token, key) = try demonstration(server)
        let body = ["license_key": key, "install_id": "install-of-a-newcomer", "nonce": "n"]

        let activated = try await server.post("/v1/activate", token: token, body)
        let validated = try await server.post("/v1/validate", token: token, body)
        let deactivated = try await server.post("/v1/deactivate", token: token, body)

        #expect(server.firstLine.hasPrefix("listening on http://127.0.0.1:"))
        #expect(activated.status == 200 && activated.json["verdict"] as? String == "granted")
        #expect(validated.json["code"] as? String == "VALID")
        #expect(deactivated.json["released"] as? Bool == true)
        #expect(try server.stop().code == 0)
    }

    /// Makes each call that the demonstration prints, and answers what came, by route.
    private func paste(_ printed: String, into server: RunningServer) async throws -> [String: [String: Any]] {
        var answers: [String: [String: Any]] = [:]
        for line in printed.split(separator: "\n") where line.hasPrefix("curl ") {
            let words = line.split(separator: " ")
            let quoted = line.split(separator: "'", omittingEmptySubsequences: false)
            let token = try #require(quoted.first { $0.hasPrefix("Authorization: Bearer ") }).split(separator: " ").last
            let body = try #require(quoted.first { $0.hasPrefix("{") })
            let members = try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: String]
            let path = try #require(URL(string: String(words[2]))).path
            #expect(words[2].hasPrefix(server.url + "/v1/"))
            let (status, json) = try await server.post(path, token: String(#require(token)), #require(members))
            #expect(status == 200, "\(line)")
            answers[path] = json
        }
        return answers
    }

    @Test("the printed calls show a license, a trial and a meter, however often they are pasted, and after a new start")
    func printedCalls() async throws {
        let program = try Program()
        var starts: Set<String?> = []
        for _ in 0..<2 {
            let server = try program.serve("--demo")
            let printed = try server.output(through: "KEY=")
            for _ in 0..<2 {
                let answers = try await paste(printed, into: server)
                #expect(answers["/v1/activate"]?["verdict"] as? String == "granted")
                #expect(answers["/v1/validate"]?["code"] as? String == "VALID")
                #expect(answers["/v1/trial"]?["code"] as? String == "TRIAL_ACTIVE")
                #expect(answers["/v1/meters/consume"]?["allowed"] as? Bool == true)
                #expect(answers["/v1/deactivate"]?["released"] as? Bool == true)
                starts.insert(answers["/v1/trial"]?["started_at"] as? String)
            }
            #expect(try server.stop().code == 0)
        }
        #expect(starts.count == 1 && starts.first != .some(nil))
    }

    @Test("what was changed in a demonstration stays, and the calls that are printed still work")
    func changedDemonstration() async throws {
        let program = try Program()
        #expect(try program.serve("--demo").stop().code == 0)
        for line in [
            "admin product set acme/editor trial_duration= free_tier=false",
            "admin plan edit --product acme/editor --code pro --seats 7",
        ] {
            #expect(try program.run(line.split(separator: " ").map(String.init)).code == 0)
        }

        let server = try program.serve("--demo")
        let answers = try await paste(try server.output(through: "KEY="), into: server)

        #expect(answers["/v1/trial"] == nil)
        #expect(answers.count == 4)
        #expect((answers["/v1/activate"]?["seats"] as? [String: Any])?["limit"] as? Int == 7)
        #expect(try server.stop().code == 0)
    }

    @Test("a folder with vendors of its own is no place for a demonstration")
    func foreignFolder() throws {
        let program = try Program()
        #expect(try program.run("admin", "vendor", "create", "--slug", "acme").code == 0)

        let outcome = try program.run("serve", "--demo", "--listen", "127.0.0.1:0")

        #expect(outcome.code == 1 && outcome.output.isEmpty)
        #expect(outcome.errors.contains("NOT_EMPTY"))
    }

    @Test("a change by the command line shows in the very next answer")
    func commandLineBesideServer() async throws {
        let program = try Program()
        let server = try program.serve("--demo")
        let (token, key) = try demonstration(server)
        let body = ["license_key": key, "install_id": "install-of-a-customer"]
        _ = try await server.post("/v1/activate", token: token, body)

        let suspension = try program.run("admin", "license", "suspend", key, "--reason", "chargeback")
        let suspended = try await server.post("/v1/validate", token: token, body)
        let reinstatement = try program.run("admin", "license", "reinstate", key, "--reason", "settled")
        let reinstated = try await server.post("/v1/validate", token: token, body)

        #expect(suspension.code == 0 && reinstatement.code == 0)
        #expect(suspended.json["code"] as? String == "LICENSE_SUSPENDED")
        #expect(suspended.json["verdict"] as? String == "rejected")
        #expect(reinstated.json["code"] as? String == "VALID")
        #expect(try server.stop().code == 0)
    }

    @Test("a second server of the same folder ends with 1 and names the first one's process")
    func secondServer() throws {
        let program = try Program()
        let server = try program.serve()

        let second = try program.run(
            "serve",
            "--listen",
            "127.0.0.1:0",
            environment: ["COUNTERSIGN_LOCK_WAIT": "0"]
        )

        #expect(second.code == 1)
        #expect(second.errors.contains("\(server.process.processIdentifier)"))
        #expect(second.output.isEmpty)
        #expect(try server.stop().code == 0)
    }

    @Test(
        "a start that cannot be ends with 1 and one line that names the setting or the thing at fault",
        arguments: [
            (["COUNTERSIGN_LIMITS_BODY_BYTES": "many"], "limits.body_bytes"),
            (["COUNTERSIGN_LIMITS_BODY_BITES": "1"], "COUNTERSIGN_LIMITS_BODY_BITES"),
            (["COUNTERSIGN_LISTEN": "nowhere:80"], "listen"),
            (["COUNTERSIGN_DATA": "/proc/countersign"], "/proc/countersign"),
        ]
    )
    func wrongStart(environment: [String: String], named: String) throws {
        let program = try Program()

        let outcome = try program.run("serve", environment: environment)

        #expect(outcome.code == 1)
        #expect(outcome.output.isEmpty)
        let lines = outcome.errors.split(separator: "\n").filter { !$0.hasPrefix("{") }
        #expect(lines.count == 1)
        #expect(lines.first?.contains(named) == true)
    }

    @Test(
        "an option whose value is none ends with 2, as on every command, also beside other settings",
        arguments: [
            ["--loops", "0x"], ["--loops", "257"], ["--loops="], ["--listen", "x"], ["--listen", "127.0.0.1:99999"],
            ["--listen", "127.0.0.1:0", "--listen", "nowhere"],
        ]
    )
    func wrongOption(words: [String]) throws {
        let program = try Program()
        let process = program.process(["serve", "--json"] + words, ["COUNTERSIGN_LOCK_WAIT": "0"])
        let errors = Pipe()
        process.standardError = errors

        try Program.start(process)
        let text = try errors.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()

        #expect(process.terminationStatus == 2)
        let object = try #require(try JSONSerialization.jsonObject(with: text) as? [String: [String: Any]])
        #expect(object["error"]?["code"] as? String == "USAGE")
        #expect(object["error"]?["option"] as? String == words[0].split(separator: "=").first.map(String.init))
        #expect(!FileManager.default.fileExists(atPath: program.data))
    }

    @Test("a port that is taken stops the start and is named")
    func portTaken() throws {
        let program = try Program()
        let server = try program.serve()
        let address = server.url.dropFirst("http://".count)
        let other = try Program()

        let second = try other.run("serve", "--listen", String(address))

        #expect(second.code == 1)
        #expect(second.errors.contains(address))
        #expect(try server.stop().code == 0)
    }

    #if os(Linux)
        @Test("a crash leaves no memory behind: no core files, by limit")
        func noCoreFiles() throws {
            let program = try Program()
            let server = try program.serve()

            let limits = try String(
                contentsOfFile: "/proc/\(server.process.processIdentifier)/limits",
                encoding: .utf8
            )

            let line = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") })
            #expect(line.split(separator: " ").suffix(3).prefix(2) == ["0", "0"])
            #expect(try server.stop().code == 0)
        }
    #endif

    #if canImport(Glibc)
        @Test("without a descriptor left, who comes is told 503 at once, and who is connected goes on")
        func descriptorsRunOut() throws {
            let program = try Program()
            let server = try program.serve(descriptors: 100)
            let port = try #require(UInt16(server.url.split(separator: ":").last ?? ""))
            // Who is turned away is answered and hung up on, which may come before the question.
            func health(_ connection: TestConnection) throws -> RawResponse {
                try? connection.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                return try #require(try connection.receive())
            }
            let connected = try TestConnection(port: port)
            #expect(try health(connected).status == 200)

            var comers = try (0..<120).map { _ in try TestConnection(port: port) }
            let answers = try comers.map(health)
            let stillConnected = try health(connected)
            comers = []
            // Each is another chance for the server to see that the others hung up, however busy the machine is.
            var later = 0
            for _ in 0..<20_000 where later != 200 { later = try health(TestConnection(port: port)).status }

            let refused = answers.filter { $0.status == 503 }
            #expect(refused.count > 20 && refused.count < 120)
            #expect(refused.allSatisfy { $0.head.contains("Retry-After: ") })
            #expect(answers.allSatisfy { $0.status == 200 || $0.status == 503 })
            #expect(stillConnected.status == 200)
            #expect(later == 200)
            #expect(try server.stop().code == 0)
        }
    #endif
}
