import Diagnostics
import StrictJSON
import SystemPrimitives
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

@Suite("Log") struct LogTests {
    /// 2026-11-29T23:50:00.007Z
    static let instant: Int64 = 1_795_996_200_007

    private func log(_ format: LogFormat, level: LogLevel = .info, bufferBytes: Int = 1 << 20) -> Log {
        Log(Log.Options(level: level, format: format, bufferBytes: bufferBytes)) { Self.instant }
    }

    /// The two ends of a pipe, kept from processes that other tests start: the end is seen when our own are closed.
    private func pipeEnds() throws -> [Int32] {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        for end in ends { try #require(fcntl(end, F_SETFD, FD_CLOEXEC) == 0) }
        return ends
    }

    private func text(_ log: Log) -> String {
        String(decoding: log.drain(), as: UTF8.self)
    }

    @Test("a line is one JSON object: time, level, event, then the fields in their order")
    func json() {
        let log = log(.json)

        log.info("request", ["route": "/v1/validate", "status": 200, "is_fresh": true, "big": .integer(UInt64.max)])

        let line = #"{"time":"2026-11-29T23:50:00.007Z","level":"info","event":"request","route":"/v1/validate","#
        #expect(text(log) == line + #""status":200,"is_fresh":true,"big":9223372036854775807}"# + "\n")
    }

    @Test("text is for people: values with blanks, quotes or nothing in them are quoted")
    func words() {
        let log = log(.text)

        log.warning("disk_full", ["path": "/var/lib x", "empty": "", "count": -3, "plain": "ok/é"])

        let line = #"2026-11-29T23:50:00.007Z warning disk_full path="/var/lib x" empty="" count=-3 plain=ok/é"#
        #expect(text(log) == line + "\n")
    }

    @Test(
        "time is RFC 3339 in UTC with milliseconds",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"), (1_709_251_200_000, "2024-03-01T00:00:00.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
        ] as [(Int64, String)]
    )
    func time(milliseconds: Int64, expected: String) {
        let log = Log { milliseconds }

        log.info("x")

        #expect(text(log) == #"{"time":"\#(expected)","level":"info","event":"x"}"# + "\n")
    }

    @Test("whatever a client sent, a line is one line of JSON that reads back", arguments: [LogFormat.json, .text])
    func hostileText(format: LogFormat) throws {
        let hostile = "a\"b\\c\nd\re\tf\u{0}g\u{1B}[2Jh\u{7F}i\u{9B}j\u{2028}k\u{2029}l😀e\u{301}"
        let log = log(format)

        log.info("request", ["path": .string(hostile)])

        let bytes = log.drain()
        #expect(bytes.filter { $0 == 0x0A }.count == 1 && bytes.last == 0x0A)
        let controls = String(decoding: bytes, as: UTF8.self).unicodeScalars.dropLast().filter {
            $0.value < 0x20 || (0x7F...0x9F).contains($0.value) || $0.value == 0x2028
        }
        #expect(controls.isEmpty)
        if format == .json {
            let document = try JSONDocument(parsing: bytes)
            #expect(document.root["path"]?.string == hostile)
        }
    }

    @Test("a long text is cut at 1,024 bytes, between characters")
    func longText() {
        let log = log(.json)

        log.info("x", ["path": .string("a" + String(repeating: "é", count: 5_000))])

        let line = text(log)
        #expect(line.hasSuffix("é…\"}\n"))
        #expect(line.utf8.filter { $0 == 0xC3 }.count == 511)
    }

    @Test("a level is written when it is at least the one set, which may change", arguments: LogLevel.allCases)
    func level(least: LogLevel) {
        let log = log(.json, level: .error)

        log.level = least
        for level in LogLevel.allCases {
            log.write(level, "x")
        }

        #expect(text(log).split(separator: "\n").count == LogLevel.allCases.filter { $0 >= least }.count)
        #expect(log.level == least)
        #expect(log.isWriting(.debug) == (least == .debug))
    }

    @Test("a full buffer drops lines and says how many as soon as there is room")
    func overflow() {
        let log = log(.json, bufferBytes: 200)

        for _ in 0..<10 {
            log.info("event_of_some_length")
        }

        let lines = text(log).split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines.last?.hasSuffix(#""level":"warning","event":"log_lines_dropped","count":8}"#) == true)
        #expect(log.droppedLines == 8)
        log.info("x")
        #expect(text(log).contains("dropped") == false)
    }

    @Test("the log's thread writes every line in order, the last ones at the stop")
    func thread() throws {
        let ends = try pipeEnds()
        let reader = Descriptor(taking: ends[0])
        let log = try Log.start(on: ends[1]) { Self.instant }

        // More than a pipe holds, so that the thread has to wait for the reader.
        let writing = try Thread.start("test", with: log) { log in
            for number in 0..<2_000 {
                log.info("line", ["number": .integer(number)])
            }
            log.stop()
        }
        var all: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4_096)
        let closing = try Thread.start("test", with: (writing, ends[1])) { state in
            state.0.join()
            close(state.1)
        }
        while case let count = read(reader.number, &chunk, chunk.count), count > 0 {
            all += chunk[..<count]
        }
        closing.join()

        let lines = String(decoding: all, as: UTF8.self).split(separator: "\n")
        #expect(lines.count == 2_000)
        #expect(lines.indices.allSatisfy { lines[$0].hasSuffix("\"number\":\($0)}") })
        log.info("after")
        log.stop()
    }

    @Test("a reader that has gone away stops nobody")
    func brokenPipe() async throws {
        // In a process of its own: what is ignored there is ignored by all that it starts.
        await #expect(processExitsWith: .success) {
            _ = signal(SIGPIPE, SIG_IGN)
            var ends: [Int32] = [-1, -1]
            try #require(pipe(&ends) == 0)
            close(ends[0])
            let writer = Descriptor(taking: ends[1])
            let log = try Log.start(on: writer.number) { 1_800_000_000_000 }

            log.error("x")
            log.stop()

            exit(log.drain().isEmpty ? 0 : 1)
        }
    }
}

@Suite("Masked") struct MaskedTests {
    @Test(
        "of an identifier the prefix and the last four characters are shown, of a short one only the prefix",
        arguments: [
            ("lic_01JDW3XKABCDEFGHJKMNPQRSTV", "lic_…RSTV"), ("act_0123456789AB", "act_…89AB"),
            ("lic_0123456789A", "lic_…"), ("", "…"), ("secret", "…"), ("0123456789abcdef", "…cdef"),
            ("a-long-thing_0123456789abcdef", "…cdef"), ("_0123456789abcdef", "…cdef"),
        ]
    )
    func identifier(plain: String, expected: String) {
        #expect(Masked.identifier(plain) == expected)
        #expect(LogValue.masked(plain) == .string(expected))
    }
}
