internal import SystemPrimitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A response as it came.
package struct RawResponse: Equatable, Sendable {
    package let status: Int
    /// Status line and fields, with the empty line.
    package let head: String
    package let body: String

    /// Names as they were written, and values, in order.
    package var fields: [(name: String, value: String)] {
        head.split(separator: "\r\n").dropFirst().compactMap { line in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            return (String(line[..<colon]), String(line[colon...].dropFirst().drop { $0 == " " }))
        }
    }
}

/// A blocking client's connection to a port of the loopback address, open until it is let go.
///
/// Its calls go on after a pause of the machine or of the process: Linux ends a `recv` that has a time limit with `EINTR`
/// then, signal(7), which is nothing the server did.
package final class TestConnection {
    private let descriptor: Descriptor
    private var received: [UInt8] = []
    /// Whether the server's end of it was a reset.
    package private(set) var wasReset = false

    /// Throws `SystemError` where nobody listens on `port`. `receiveBuffer` is in bytes, for a client that takes little.
    package init(
        _ host: (UInt8, UInt8, UInt8, UInt8) = (127, 0, 0, 1),
        port: UInt16,
        receiveBuffer: Int32? = nil
    ) throws {
        // Kept from processes that other tests start: one that had it, too, would keep the connection open.
        let number = socket(AF_INET, TestConnection.streamThatIsKept, 0)
        guard number >= 0 else { throw SystemError.last("socket") }
        descriptor = Descriptor(taking: number)
        if var receiveBuffer {
            setsockopt(number, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<Int32>.size))
        }
        // Only so that what hangs ends.
        var limit = timeval(tv_sec: 300, tv_usec: 0)
        setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        withUnsafeMutableBytes(of: &address.sin_addr) { $0.copyBytes(from: [host.0, host.1, host.2, host.3]) }
        let code = withUnsafeBytes(of: address) {
            connect(
                number,
                $0.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                socklen_t(MemoryLayout<sockaddr_in>.size)
            )
        }
        // No time limit is set for sending, so that a connect goes on by itself after a pause.
        guard code == 0 else { throw SystemError.last("connect") }
    }

    #if canImport(Glibc)
        private static let streamThatIsKept = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    #elseif canImport(Musl)
        private static let streamThatIsKept = SOCK_STREAM | SOCK_CLOEXEC
    #else
        private static let streamThatIsKept = SOCK_STREAM
    #endif

    package func send(_ text: String) throws {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                sendBytes(descriptor.number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw SystemError.last("send") }
            rest = rest.dropFirst(count)
        }
    }

    /// Returns when all that was sent is where the server's next look finds it, accepted or not: to have sent something
    /// says only that it is under way.
    package func awaitDelivery() throws {
        var unacknowledged: Int32 = 0
        repeat {
            // SIOCOUTQ of tcp(7), which has the same number.
            guard ioctl(descriptor.number, UInt(TIOCOUTQ), &unacknowledged) == 0 else {
                throw SystemError.last("ioctl")
            }
            if unacknowledged > 0 { sched_yield() }
        } while unacknowledged > 0
    }

    /// Sends the end; what the server still says can be received.
    package func finishSending() {
        shutdown(descriptor.number, Int32(SHUT_WR))
    }

    /// The next response, 100 Continue among them; `nil` where the connection ended instead. Of a response to HEAD nothing
    /// follows, whatever its length says: `hasBody` is false for it.
    package func receive(hasBody: Bool = true) throws -> RawResponse? {
        while true {
            if let end = headEnd() {
                let head = String(decoding: received[..<end], as: UTF8.self)
                let length = hasBody ? TestConnection.contentLength(head) : 0
                while received.count < end + length {
                    guard try fill() else { return nil }
                }
                let body = String(decoding: received[end..<end + length], as: UTF8.self)
                received.removeFirst(end + length)
                return RawResponse(status: Int(head.dropFirst(9).prefix(3)) ?? 0, head: head, body: body)
            }
            guard try fill() else { return nil }
        }
    }

    /// Whether nothing comes, not even the end, for so long.
    package func isSilent(milliseconds: Int32) throws -> Bool {
        var poll = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
        var count: Int32 = -1
        repeat { count = pollOne(&poll, milliseconds) } while count < 0 && errno == EINTR
        guard count >= 0 else { throw SystemError.last("poll") }
        return count == 0 && received.isEmpty
    }

    /// Whether the server ends the connection without another byte; waits for it.
    package func isClosed() throws -> Bool {
        if !received.isEmpty { return false }
        return try !fill()
    }

    /// False at the end of the connection.
    private func fill() throws -> Bool {
        var piece = [UInt8](repeating: 0, count: 65_536)
        var count = 0
        repeat {
            count = piece.withUnsafeMutableBytes { recv(descriptor.number, $0.baseAddress, $0.count, 0) }
        } while count < 0 && errno == EINTR
        wasReset = count < 0 && errno == ECONNRESET
        if count < 0 && !wasReset { throw SystemError.last("recv") }
        guard count > 0 else { return false }
        received += piece[..<count]
        return true
    }

    /// Behind the empty line.
    private func headEnd() -> Int? {
        let separator = Array("\r\n\r\n".utf8)
        guard received.count >= 4 else { return nil }
        return (0...received.count - 4).first { received[$0..<$0 + 4].elementsEqual(separator) }.map { $0 + 4 }
    }

    private static func contentLength(_ head: String) -> Int {
        let prefix = "Content-Length: "
        let line = head.split(separator: "\r\n").first { $0.hasPrefix(prefix) }
        return line.flatMap { Int($0.dropFirst(prefix.count)) } ?? 0
    }
}

/// send(2), under a name that no method hides.
private func sendBytes(_ number: Int32, _ bytes: UnsafeRawPointer?, _ count: Int, _ flags: Int32) -> Int {
    send(number, bytes, count, flags)
}

/// poll(2), likewise.
private func pollOne(_ descriptor: inout pollfd, _ milliseconds: Int32) -> Int32 {
    poll(&descriptor, 1, milliseconds)
}
