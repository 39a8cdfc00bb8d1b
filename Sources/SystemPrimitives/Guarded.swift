import CSystem
import Synchronization

/// A value that only one thread at a time may touch.
///
/// A `Mutex` in a class, so that it can be shared, which also tells ThreadSanitizer about the lock: the slow path of
/// Swift's `Mutex` lives in a library it does not see, and every contended use would be reported as a race.
public final class Guarded<Value: ~Copyable>: Sendable {
    private let mutex: Mutex<Value>

    /// Guards `value`, which nobody else may hold from here on.
    public init(_ value: consuming sending Value) {
        mutex = Mutex(value)
    }

    /// Runs `body` while no other thread does; keep it short, and never call anything that takes the same lock.
    ///
    /// - Throws: what `body` throws.
    public func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try mutex.withLock { (value: inout sending Value) throws(Failure) -> sending Result in
            let name = UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
            cs_lock_acquired(name)
            defer { cs_lock_releasing(name) }
            return try body(&value)
        }
    }
}
