#if canImport(Glibc)
    import Glibc
    import Testing

    /// One connection to a port of this machine, kept open until it is let go.
    final class Socket {
        private let number: Int32

        init(port: UInt16) throws {
            // Kept from processes that other tests start: one that had it, too, would keep the connection open.
            number = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            // Only so that a failing test ends.
            var limit = timeval(tv_sec: 60, tv_usec: 0)
            setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
            let code = withUnsafeBytes(of: address) {
                Glibc.connect(
                    number,
                    $0.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                    socklen_t(MemoryLayout<sockaddr_in>.size)
                )
            }
            try #require(code == 0)
        }

        deinit { close(number) }

        /// Asks, and reads one answer, which may be there before the question.
        func get(_ path: String) throws -> (status: Int, head: String) {
            let request = Array("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
            _ = request.withUnsafeBytes { Glibc.send(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            var text = ""
            var rest = 0
            while !text.hasSuffix("\r\n\r\n") {
                var byte: UInt8 = 0
                try #require(recv(number, &byte, 1, 0) == 1)
                text.unicodeScalars.append(Unicode.Scalar(byte))
            }
            for line in text.split(separator: "\r\n") where line.hasPrefix("Content-Length: ") {
                rest = Int(line.dropFirst("Content-Length: ".count)) ?? 0
            }
            var body = [UInt8](repeating: 0, count: rest)
            if rest > 0 { try #require(recv(number, &body, rest, Int32(MSG_WAITALL)) == rest) }
            return (Int(text.dropFirst("HTTP/1.1 ".count).prefix(3)) ?? 0, text)
        }
    }
#endif
