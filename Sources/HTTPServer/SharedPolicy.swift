import Synchronization
import SystemPrimitives

/// The policy for other origins, as all loops hold to it; may be replaced while they run.
final class SharedPolicy: Sendable {
    private struct Versioned {
        var value: CORSPolicy?
        var number: Int
    }

    private let state: Guarded<Versioned>
    private let latest = Atomic<Int>(0)

    init(_ policy: CORSPolicy?) { state = Guarded(Versioned(value: policy, number: 0)) }

    /// Counts the replacements: a loop looks at it each time it wakes up.
    var number: Int { latest.load(ordering: .acquiring) }

    /// The policy with its number.
    var current: (value: CORSPolicy?, number: Int) { state.withLock { ($0.value, $0.number) } }

    func replace(by policy: CORSPolicy?) {
        let number = state.withLock { state in
            state.value = policy
            state.number += 1
            return state.number
        }
        latest.store(number, ordering: .releasing)
    }
}
