internal import Licensing
internal import StrictJSON
internal import SystemPrimitives

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// `health`: whether the server of this machine answers, for a container's health check.
enum HealthCommand {
    static let all = [command]

    private static let port = Parameter<Int>.option("port", "N", "where it listens (that of the settings)") {
        (text) throws(ValueFault) in
        guard let number = CommonParameters.integer(text, in: 1...65_535) else {
            throw ValueFault("must be 1 to 65535")
        }
        return Int(number)
    }

    private static let command = Command(
        "health",
        .reads,
        "asks the server of this machine whether it is alive: exit 0 or 1",
        [port.specification],
        example: "health --port 8080"
    ) { call, context in
        let port = UInt16(clamping: try call.value(port) ?? context.settings.port)
        // IPv4 may be off.
        var status: Int?
        var reason = ""
        for isIPv6 in [false, true] {
            do throws(SystemError) {
                status = try ask(port, isIPv6: isIPv6)
                break
            } catch {
                if reason.isEmpty { reason = error.reason }
            }
        }
        guard let status else {
            throw CommandFailure(code: "UNHEALTHY", "nothing answers on port \(port): \(reason)")
        }
        guard status == 200 else {
            throw CommandFailure(code: "UNHEALTHY", "the server on port \(port) answers with status \(status)")
        }
        return Report(text: "ok", isConfirmation: true) { writer in writer.member("status", "ok") }
    }

    /// The status of `GET /health` on loopback; -1 for an answer that is no HTTP.
    private static func ask(_ port: UInt16, isIPv6: Bool) throws(SystemError) -> Int {
        let stream = Int32(SOCK_STREAM.rawValue)
        let number = socket(isIPv6 ? AF_INET6 : AF_INET, stream, 0)
        guard number >= 0 else { throw .last("socket") }
        let connection = Descriptor(taking: number)
        var patience = timeval(tv_sec: 3, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(number, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
        }
        guard connectToLoopback(connection.number, port, isIPv6: isIPv6) == 0 else { throw .last("connect") }
        let request = Array("GET /health HTTP/1.1\r\nHost: localhost:\(port)\r\nConnection: close\r\n\r\n".utf8)
        guard send(connection.number, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
            throw .last("send")
        }
        var answer: [UInt8] = []
        var portion = [UInt8](repeating: 0, count: 256)
        // "HTTP/1.1 200" is enough.
        while answer.count < 12 {
            let count = recv(connection.number, &portion, portion.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .last("receive") }
            guard count > 0 else { return -1 }
            answer += portion[..<count]
        }
        guard answer.starts(with: Array("HTTP/1.".utf8)) else { return -1 }
        return Int(String(decoding: answer[9..<12], as: UTF8.self)) ?? -1
    }

    private static func connectToLoopback(_ number: Int32, _ port: UInt16, isIPv6: Bool) -> Int32 {
        if isIPv6 {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_addr = in6addr_loopback
            return withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(number, $0, socklen_t(MemoryLayout<sockaddr_in6>.size))
                }
            }
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr = in_addr(s_addr: UInt32(0x7F00_0001).bigEndian)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
