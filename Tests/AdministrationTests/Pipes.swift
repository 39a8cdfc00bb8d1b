import Foundation
import Synchronization
import SystemPrimitives

/// What the system says of a pipe nobody reads.
enum BrokenPipe {
    static var error: SystemError { SystemError("write", code: EPIPE) }
}

/// A text that closures of several threads may add to.
final class Mutexed: Sendable {
    private let bytes: Mutex<[UInt8]>

    init(_ text: String) { bytes = Mutex(Array(text.utf8)) }

    func append(_ more: [UInt8]) { bytes.withLock { $0 += more } }

    var text: String { String(decoding: bytes.withLock { $0 }, as: UTF8.self) }
}
