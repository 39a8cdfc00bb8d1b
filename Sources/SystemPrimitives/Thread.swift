import CSystem
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A thread of our own, for work that blocks or runs for the life of the process: neither belongs on Swift's
/// cooperative pool, which has one thread a core.
public final class Thread: Sendable {
    /// What the new thread runs; crosses over as a raw pointer.
    private final class Box {
        let body: () -> Void

        init(_ body: @escaping () -> Void) {
            self.body = body
        }
    }

    private let id: pthread_t
    private let isJoined = Atomic<Bool>(false)

    private init(_ id: pthread_t) {
        self.id = id
    }

    /// Starts a thread that owns `state` and runs `body` once with it.
    ///
    /// State is built on the caller's thread, where an error can still be reported, and moves in: `sending` proves that
    /// the caller keeps no way to reach it. The thread must be joined or run as long as the process.
    ///
    /// - Parameter name: shown by `top -H`; the first 15 bytes count.
    /// - Throws: `SystemError` where the system has no thread to give.
    public static func start<State: ~Copyable>(
        _ name: StaticString,
        with state: consuming sending State,
        _ body: sending @escaping (inout State) -> Void
    ) throws(SystemError) -> Thread {
        // An Optional may be taken out of a capture; a plain noncopyable value may not be consumed there.
        var slot: State? = state
        let box = Box {
            cs_name_thread(UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self))
            if var state = slot.take() {
                body(&state)
            }
        }
        // The raw pointer hides the box from the checker: retained once here, consumed once there.
        let retained = Unmanaged.passRetained(box)
        var id = pthread_t()
        let code = pthread_create(
            &id,
            nil,
            { raw in
                if let raw {
                    Unmanaged<Box>.fromOpaque(raw).takeRetainedValue().body()
                }
                return nil
            },
            retained.toOpaque()
        )
        guard code == 0 else {
            retained.release()
            throw SystemError("pthread_create", code: code)
        }
        return Thread(id)
    }

    /// Waits for the thread's body to return. Not from the thread itself, and only once.
    public func join() {
        let wasJoined = isJoined.exchange(true, ordering: .relaxed)
        precondition(!wasJoined, "a thread can be joined once")
        pthread_join(id, nil)
    }
}
