internal import SystemPrimitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Somebody who holds the lock, flock(2), of a file: until it is released, or let go.
///
/// To close the file would not do: a lock belongs to the open file, and a process that another test starts at this moment
/// has it open, too. It is given up by saying so, and no process keeps the file beyond its start.
package final class HeldLock: Sendable {
    private let file: Descriptor

    /// Makes the file where it is missing. Throws `SystemError` where somebody else holds the lock.
    package init(_ path: String) throws {
        let number = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard number >= 0 else { throw SystemError.last("open \(path)") }
        file = Descriptor(taking: number)
        guard flock(number, LOCK_EX | LOCK_NB) == 0 else { throw SystemError.last("flock \(path)") }
    }

    /// Lets go of it; a second time does nothing.
    package func release() { flock(file.number, LOCK_UN) }

    deinit { release() }
}
