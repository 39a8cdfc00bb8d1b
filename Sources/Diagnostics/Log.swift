import Synchronization
public import SystemPrimitives

/// The server's log: one line an event, from any thread, never waiting for whoever reads it.
///
/// A line is put into a bounded buffer in memory; a thread of the log's own writes the buffer out. Where the reader is
/// slower than the server, lines are dropped, and how many is logged as soon as there is room.
public final class Log: Sendable {
    /// How lines are written, and which.
    public struct Options: Sendable {
        /// The least level that is written.
        public var level: LogLevel
        /// JSON, or words for a terminal.
        public var format: LogFormat
        /// How much may wait to be written out, in bytes.
        public var bufferBytes: Int

        /// Options; by default `info` as JSON, with 1 MiB that may wait.
        public init(level: LogLevel = .info, format: LogFormat = .json, bufferBytes: Int = 1 << 20) {
            self.level = level
            self.format = format
            self.bufferBytes = bufferBytes
        }
    }

    /// What waits to be written.
    private struct Buffer {
        var bytes: [UInt8] = []
        /// Lines lost since the last one that was kept.
        var dropped = 0
        /// Lines lost since the start.
        var droppedInAll: UInt64 = 0
        var isWriterAsleep = false
    }

    private let format: LogFormat
    private let bufferBytes: Int
    private let leastRank: Atomic<Int>
    private let milliseconds: @Sendable () -> Int64
    private let buffer = Guarded(Buffer())
    let wake: WakeUp?
    let isStopping = Atomic<Bool>(false)
    private let writer = Guarded<Thread?>(nil)

    /// A log whose lines wait until `drain` takes them, as a test does.
    ///
    /// - Parameter milliseconds: the wall clock, in milliseconds since 1970 in UTC.
    public init(_ options: Options = Options(), milliseconds: @escaping @Sendable () -> Int64) {
        format = options.format
        bufferBytes = options.bufferBytes
        leastRank = Atomic(options.level.rank)
        self.milliseconds = milliseconds
        wake = nil
    }

    private init(_ options: Options, wake: consuming WakeUp, milliseconds: @escaping @Sendable () -> Int64) {
        format = options.format
        bufferBytes = options.bufferBytes
        leastRank = Atomic(options.level.rank)
        self.milliseconds = milliseconds
        self.wake = consume wake
    }

    /// A log that a thread of its own writes to `descriptor`, which stays the caller's. End it with `stop`.
    ///
    /// - Parameters:
    ///   - descriptor: where lines go; 2 is standard error.
    ///   - milliseconds: the wall clock, in milliseconds since 1970 in UTC.
    /// - Throws: `SystemError` where the system has no descriptor or thread to give.
    public static func start(
        _ options: Options = Options(),
        on descriptor: Int32 = 2,
        milliseconds: @escaping @Sendable () -> Int64
    ) throws(SystemError) -> Log {
        let wake = try WakeUp.open()
        let attention = wake.descriptor
        let log = Log(options, wake: wake, milliseconds: milliseconds)
        let state = LogWriter(log: log, attention: attention, descriptor: descriptor)
        let thread = try Thread.start("log", with: state) { $0.run() }
        log.writer.withLock { $0 = thread }
        return log
    }

    /// The least level that is written; may be changed while the server runs.
    public var level: LogLevel {
        get {
            let rank = leastRank.load(ordering: .relaxed)
            return LogLevel.allCases.first { $0.rank == rank } ?? .error
        }
        set { leastRank.store(newValue.rank, ordering: .relaxed) }
    }

    /// Whether a line of `level` would be written: spares the making of costly fields.
    public func isWriting(_ level: LogLevel) -> Bool {
        level.rank >= leastRank.load(ordering: .relaxed)
    }

    /// Adds one line.
    ///
    /// - Parameters:
    ///   - event: what happened, as a word that can be searched for: `request`, `server_started`.
    ///   - fields: in the order in which they are written; names other than `time`, `level` and `event`, each once.
    public func write(_ level: LogLevel, _ event: StaticString, _ fields: KeyValuePairs<StaticString, LogValue> = [:]) {
        guard isWriting(level) else { return }
        var line = LogLine(format, level, event, milliseconds: milliseconds())
        for (name, value) in fields {
            line.add(name, value)
        }
        append(line.finished(), isUrgent: level >= .warning)
    }

    /// Adds a line for whoever looks for a fault.
    public func debug(_ event: StaticString, _ fields: KeyValuePairs<StaticString, LogValue> = [:]) {
        write(.debug, event, fields)
    }

    /// Adds a line about what the server does.
    public func info(_ event: StaticString, _ fields: KeyValuePairs<StaticString, LogValue> = [:]) {
        write(.info, event, fields)
    }

    /// Adds a line that an operator should look at.
    public func warning(_ event: StaticString, _ fields: KeyValuePairs<StaticString, LogValue> = [:]) {
        write(.warning, event, fields)
    }

    /// Adds a line about a failure.
    public func error(_ event: StaticString, _ fields: KeyValuePairs<StaticString, LogValue> = [:]) {
        write(.error, event, fields)
    }

    /// Lines lost since the start because the buffer was full.
    public var droppedLines: UInt64 {
        buffer.withLock { $0.droppedInAll }
    }

    /// Takes what waits to be written; of use where no thread writes, as in tests.
    public func drain() -> [UInt8] {
        var bytes: [UInt8] = []
        take(into: &bytes, orSleep: false)
        return bytes
    }

    /// Writes what waits and ends the log's thread, once; lines added afterwards are lost.
    ///
    /// Where nobody reads the other end any more it gives up after 2 seconds, so that a stuck pipe cannot keep the
    /// process alive.
    public func stop() {
        guard let thread = writer.withLock({ writer in writer.take() }) else { return }
        isStopping.store(true, ordering: .releasing)
        wake?.signal()
        thread.join()
    }

    private func append(_ line: [UInt8], isUrgent: Bool) {
        let mustWake = buffer.withLock { buffer in
            guard buffer.bytes.count + line.count <= bufferBytes else {
                buffer.dropped += 1
                buffer.droppedInAll += 1
                return false
            }
            buffer.bytes.append(contentsOf: line)
            defer { buffer.isWriterAsleep = false }
            return buffer.isWriterAsleep || isUrgent
        }
        if mustWake {
            wake?.signal()
        }
    }

    /// Exchanges what waits for the empty `bytes`, whose storage is used again; nothing there and `orSleep`: the next
    /// line wakes the writer.
    func take(into bytes: inout [UInt8], orSleep: Bool) {
        let now = milliseconds()
        let format = format
        buffer.withLock { buffer in
            if buffer.dropped > 0 {
                var line = LogLine(format, .warning, "log_lines_dropped", milliseconds: now)
                line.add("count", .integer(buffer.dropped))
                buffer.bytes.append(contentsOf: line.finished())
                buffer.dropped = 0
            }
            buffer.isWriterAsleep = orSleep && buffer.bytes.isEmpty
            swap(&bytes, &buffer.bytes)
        }
    }
}
