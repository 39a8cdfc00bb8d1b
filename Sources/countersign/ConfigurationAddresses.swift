import Glibc

/// An IPv4 or IPv6 address, without port and zone.
struct IPAddress: Hashable, Sendable {
    /// 4 or 16 bytes in network order.
    let bytes: [UInt8]

    /// The address of 4 or 16 bytes; an IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2) is the IPv4 address it carries.
    init?(bytes: [UInt8]) {
        switch bytes.count {
        case 4: self.bytes = bytes
        case 16:
            self.bytes = bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255]) ? Array(bytes[12...]) : bytes
        default: return nil
        }
    }

    /// Reads dotted IPv4 or any form of IPv6 (RFC 4291 §2.2); `nil` for names, brackets, zones and ports.
    init?(_ text: String) {
        let isVersion6 = text.utf8.contains(UInt8(ascii: ":"))
        var bytes = [UInt8](repeating: 0, count: isVersion6 ? 16 : 4)
        guard inet_pton(isVersion6 ? AF_INET6 : AF_INET, text, &bytes) == 1 else { return nil }
        self.init(bytes: bytes)
    }

    /// Whether it is IPv6.
    var isVersion6: Bool { bytes.count == 16 }
}

extension IPAddress: CustomStringConvertible {
    var description: String {
        var bytes = bytes
        var text = [CChar](repeating: 0, count: 46)  // INET6_ADDRSTRLEN
        guard inet_ntop(isVersion6 ? AF_INET6 : AF_INET, &bytes, &text, 46) != nil else { return "" }
        return text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
    }
}

/// A block of addresses in CIDR notation, such as `10.0.0.0/8` (RFC 4632 §3.1); a lone address is a block of one.
struct AddressBlock: Hashable, Sendable, CustomStringConvertible {
    let address: IPAddress
    /// How many leading bits count: 0 to 32, or to 128 for IPv6.
    let prefixLength: Int

    /// Reads a block.
    ///
    /// - Throws: `SettingProblem` where it is no block, or has bits set beyond its prefix: who writes `10.1.2.3/8` may
    ///   have meant one machine or sixteen million.
    init(_ text: String) throws(SettingProblem) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = IPAddress(String(parts[0])) else {
            throw SettingProblem("'\(text)' is not an address block such as 10.0.0.0/8 or fd00::/8")
        }
        let longest = address.bytes.count * 8
        guard parts.count == 2 else {
            self.init(address: address, prefixLength: longest)
            return
        }
        guard let length = Digits.value(parts[1]), length <= longest else {
            throw SettingProblem("'\(text)' has a prefix length that is not 0 to \(longest)")
        }
        let network = Self.network(of: address, length)
        guard network == address.bytes else {
            let meant = IPAddress(bytes: network).map(String.init(describing:)) ?? ""
            throw SettingProblem("'\(text)' has bits beyond its prefix; write \(meant)/\(length) or \(address)")
        }
        self.init(address: address, prefixLength: length)
    }

    private init(address: IPAddress, prefixLength: Int) {
        self.address = address
        self.prefixLength = prefixLength
    }

    /// Whether `candidate` lies in this block; never across IPv4 and IPv6.
    func contains(_ candidate: IPAddress) -> Bool {
        candidate.bytes.count == address.bytes.count && Self.network(of: candidate, prefixLength) == address.bytes
    }

    /// The first `length` bits of `address`, followed by zeros.
    private static func network(of address: IPAddress, _ length: Int) -> [UInt8] {
        address.bytes.enumerated().map { index, byte in
            let kept = min(max(length - index * 8, 0), 8)
            return byte & UInt8(truncatingIfNeeded: 0xFF00 >> kept)
        }
    }

    var description: String {
        prefixLength == address.bytes.count * 8 ? "\(address)" : "\(address)/\(prefixLength)"
    }
}

/// Where to listen: `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080` (both loopbacks) or `*:8080` (all addresses).
struct ListenAddress: Hashable, Sendable, CustomStringConvertible {
    enum Host: Hashable, Sendable {
        /// Every address of the machine, IPv4 and IPv6.
        case any
        /// 127.0.0.1 and ::1.
        case localhost
        case address(IPAddress)
    }

    /// One socket to bind.
    struct Endpoint: Hashable, Sendable {
        let address: IPAddress
        let port: UInt16
        /// Whether to go on without it where the machine has no IPv6.
        let isOptional: Bool
    }

    let host: Host
    /// 0: the system chooses.
    let port: UInt16

    init(host: Host, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Reads an address with its port.
    ///
    /// - Throws: `SettingProblem` with the right forms.
    init(_ text: String) throws(SettingProblem) {
        let problem = SettingProblem(
            "'\(text)' is not an address with a port, such as 127.0.0.1:8080, [::1]:8080, localhost:8080 or *:8080"
        )
        guard let colon = text.lastIndex(of: ":"),
            let port = Digits.value(text[text.index(after: colon)...]).flatMap(UInt16.init(exactly:))
        else { throw problem }
        let name = text[..<colon]
        if name.isEmpty || name == "*" {
            self.init(host: .any, port: port)
        } else if name.lowercased() == "localhost" {
            self.init(host: .localhost, port: port)
        } else if name.first == "[" && name.last == "]" {
            guard let address = IPAddress(String(name.dropFirst().dropLast())) else { throw problem }
            self.init(host: .address(address), port: port)
        } else {
            guard let address = IPAddress(String(name)), !address.isVersion6 else { throw problem }
            self.init(host: .address(address), port: port)
        }
    }

    /// The sockets to bind, IPv4 first.
    var endpoints: [Endpoint] {
        let version4: [UInt8]
        var version6 = [UInt8](repeating: 0, count: 16)
        switch host {
        case .address(let address): return [Endpoint(address: address, port: port, isOptional: false)]
        case .any: version4 = [0, 0, 0, 0]
        case .localhost:
            version4 = [127, 0, 0, 1]
            version6[15] = 1
        }
        return [version4, version6].compactMap { bytes in
            IPAddress(bytes: bytes).map { Endpoint(address: $0, port: port, isOptional: $0.isVersion6) }
        }
    }

    var description: String {
        switch host {
        case .any: "*:\(port)"
        case .localhost: "localhost:\(port)"
        case .address(let address): address.isVersion6 ? "[\(address)]:\(port)" : "\(address):\(port)"
        }
    }
}

/// Whole numbers written in ASCII digits alone: no sign, no blanks.
enum Digits {
    /// The number, or `nil` where it is none or passes Int64.
    static func value(_ text: some StringProtocol) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int(text)
    }
}
