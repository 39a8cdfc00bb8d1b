import Diagnostics
import Foundation
import HTTPServer
import StrictJSON
import Testing

@testable import countersign

@Suite("Configuration") struct ConfigurationTests {
    /// For each setting a value that is not its default, as the environment writes it.
    static let others = [
        "data": "/srv/data", "master_key_file": "/run/key", "listen": "*:0,[::1]:81", "loops": "3",
        "base_url": "https://l.example.com/x/", "trusted_proxies": "10.0.0.0/8, fd00::/8", "shutdown_grace": "PT1M",
        "lock_wait": "0", "log.level": "debug", "log.format": "json", "log.requests": "off",
        "cors.allowed_origins": "https://a.example", "cors.allowed_headers": "X-A,X-B", "cors.max_age": "PT1H",
        "metrics.listen": "127.0.0.1:9090", "store.apple.root_sha256": String(repeating: "aB", count: 32),
    ]

    private func load(_ text: String, path: String = "c.json5") throws -> Configuration {
        try Configuration.load(file: ConfigurationFile(path: path, text: text)).configuration
    }

    private func problems(
        file: String = "{}",
        environment: [String: String] = [:],
        flags: [Configuration.Flag] = []
    ) -> String {
        do throws(ConfigurationError) {
            let file = ConfigurationFile(path: "c.json5", text: file)
            _ = try Configuration.load(file: file, environment: environment, flags: flags)
            return ""
        } catch {
            return error.description
        }
    }

    @Test("nothing set: the defaults")
    func defaults() throws {
        let loaded = try Configuration.load(environment: ["PATH": "/bin", "COUNTERSIGN_DATA": ""])

        #expect(loaded.configuration == Configuration())
        #expect(loaded.origins.isEmpty)
        #expect(loaded.configuration.limits.bodyBytes == 65_536)
        #expect(loaded.configuration.limits.verifyBodyBytes == 96 * 1_024)
        #expect(loaded.configuration.limits.notificationBodyBytes == 320 * 1_024)
        #expect(loaded.configuration.limits.headerSeconds == 10)
        #expect(loaded.configuration.limits.rate.trialsPerDay == 20)
    }

    @Test("defaults give way to the file, the file to the environment, the environment to the command line")
    func order() throws {
        let file = ConfigurationFile(path: "c", text: "{ loops: 1, data: 'file', limits: { body_bytes: 2000 } }")

        let loaded = try Configuration.load(
            file: file,
            environment: ["COUNTERSIGN_LOOPS": "2", "COUNTERSIGN_DATA": "environment"],
            flags: [.init("loops", ["3"]), .init("listen", ["127.0.0.1:1", "[::1]:2"])]
        )

        #expect(loaded.configuration.loops == 3)
        #expect(loaded.configuration.data == "environment")
        #expect(loaded.configuration.limits.bodyBytes == 2_000)
        #expect(loaded.configuration.listen.map(\.description) == ["127.0.0.1:1", "[::1]:2"])
        #expect(loaded.origins["loops"]?.description == "option --loops")
        #expect(loaded.origins["data"]?.description == "environment variable COUNTERSIGN_DATA")
        #expect(loaded.origins["limits.body_bytes"]?.description == "c:1")
        #expect(loaded.origins["limits.header_bytes"] == nil)
    }

    @Test("every setting can be set by the environment, reaches the configuration and reads back from what is printed")
    func everySetting() throws {
        for setting in Setting.all {
            var value = Self.others[setting.name]
            if case .number(let digits) = setting.value(Configuration()), value == nil {
                value = try String(#require(Int(digits)) + 1)
            }

            let loaded = try Configuration.load(environment: [setting.variable: #require(value)])

            let changed = Setting.all.filter { $0.value(loaded.configuration) != $0.value(Configuration()) }
            #expect(changed.map(\.name) == [setting.name])
            #expect(try load(ConfigurationText.printed(loaded)) == loaded.configuration)
            #expect(try load(ConfigurationText.json(loaded.configuration)) == loaded.configuration)
            _ = try JSONDocument(parsing: Array(ConfigurationText.json(loaded.configuration).utf8))
        }
    }

    @Test("names are unique, in the environment too, and groups stand together")
    func names() {
        #expect(Set(Setting.all.map(\.variable)).count == Setting.all.count)
        #expect(Setting.all.map(\.variable).contains("COUNTERSIGN_LIMITS_BODY_BYTES"))
        #expect(Setting.all.map(\.variable).contains("COUNTERSIGN_LIMITS_RATE_TRIALS_PER_DAY"))
        #expect(ConfigurationText.example.components(separatedBy: "limits: {").count == 2)
        #expect(ConfigurationText.example.components(separatedBy: "rate: {").count == 2)
    }

    @Test(
        "a mistake stops the start with the setting, what is wrong with it and where it stands",
        arguments: [
            (
                "{\n limits: { body_byte: 1 } }",
                "c.json5:2: limits.body_byte: there is no such setting; did you mean limits.body_bytes?"
            ),
            ("{ frobnication_of_things: 1 }", "c.json5:1: frobnication_of_things: there is no such setting"),
            ("{ limits: 5 }", "c.json5:1: limits: is a group of settings: { … }"),
            (
                "{ limits: { body_bytes: 12 } }",
                "c.json5:1: limits.body_bytes: 12 is outside its range (bytes, 1024 to 16777216)"
            ),
            (
                "{ loops: 1.0 }",
                "c.json5:1: loops: 1.0 is not a whole number (event loops, 1 to 256; 0: one for each core)"
            ),
            (
                "{ loops: '-1' }",
                "c.json5:1: loops: '-1' is not a whole number (event loops, 1 to 256; 0: one for each core)"
            ),
            (
                "{ loops: 99999999999999999999 }",
                "c.json5:1: loops: 99999999999999999999 is not a whole number (event loops, 1 to 256; 0: one for each core)"
            ),
            (
                "{ loops: true }",
                "c.json5:1: loops: true is not a whole number (event loops, 1 to 256; 0: one for each core)"
            ),
            ("{ log: { level: 'loud' } }", "c.json5:1: log.level: 'loud' is not one of debug, info, warning, error"),
            (
                "{ shutdown_grace: '10s' }",
                "c.json5:1: shutdown_grace: '10s' is not a duration such as PT10S or a number of seconds"
            ),
            ("{ lock_wait: 'P1D' }", "c.json5:1: lock_wait: 'P1D' is outside its range (duration, PT0S to PT10M)"),
            ("{ listen: [] }", "c.json5:1: listen: is empty"),
            (
                "{ listen: [\((1...17).map { "'127.0.0.1:\($0)'" }.joined(separator: ","))] }",
                "c.json5:1: listen: has 17 items, 16 at most"
            ),
            (
                "{ trusted_proxies: ['10.1.2.3/8'] }",
                "c.json5:1: trusted_proxies: '10.1.2.3/8' is not an address block such as 10.0.0.0/8 or fd00::/8 (no bits beyond the prefix)"
            ),
            (
                "{ cors: { allowed_origins: '*' } }",
                "c.json5:1: cors.allowed_origins: '*' is not allowed: name each origin"
            ),
            ("{ cors: { allowed_headers: ['A', 'A'] } }", "c.json5:1: cors.allowed_headers: 'A' is there twice"),
            ("{ data: '' }", "c.json5:1: data: '' is not a path"),
            ("{ data: 5 }", "c.json5:1: data: 5 is not text"),
            (
                "{ base_url: 'ftp://x' }",
                "c.json5:1: base_url: 'ftp://x' is not an http or https URL without user, query and fragment"
            ),
            (
                "{ store: { apple: { root_sha256: 'abc' } } }",
                "c.json5:1: store.apple.root_sha256: 'abc' is not a SHA-256 of 64 hexadecimal digits"
            ),
            ("{ loops: 1,\n\nloops: 2 }", "c.json5:3: loops is there twice, first in line 1"),
            ("{ loops 1 }", "c.json5:1: '1' stands where ':' after loops should follow"),
        ]
    )
    func mistakes(text: String, message: String) {
        #expect(problems(file: text) == message)
    }

    @Test("all mistakes are told at once, each with its origin")
    func allMistakes() {
        let told = problems(
            file: "{ loops: 'x',\n a: 1 }",
            environment: ["COUNTERSIGN_LIMIT_BODY_BYTES": "1", "COUNTERSIGN_LOOPS": "many"],
            flags: [.init("listen", ["here"])]
        )

        let lines = told.split(separator: "\n")
        #expect(lines.count == 5)
        #expect(lines[0].hasPrefix("c.json5:1: loops: 'x' is not a whole number"))
        #expect(lines[1] == "c.json5:2: a: there is no such setting")
        let hint = "there is no such setting; did you mean COUNTERSIGN_LIMITS_BODY_BYTES?"
        #expect(lines[2] == "environment variable COUNTERSIGN_LIMIT_BODY_BYTES: COUNTERSIGN_LIMIT_BODY_BYTES: \(hint)")
        #expect(lines[3].hasPrefix("environment variable COUNTERSIGN_LOOPS: loops: 'many'"))
        #expect(lines[4].hasPrefix("option --listen: listen: 'here' is not an address with a port"))
    }

    @Test("variables that Kubernetes makes for a service of our name are passed over")
    func kubernetes() {
        let told = problems(environment: [
            "COUNTERSIGN_PORT": "tcp://10.0.0.7:8080", "COUNTERSIGN_SERVICE_HOST": "10.0.0.7",
            "COUNTERSIGN_SERVICE_PORT": "8080", "COUNTERSIGN_SERVICE_PORT_HTTP": "8080",
            "COUNTERSIGN_PORT_8080_TCP": "x", "COUNTERSIGN_PORT_8080_TCP_ADDR": "x", "COUNTERSIGN_CONFIG": "/etc/c",
        ])

        #expect(told.isEmpty)
        #expect(problems(environment: ["COUNTERSIGN_PORTS": "1"]).contains("no such setting"))
    }

    @Test("SIGHUP takes what may change and names what waits for the next start")
    func reload() throws {
        let running = try load("{ loops: 2, log: { level: 'info' } }")
        let new = try load("{ loops: 4, data: 'x', log: { level: 'debug' }, limits: { rate: { trials_per_day: 0 } } }")

        let (configuration, waiting) = running.reloaded(from: new)

        #expect(configuration.log.level == .debug)
        #expect(configuration.limits.rate.trialsPerDay == 0)
        #expect(configuration.loops == 2)
        #expect(waiting == ["data", "loops"])
    }

    @Test("what is printed says where each value comes from")
    func printed() throws {
        let loaded = try Configuration.load(environment: ["COUNTERSIGN_LOOPS": "2"])

        let text = ConfigurationText.printed(loaded)

        #expect(text.contains("  // from environment variable COUNTERSIGN_LOOPS\n  loops: 2,\n"))
        #expect(text.contains("    // default\n    body_bytes: 65536,\n"))
    }

    /// Where it differs, run the tests once with `UPDATE_EXAMPLES=1` and look at the change.
    @Test("the example file lists exactly the settings there are, with their defaults")
    func example() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = root.appending(path: "config/countersign.example.json5")
        if ProcessInfo.processInfo.environment["UPDATE_EXAMPLES"] != nil {
            try ConfigurationText.example.write(to: file, atomically: true, encoding: .utf8)
        }

        let text = try String(contentsOf: file, encoding: .utf8)

        #expect(text == ConfigurationText.example)
        let loaded = try Configuration.load(file: ConfigurationFile(path: "example", text: text))
        #expect(loaded.configuration == Configuration())
        #expect(Set(loaded.origins.keys) == Set(Setting.all.map(\.name)))
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 120 })
    }

    @Test("a file that is not there, or is no text, is named")
    func unreadable() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "configuration-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let binary = folder.appending(path: "binary")
        try Data([0x7B, 0xFF, 0x7D]).write(to: binary)

        let pipe = folder.appending(path: "pipe").path
        #expect(mkfifo(pipe, 0o600) == 0)

        for (path, waits, words) in [
            ("/nowhere/c", true, "cannot be opened: No such file"), (folder.path, true, "cannot be read"),
            (binary.path, true, "is not UTF-8"), (folder.path, false, "is no regular file"),
            // A server that waited for somebody to write to it would heed no other signal.
            (pipe, false, "is no regular file"), ("/dev/zero", false, "is no regular file"),
            ("/dev/zero", true, "is longer than"),
        ] {
            do {
                _ = try ConfigurationFile(reading: path, waits: waits)
                Issue.record("\(path) was read")
            } catch {
                #expect(error.description.contains("--config \(path)"))
                #expect(error.description.contains(words))
            }
        }
    }
}
