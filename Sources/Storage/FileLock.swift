internal import SystemPrimitives

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// An advisory lock on a file of its own (`flock`), which ends with this value, and with the process at the latest.
///
/// `flock` belongs to the open file, not to the process: between its `fork` and its `exec` a child of whatever this is a
/// part of has the file open, too. So a lock is given up by saying so; closing the file alone would leave it to the child.
///
/// Never on the database file itself: closing any descriptor of that file would drop SQLite's own locks on it.
struct FileLock: ~Copyable {
    private let file: Descriptor
    private let path: String

    private init(_ file: consuming Descriptor, _ path: String) {
        self.file = file
        self.path = path
    }

    deinit { release() }

    /// Opens the lock's file, mode 0600, made when it is not there; takes nothing yet.
    ///
    /// - Throws: `access` for a link, for what is no file, and for a file of another user.
    static func open(_ path: String) throws(StorageError) -> FileLock {
        let number = systemOpen(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard number >= 0 else {
            let error = StorageError.system("open \(path)")
            throw error.code == ELOOP ? FileFacts.link(path) : refused(path, error)
        }
        let file = Descriptor(taking: number)
        var facts = stat()
        guard fstat(file.number, &facts) == 0 else { throw .system("stat \(path)") }
        guard UInt32(facts.st_mode) & 0o170000 == 0o100000 else {
            throw StorageError(.access, "\(path) is not a file; fix: remove it")
        }
        guard facts.st_uid == geteuid() else {
            throw refused(path, StorageError(.access, code: EACCES, "\(path) is another user's"))
        }
        return FileLock(file, path)
    }

    /// Whose the file is that this process may not open, and what to do about it.
    private static func refused(_ path: String, _ error: StorageError) -> StorageError {
        guard error.code == EACCES, let facts = try? FileFacts(path) else { return error }
        let own = geteuid()
        return StorageError(
            .access,
            code: EACCES,
            "\(error.message); it belongs to uid \(facts.owner), this process runs as uid \(own); fix: run as uid "
                + "\(facts.owner), or: chown -R \(own) \(Database.parent(of: path))"
        )
    }

    /// Takes the lock at once, or a share of it, or turns the one into the other; false when somebody else has it.
    func tryAcquire(isShared: Bool = false) throws(StorageError) -> Bool {
        while flock(file.number, (isShared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0 {
            switch errno {
            case EINTR: continue
            case EWOULDBLOCK: return false
            default: throw .system("flock \(path)")
            }
        }
        return true
    }

    /// Takes the lock, asking again and again for as long as `wait` says; false when somebody else still has it then.
    ///
    /// - Parameter isGivenUp: asked before each pause, whether to wait is of no use any more: then its time is over.
    func acquire(
        waiting wait: Duration,
        isShared: Bool = false,
        unless isGivenUp: () -> Bool = { false }
    ) throws(StorageError) -> Bool {
        let end = MonotonicClock.nanoseconds() &+ wait.nanoseconds
        return try acquire(until: end, isShared: isShared, unless: isGivenUp)
    }

    /// The same until a moment of the monotonic clock; asks once also where that is over.
    func acquire(
        until end: UInt64,
        isShared: Bool = false,
        unless isGivenUp: () -> Bool = { false }
    ) throws(StorageError) -> Bool {
        var pause: UInt32 = 200
        while try !tryAcquire(isShared: isShared) {
            let now = MonotonicClock.nanoseconds()
            if now >= end || isGivenUp() { return false }
            usleep(min(pause, UInt32(clamping: (end - now) / 1000 + 1)))
            pause = min(pause * 2, 5000)
        }
        return true
    }

    func release() {
        flock(file.number, LOCK_UN)
    }

    /// Whether the path still leads to the file that this is a lock on. Where somebody deleted or replaced it, others lock
    /// another file, and this keeps nobody out.
    var isCurrent: Bool {
        var facts = stat()
        guard fstat(file.number, &facts) == 0, let now = try? FileFacts(path) else { return false }
        return now.identity == [UInt64(facts.st_dev), UInt64(facts.st_ino)]
    }

    /// Writes this process's id into the file, for the message of whoever waits in vain.
    func writeOwner() {
        let line = Array("\(getpid())\n".utf8)
        guard ftruncate(file.number, 0) == 0 else { return }
        _ = pwrite(file.number, line, line.count, 0)
    }

    /// The process id in the file; `nil` when there is none.
    func owner() -> Int32? {
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = pread(file.number, &bytes, bytes.count, 0)
        guard count > 0 else { return nil }
        return Int32(String(decoding: bytes[..<count].prefix { $0 != 10 }, as: UTF8.self))
    }
}

extension Duration {
    /// Whole nanoseconds, 0 for a negative duration.
    var nanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        return UInt64(max(0, seconds)) &* 1_000_000_000 &+ UInt64(max(0, attoseconds / 1_000_000_000))
    }

    /// Whole milliseconds.
    var milliseconds: Int32 { Int32(clamping: nanoseconds / 1_000_000) }
}

extension StorageError {
    /// The system call that has just failed on this thread.
    static func system(_ operation: String) -> StorageError {
        let error = SystemError.last(operation)
        return StorageError(Category(errno: error.code), code: error.code, error.description)
    }
}

extension StorageError.Category {
    init(errno code: Int32) {
        switch code {
        case ENOSPC, EDQUOT, EFBIG: self = .full
        case EACCES, EPERM, EROFS, ENOENT, ENOTDIR, EISDIR, ELOOP: self = .access
        case ENOMEM: self = .noMemory
        default: self = .io
        }
    }
}

/// `open` of the C library under a name that no method hides.
func systemOpen(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 {
    while true {
        let number = open(path, flags, mode)
        if number >= 0 || errno != EINTR { return number }
    }
}
