public import SystemPrimitives

/// An accepted socket on its way to the loop that will own it.
struct NewConnection: Sendable {
    let descriptor: Int32
    let peer: PeerAddress
    let isCounted: Bool
    /// How many loops had no room for it.
    var refusals = 0
}

/// How other threads reach an event loop: answers of jobs, sockets, and the wish to stop.
public final class Mailbox<Context: ~Copyable>: Sendable {
    private struct Contents: Sendable {
        var answers: [Answer<Context>] = []
        var connections: [NewConnection] = []
        /// The loop is to end.
        var isStopping = false
        /// Nobody takes sockets any more.
        var hasEnded = false
    }

    private let contents = Guarded(Contents())
    private let wake: WakeUp

    private init(wake: consuming WakeUp) {
        self.wake = wake
    }

    /// Mailboxes for `loops` loops, in the order of their tickets' `loop`.
    ///
    /// - Throws: `SystemError` where the process is out of descriptors.
    public static func make(loops: Int) throws(SystemError) -> [Mailbox] {
        precondition(loops > 0, "a server has at least one loop")
        var mailboxes: [Mailbox] = []
        for _ in 0..<loops {
            mailboxes.append(Mailbox(wake: try WakeUp.open()))
        }
        return mailboxes
    }

    /// Hands over answers and empties the array; from any thread, one lock and one wake-up for the whole batch.
    public func post(_ answers: inout [Answer<Context>]) {
        if answers.isEmpty { return }
        let batch = answers
        answers.removeAll(keepingCapacity: true)
        let wasEmpty = contents.withLock { contents in
            let wasEmpty = contents.answers.isEmpty && contents.connections.isEmpty
            contents.answers.append(contentsOf: batch)
            return wasEmpty
        }
        if wasEmpty { wake.signal() }
    }

    /// Hands over sockets and empties the array; leaves them there where the loop has ended.
    func post(_ connections: inout [NewConnection]) {
        if connections.isEmpty { return }
        let batch = connections
        let isTaken = contents.withLock { contents in
            if !contents.hasEnded { contents.connections.append(contentsOf: batch) }
            return !contents.hasEnded
        }
        guard isTaken else { return }
        connections.removeAll(keepingCapacity: true)
        wake.signal()
    }

    /// What to watch; readable when there is something to take.
    var descriptor: Int32 { wake.descriptor }

    /// Takes everything that waits, into arrays that must be empty: their storage is swapped in. Says whether the loop was
    /// asked to end; what was posted before that is among what was taken.
    ///
    /// The wake-up is cleared first: what comes after that, mail or the wish to end, wakes the loop again.
    func take(_ answers: inout [Answer<Context>], _ connections: inout [NewConnection]) -> Bool {
        wake.clear()
        return contents.withLock { contents in
            swap(&answers, &contents.answers)
            swap(&connections, &contents.connections)
            return contents.isStopping
        }
    }

    /// Asks the loop to end.
    func stop() {
        contents.withLock { $0.isStopping = true }
        wake.signal()
    }

    /// The loop ends, and takes no more sockets; false where some came meanwhile, which it is to take before.
    func end() -> Bool {
        contents.withLock { contents in
            contents.hasEnded = contents.connections.isEmpty
            return contents.hasEnded
        }
    }
}
