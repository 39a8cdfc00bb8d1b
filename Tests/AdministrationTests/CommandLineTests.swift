import Administration
import Foundation
import Storage
import StrictJSON
import SystemTestSupport
import Testing

@Suite("Command line") struct CommandLineTests {
    let console = Console()

    @Test(
        "what cannot be understood exits 2 with USAGE and the nearest name",
        arguments: [
            ("", "a command is missing"),
            ("admim vendor list", "did you mean admin"),
            ("admin vendr list", "did you mean vendor"),
            ("admin vendor crate", "did you mean create"),
            ("admin vendor", "needs one of: create, edit, list, show"),
            ("admin vendor create --slgu acme", "did you mean --slug"),
            ("admin vendor create", "needs --slug SLUG"),
            ("admin vendor create --slug", "--slug needs a value"),
            ("admin vendor create --slug --name x", "--slug needs a value"),
            ("admin vendor create --slug a --slug b", "--slug is there twice"),
            ("admin vendor create --slug Acme", "--slug must be"),
            ("admin vendor create --slug acme extra", "takes no further argument"),
            ("admin vendor create --slug acme --dry-run=yes", "--dry-run takes no value"),
            ("admin vendor list --limit 0", "--limit must be 1 to 1000"),
            ("admin vendor list --limit 1001", "--limit must be 1 to 1000"),
            ("admin vendor list --limit ten", "--limit must be 1 to 1000"),
            ("admin product create --vendor acme --slug e --key-prefix x", "--key-prefix must be"),
            ("admin product set acme/editor trial_duratoin=P1D", "did you mean trial_duration"),
            ("admin product set acme/editor trial_duration=soon", "trial_duration must be an ISO 8601 duration"),
            ("admin product set acme/editor", "needs a SETTING=VALUE"),
            ("admin product show editor", "must be VENDOR/PRODUCT"),
            ("admin plan create --product acme/editor --code pro --seats -1", "--seats must be"),
            ("admin plan create --product acme/editor --code pro --duration 1Y", "--duration must be"),
            ("admin plan create --product acme/editor --code pro --seat-policy maybe", "--seat-policy must be one of"),
            ("admin credential create --kind pk", "needs --product or --vendor"),
            ("admin credential create --kind xk --vendor acme", "--kind must be one of"),
            ("admin credential revoke 17", "ID must be an id that begins with crd_"),
            ("admin keys rotate --vendor acme --mode both", "--mode must be one of"),
            ("bundle verify x --spki AAAA --issuer i --audience a", "--spki must be"),
            ("doctor --frobnicate", "has no option --frobnicate"),
            ("--frobnicate doctor", "there is no option --frobnicate"),
            ("help admin vendro", "did you mean vendor"),
        ]
    )
    func usage(line: String, words: String) throws {
        let failure = try console.failure(line)

        #expect(failure.exit == 2)
        #expect(failure.code == "USAGE")
        #expect(failure.error["message"]?.string?.contains(words) == true, "\(failure.error["message"]?.string ?? "")")
        #expect(!FileManager.default.fileExists(atPath: console.data), "nothing was made")
    }

    @Test("global options may stand anywhere, with a blank or an equals sign")
    func globals() throws {
        try console.json("admin vendor create --slug acme")

        for line in ["--json admin vendor list", "admin --json vendor list", "admin vendor --json list"] {
            #expect(console.run(line).code == 0)
            #expect(try console.run(line).json().at("vendors.0.slug")?.string == "acme")
        }
        #expect(try console.json("admin vendor list --limit=1").at("vendors.0.slug")?.string == "acme")
    }

    /// The lines of a list in help: what stands left and right.
    private static func entries(of help: String) -> [(name: String, text: String)] {
        help.split(separator: "\n").filter { $0.hasPrefix("  ") && !$0.hasPrefix("  --") }.compactMap { line in
            let line = line.dropFirst(2)
            guard let gap = line.firstRange(of: "  ") else { return nil }
            return (String(line[..<gap.lowerBound]), String(line[gap.upperBound...].drop { $0 == " " }))
        }
    }

    @Test("the version is told, however it is asked for", arguments: ["version", "--version", "--version --quiet"])
    func version(line: String) throws {
        #expect(console.run(line).out.hasPrefix("countersign \(ProgramVersion.text) "))
        #expect(try console.json(line)["version"]?.string == ProgramVersion.text)
        #expect(try console.failure("\(line) seed").exit == 2)
        #expect(try console.failure("seed --version").exit == 2)
        #expect(!FileManager.default.fileExists(atPath: console.data))
    }

    @Test("every command explains itself with an example")
    func help() throws {
        let overview = console.run("help").out
        var names: [String] = []
        for (first, rest) in Self.entries(of: overview) {
            if first.hasPrefix("admin ") {
                names += rest.split(separator: ",").map { "\(first) \($0.drop { $0 == " " })" }
            } else {
                names.append(first)
            }
        }
        #expect(Set(Self.entries(of: console.run("help admin").out).map(\.name)).isSubset(of: names))
        #expect(Set(names).count == names.count && names.count > 50)
        for name in names where name != "help" {
            let ending = console.run(name.split(separator: " ").map(String.init) + ["--help"])
            #expect(ending.code == 0, "\(name)")
            #expect(ending.out.contains("example:\n  countersign \(name)"), "\(name)")
        }
        let create = console.run("admin vendor create --help")
        #expect(create.code == 0)
        #expect(create.out.contains("example:\n  countersign admin vendor create"))
        #expect(create.out.contains("--dry-run"))
        #expect(console.run("help admin vendor create").out == create.out)
    }

    @Test("without --json a failure is one plain line on standard error")
    func plainFailure() {
        let ending = console.run("admin vendor list")

        #expect(ending.code == 1)
        #expect(ending.out.isEmpty)
        #expect(ending.error.hasPrefix("countersign: there is no database"))
        #expect(ending.error.filter { $0 == "\n" }.count == 1)
    }

    @Test("a missing database is said, and not made by a question")
    func missingDatabase() throws {
        let failure = try console.failure("admin vendor list")

        #expect(failure.exit == 1)
        #expect(failure.code == "NO_DATABASE")
        #expect(!FileManager.default.fileExists(atPath: console.data))
    }

    @Test(
        "what was done and cannot be printed is told: what is shown once was seen by nobody",
        arguments: [false, true]
    )
    func notPrinted(isDryRun: Bool) throws {
        _ = try console.prepared()
        let errors = Mutexed("")
        let surroundings = Surroundings(
            output: CommandOutput(
                standard: { _ in throw BrokenPipe.error },
                error: { bytes in errors.append(bytes) }
            ),
            environment: ["COUNTERSIGN_DATA": console.data],
            actor: "command-line:tester",
            synchronous: .off
        )
        let line = ["admin", "credential", "create", "--vendor", "acme", "--kind", "sk"]

        let code = CommandLineTool().run(line + (isDryRun ? ["--dry-run"] : []), in: surroundings)

        #expect(code == 1)
        #expect(errors.text.contains("it was done") == !isDryRun)
        let made = try console.json("admin credential list --vendor acme")["credentials"]?.count
        #expect(made == (isDryRun ? 0 : 1))
    }

    @Test("a reader that goes away ends the command not with success, quietly, and for programs with a code")
    func brokenPipe() throws {
        let errors = Mutexed("")
        let surroundings = Surroundings(
            output: CommandOutput(
                standard: { _ in throw BrokenPipe.error },
                error: { bytes in errors.append(bytes) }
            ),
            environment: [:],
            actor: "command-line:tester",
            synchronous: .off
        )

        let code = CommandLineTool().run(["version"], in: surroundings)

        #expect(code == 1)
        #expect(errors.text.isEmpty)
        #expect(CommandLineTool().run(["version", "--json"], in: surroundings) == 1)
        #expect(try JSONDocument(parsing: Array(errors.text.utf8)).root.at("error.code")?.string == "IO")
    }

    @Test("a dry run makes neither folder nor row")
    func dryRun() throws {
        let first = try console.json("admin vendor create --slug acme --dry-run")

        #expect(first["dry_run"]?.bool == true)
        #expect(!FileManager.default.fileExists(atPath: console.data))

        try console.json("admin vendor create --slug acme")
        try console.json("admin vendor create --slug other --dry-run")
        #expect(try console.json("admin vendor list")["vendors"]?.count == 1)
        #expect(try console.json("admin audit list")["entries"]?.count == 1)
    }

    @Test("--quiet leaves out confirmations and notes, not what was asked for")
    func quiet() throws {
        _ = try console.prepared()
        let backup = console.run("backup \(console.folder.path)/copy.db --quiet")

        #expect(backup.code == 0)
        #expect(backup.out.isEmpty)
        #expect(backup.error.isEmpty)
        #expect(console.run("admin vendor list --quiet").out.contains("acme"))
    }

    @Test("another process's lock is a refusal with a code of its own")
    func lockedDatabase() throws {
        _ = try console.prepared()
        let lock = try HeldLock("\(console.data)/write.lock")
        defer { lock.release() }

        let failure = try console.failure("admin vendor edit acme --name Other")

        #expect(failure.exit == 1)
        #expect(failure.code == "DATABASE_BUSY")
    }

    @Test("a test clock is for databases that no real clock served")
    func testClock() throws {
        _ = try console.prepared()
        let clock = try console.file("clock", "2031-05-06T07:08:09Z\n")

        let vendor = try console.json("admin vendor create --slug later --test-clock \(clock)")
        #expect(vendor.at("vendor.slug")?.string == "later")
        #expect(
            try console.json("admin audit list --limit 1").at("entries.0.at")?.string == "2031-05-06T07:08:09Z"
        )
        #expect(try console.failure("admin vendor list --test-clock /nowhere").code == "CLOCK_UNSURE")

        try console.sql("UPDATE state SET clock = 'wall'")
        #expect(try console.failure("admin vendor list --test-clock \(clock)").code == "TEST_CLOCK")
        try console.sql("UPDATE state SET clock = 'test'")
        #expect(try console.failure("admin vendor list").code == "TEST_CLOCK")
        try console.json("admin vendor list --test-clock \(clock)")
    }

    @Test("a clock far from the last commit changes nothing")
    func doubtfulClock() throws {
        _ = try console.prepared()
        try console.sql("UPDATE state SET committed_at = committed_at + 86400")

        #expect(try console.failure("admin vendor edit acme --name Other").code == "CLOCK_UNSURE")
    }
}
