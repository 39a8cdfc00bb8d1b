internal import COpenSSL
internal import COpenSSLMemory

/// What can go wrong between this target and OpenSSL; never carries key material.
public enum CryptographyError: Error, Hashable, Sendable {
    /// Key bytes that are not exactly one DER structure of the wanted kind, or have something behind it.
    case malformedKey
    /// A key of another algorithm, on another curve, or not in the one encoding taken.
    case unsupportedKey
    /// A private key that does not belong to the public key stored with it.
    case mismatchedKey
    /// A sealed value that was changed, cut, or sealed under another key or other associated data.
    case authenticationFailed
    /// OpenSSL could not do what should have worked: no memory, no randomness, no such algorithm. Says nothing of what it
    /// was to look at.
    case library(operation: String, reason: String)
}

extension CryptographyError {
    /// Whether nothing was found out: the same may be answered otherwise a moment later.
    public var isTrouble: Bool {
        if case .library = self { return true }
        return false
    }

    /// The failure of `operation`, with OpenSSL's first words about it; empties this thread's error queue.
    static func library(_ operation: String) -> CryptographyError {
        let code = ERR_get_error()
        ERR_clear_error()
        let reason = code == 0 ? nil : ERR_reason_error_string(code)
        return .library(operation: operation, reason: reason.map { String(cString: $0) } ?? "no reason given")
    }
}

/// Tells OpenSSL's "this is bad" apart from its "I could not look": to be made before it is asked, asked afterwards.
///
/// Many a lack of memory looks like bad input in every way but one: see `COpenSSLMemory`. So no answer counts, a good one
/// neither, during which memory was lacking. Where nobody watches memory (``OpenSSLMemory/watch()``), what OpenSSL itself
/// tells of it has to do.
struct TroubleWatch {
    private let operation: String
    private let failed = cs_failed_allocations()

    init(_ operation: String) {
        self.operation = operation
        // What somebody else left there says nothing of what comes now.
        ERR_clear_error()
    }

    /// What kept OpenSSL from finding an answer, nil where its answer counts; empties this thread's error queue.
    func trouble() -> CryptographyError? {
        defer { ERR_clear_error() }
        if cs_failed_allocations() != failed { return .library(operation: operation, reason: "no memory") }
        while case let code = ERR_get_error(), code != 0 {
            if cs_is_trouble(code) != 0 {
                let reason = ERR_reason_error_string(code).map { String(cString: $0) }
                return .library(operation: operation, reason: reason ?? "no reason given")
            }
        }
        return nil
    }
}

extension CryptographyError {
    /// What `work` gives or throws, where OpenSSL could do all that it set out to do.
    ///
    /// - Throws: ``library(operation:reason:)`` where it could not, whatever came of it.
    static func unlessTroubled<Value: ~Copyable>(
        _ operation: String,
        _ work: () throws(CryptographyError) -> Value
    ) throws(CryptographyError) -> Value {
        let watch = TroubleWatch(operation)
        let value: Value
        do throws(CryptographyError) {
            value = try work()
        } catch {
            throw watch.trouble() ?? error
        }
        if let trouble = watch.trouble() { throw trouble }
        return value
    }
}

/// The memory that OpenSSL works with.
public enum OpenSSLMemory {
    /// Has every lack of memory be known, so that none reads as bad input: for the owner of the process, before OpenSSL is
    /// used for the first time.
    ///
    /// - Returns: whether it was in time.
    @discardableResult
    public static func watch() -> Bool { cs_watch_memory() == 1 }
}

extension CryptographyError: CustomStringConvertible {
    /// One line for a log.
    public var description: String {
        switch self {
        case .malformedKey: "the key is not one whole DER structure"
        case .unsupportedKey: "the key is not of the supported kind and encoding"
        case .mismatchedKey: "the private key does not belong to its public key"
        case .authenticationFailed: "the sealed value does not open with this key and place"
        case .library(let operation, let reason): "OpenSSL could not \(operation): \(reason)"
        }
    }
}
