import CSystem
import SystemPrimitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A listening socket, open as long as somebody holds it.
final class Listener: Sendable {
    private let descriptor: Descriptor
    /// Where it listens, with the port the system chose.
    let address: ListenAddress

    /// How many may wait to be accepted; the system may allow fewer.
    static let backlog = 4096

    private init(_ descriptor: consuming Descriptor, _ address: ListenAddress) {
        self.descriptor = descriptor
        self.address = address
    }

    var number: Int32 { descriptor.number }

    /// Opens what `address` names: one socket, or two for `localhost`.
    static func open(_ address: ListenAddress) throws(ListenError) -> [Listener] {
        switch address.host {
        case .address(let host):
            return [try open(host, address.port, as: address, isDual: false)]
        case .any:
            do throws(SystemError) {
                return [try bound(PeerAddress(high: 0, low: 0), address.port, isDual: true)]
            } catch {
                // IPv6 is compiled out, or switched off for all interfaces.
                guard error.code == EAFNOSUPPORT || error.code == EADDRNOTAVAIL else {
                    throw ListenError(address: address, reason: error.reason)
                }
                return [try open(PeerAddress(high: 0, low: 0xFFFF_0000_0000), address.port, as: address, isDual: false)]
            }
        case .localhost:
            let first = try open(.loopback, address.port, as: address, isDual: false)
            do throws(SystemError) {
                return [first, try bound(PeerAddress(high: 0, low: 1), first.address.port, isDual: false)]
            } catch {
                guard error.code == EAFNOSUPPORT || error.code == EADDRNOTAVAIL else {
                    throw ListenError(address: address, reason: error.reason)
                }
                return [first]
            }
        }
    }

    private static func open(
        _ host: PeerAddress,
        _ port: UInt16,
        as address: ListenAddress,
        isDual: Bool
    ) throws(ListenError) -> Listener {
        do throws(SystemError) {
            return try bound(host, port, isDual: isDual)
        } catch {
            throw ListenError(address: address, reason: error.reason)
        }
    }

    private static func bound(_ host: PeerAddress, _ port: UInt16, isDual: Bool) throws(SystemError) -> Listener {
        let family = host.isIPv4 ? AF_INET : AF_INET6
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let number = socket(family, type, 0)
        guard number >= 0 else { throw .last("socket") }
        let descriptor = Descriptor(taking: number)
        // A restart must not wait for the last run's connections to leave TIME_WAIT.
        setOption(number, SOL_SOCKET, SO_REUSEADDR, 1)
        if family == AF_INET6 { setOption(number, Int32(IPPROTO_IPV6), IPV6_V6ONLY, isDual ? 0 : 1) }
        let code = SocketAddress(host, port).withPointer { bind(number, $0, $1) }
        guard code == 0 else { throw .last("bind") }
        guard listen(number, Int32(Listener.backlog)) == 0 else { throw .last("listen") }
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let named = withUnsafeMutableBytes(of: &storage) { bytes -> Int32 in
            getsockname(number, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
        }
        guard named == 0 else { throw .last("getsockname") }
        let actual = SocketAddress.port(of: storage)
        return Listener(descriptor, ListenAddress(host: isDual ? .any : .address(host), port: actual))
    }
}

func setOption(_ socket: Int32, _ level: Int32, _ name: Int32, _ value: Int32) {
    var value = value
    _ = setsockopt(socket, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
}

/// The C form of an address and a port.
struct SocketAddress {
    private var storage = sockaddr_storage()
    private var length: socklen_t

    init(_ host: PeerAddress, _ port: UInt16) {
        if host.isIPv4 {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(truncatingIfNeeded: host.low).bigEndian
            length = socklen_t(MemoryLayout<sockaddr_in>.size)
            withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: address, as: sockaddr_in.self) }
        } else {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            withUnsafeMutableBytes(of: &address.sin6_addr) { bytes in
                bytes.storeBytes(of: host.high.bigEndian, toByteOffset: 0, as: UInt64.self)
                bytes.storeBytes(of: host.low.bigEndian, toByteOffset: 8, as: UInt64.self)
            }
            length = socklen_t(MemoryLayout<sockaddr_in6>.size)
            withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: address, as: sockaddr_in6.self) }
        }
    }

    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>?, socklen_t) -> Result) -> Result {
        withUnsafeBytes(of: storage) { body($0.baseAddress?.assumingMemoryBound(to: sockaddr.self), length) }
    }

    static func port(of storage: sockaddr_storage) -> UInt16 {
        withUnsafeBytes(of: storage) { bytes in
            if storage.ss_family == sa_family_t(AF_INET) {
                return UInt16(bigEndian: bytes.load(as: sockaddr_in.self).sin_port)
            }
            return UInt16(bigEndian: bytes.load(as: sockaddr_in6.self).sin6_port)
        }
    }

    static func peer(of storage: sockaddr_storage) -> PeerAddress {
        withUnsafeBytes(of: storage) { bytes in
            if storage.ss_family == sa_family_t(AF_INET) {
                return PeerAddress(bytes.load(as: sockaddr_in.self).sin_addr)
            }
            return PeerAddress(bytes.load(as: sockaddr_in6.self).sin6_addr)
        }
    }
}
