#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A system call that failed.
public struct SystemError: Error, Equatable, CustomStringConvertible {
    /// What was called, and on what, for example `bind 127.0.0.1:8080`.
    public let operation: String
    /// The value of `errno`.
    public let code: Int32

    /// An error from a code that was read before.
    public init(_ operation: String, code: Int32) {
        self.operation = operation
        self.code = code
    }

    /// The error of the call just made on this thread.
    public static func last(_ operation: String) -> SystemError {
        SystemError(operation, code: errno)
    }

    /// The system's words for `code`, for example `Address already in use`.
    public var reason: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            guard let base = buffer.baseAddress, strerror_r(code, base, 256) == 0 else { return "error \(code)" }
            return String(cString: base)
        }
    }

    /// Operation and reason, on one line.
    public var description: String { "\(operation): \(reason)" }
}

extension SystemError {
    /// Whether what was named is not there.
    public var isAbsence: Bool { code == ENOENT }

    /// The code for a name that is taken.
    public static let alreadyThere = EEXIST

    /// Whether a link was found where none is followed.
    public var isLink: Bool { code == ELOOP }

    /// Whether nobody reads any more what was written.
    public var isBrokenPipe: Bool { code == EPIPE }
}
