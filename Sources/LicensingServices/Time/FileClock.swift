internal import Glibc
public import Licensing

/// The time that stands in a file, as an RFC 3339 instant: for trying ends and boundaries from outside (`--test-clock`).
///
/// Read at every request. An unreadable file is trouble, never the real time.
public struct FileClock: WallClock {
    /// The file's path.
    public let path: String

    /// - Parameter path: The file's path.
    public init(path: String) { self.path = path }

    /// See `WallClock`; nothing is compared with it.
    public func now(after lastCommit: Int64) throws(ClockUnsure) -> Timestamp { try now() }

    /// The instant in the file.
    ///
    /// - Throws: `ClockUnsure` where there is none.
    public func now() throws(ClockUnsure) -> Timestamp {
        guard let text = contents() else { throw ClockUnsure(reason: "the test clock \(path) cannot be read") }
        let trimmed = text.split(whereSeparator: \.isWhitespace).first ?? ""
        do {
            return try Timestamp(trimmed, as: .instant)
        } catch {
            throw ClockUnsure(reason: "the test clock \(path) \(error.reason)")
        }
    }

    private func contents() -> String? {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(file, $0.baseAddress, $0.count) }
        guard count > 0 else { return nil }
        return String(validating: bytes.prefix(count), as: UTF8.self)
    }
}
