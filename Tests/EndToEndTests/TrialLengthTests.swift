import Foundation
import Testing

@Suite("Lengths of trials, across restarts") struct TrialLengthTests {
    /// A vendor's machine whose clock a file says.
    private final class Desk {
        let program: Program
        let clock: String
        var token = ""
        var server: RunningServer?

        init() throws {
            program = try Program()
            clock = program.folder + "/clock"
            try set(clock: "2027-01-01T12:00:00Z")
            try admin("vendor create --slug acme --name Acme")
            try admin("product create --vendor acme --slug editor --name Editor")
            let made = try admin("credential create --product acme/editor --kind pk --json")
            let json = try JSONSerialization.jsonObject(with: Data(made.utf8)) as? [String: Any]
            let credential = try #require(json?["credential"] as? [String: Any])
            token = try #require(credential["token"] as? String)
        }

        /// At once, since a running server may look at it at any moment.
        func set(clock text: String) throws { try Data(text.utf8).write(to: URL(filePath: clock), options: .atomic) }

        @discardableResult
        func admin(_ line: String) throws -> String {
            let words = line.split(separator: " ").map(String.init)
            let outcome = try program.run(["admin"] + words + ["--test-clock", clock])
            #expect(outcome.code == 0, "\(line): \(outcome.errors)")
            return outcome.output
        }

        func restart() throws {
            if let server { #expect(try server.stop().code == 0) }
            server = try program.serve("--test-clock", clock)
        }

        /// What the trial of an install is: its code and end.
        func trial(_ install: String) async throws -> String {
            let body = ["install_id": "install-of-\(install)-on-a-machine"]
            let answer = try await #require(server).post("/v1/trial", token: token, body)
            let code = try #require(answer.json["code"] as? String)
            return [code, answer.json["ends_at"] as? String].compactMap { $0 }.joined(separator: " ")
        }
    }

    @Test("14, then 0, then 30 days: what runs is measured from its start, off takes nothing and is not absent")
    func lengths() async throws {
        let desk = try Desk()
        try desk.restart()
        #expect(try await desk.trial("eve") == "TRIAL_NOT_CONFIGURED")
        // What happens, and what each install hears from then on: each the same again after a restart.
        let story: [(clock: String, setting: String?, told: [(install: String, answer: String)])] = [
            ("2027-01-02T12:00:00Z", "P14D", [("ann", "TRIAL_ACTIVE 2027-01-16T12:00:00Z")]),
            (
                "2027-01-07T12:00:00Z", "0",
                [("ann", "TRIAL_ACTIVE 2027-01-16T12:00:00Z"), ("bob", "TRIAL_DISABLED")]
            ),
            (
                "2027-01-12T12:00:00Z", "P30D",
                [
                    ("ann", "TRIAL_ACTIVE 2027-02-01T12:00:00Z"), ("bob", "TRIAL_ACTIVE 2027-02-06T12:00:00Z"),
                    ("cid", "TRIAL_ACTIVE 2027-02-11T12:00:00Z"), ("eve", "TRIAL_ACTIVE 2027-01-31T12:00:00Z"),
                ]
            ),
            ("2027-02-01T11:59:59Z", nil, [("ann", "TRIAL_ACTIVE 2027-02-01T12:00:00Z")]),
            (
                "2027-02-01T12:00:00Z", nil,
                [("ann", "TRIAL_EXPIRED 2027-02-01T12:00:00Z"), ("bob", "TRIAL_ACTIVE 2027-02-06T12:00:00Z")]
            ),
            ("2027-02-01T12:00:00Z", "0", [("ann", "TRIAL_EXPIRED 2027-02-01T12:00:00Z"), ("dan", "TRIAL_DISABLED")]),
        ]

        for step in story {
            try desk.set(clock: step.clock)
            if let setting = step.setting { try desk.admin("product set acme/editor trial_duration=\(setting)") }
            for isRestarted in [false, true] {
                if isRestarted { try desk.restart() }
                for (install, answer) in step.told {
                    #expect(try await desk.trial(install) == answer, "\(install) at \(step.clock)")
                }
            }
        }
    }
}
