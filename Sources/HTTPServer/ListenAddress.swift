/// Where to listen: an address and a port.
public struct ListenAddress: Hashable, Sendable, CustomStringConvertible {
    enum Host: Hashable, Sendable {
        /// All addresses of both families; of IPv4 alone where the system has no IPv6.
        case any
        /// Both loopback addresses; of IPv4 alone where the system has no IPv6.
        case localhost
        case address(PeerAddress)
    }

    let host: Host
    /// 0 lets the system choose.
    public let port: UInt16

    init(host: Host, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// A port of 127.0.0.1.
    public static func loopback(port: UInt16) -> ListenAddress {
        ListenAddress(host: .address(.loopback), port: port)
    }

    /// A port of 127.0.0.1 and of ::1.
    public static func bothLoopbacks(port: UInt16) -> ListenAddress {
        ListenAddress(host: .localhost, port: port)
    }

    /// Reads `127.0.0.1:8080`, `[::1]:8080`, `*:8080` (both families), `localhost:8080` (both loopback addresses).
    ///
    /// `0.0.0.0` and `[::]` mean that family alone. `nil` for anything else: other names are not resolved.
    public init?(parsing text: String) {
        guard let colon = text.lastIndex(of: ":") else { return nil }
        let digits = text[text.index(after: colon)...]
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(digits) else {
            return nil
        }
        let name = String(text[..<colon])
        switch name {
        case "*": self.init(host: .any, port: port)
        case "localhost": self.init(host: .localhost, port: port)
        default:
            // Without brackets `::1:80` would be ambiguous.
            guard name.hasPrefix("[") || !name.contains(":"), let address = PeerAddress(parsing: name) else {
                return nil
            }
            self.init(host: .address(address), port: port)
        }
    }

    /// As `init(parsing:)` reads it.
    public var description: String {
        switch host {
        case .any: "*:\(port)"
        case .localhost: "localhost:\(port)"
        case .address(let address): address.isIPv4 ? "\(address):\(port)" : "[\(address)]:\(port)"
        }
    }
}

/// Why a server does not listen.
public struct ListenError: Error, CustomStringConvertible {
    /// The address as configured.
    public let address: ListenAddress
    /// The system's words: `Address already in use`, `Permission denied`.
    public let reason: String

    /// Both, on one line.
    public var description: String { "cannot listen on \(address): \(reason)" }
}
