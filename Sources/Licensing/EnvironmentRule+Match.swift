/// Where a client runs, as far as it tells.
public struct RunningEnvironment: Hashable, Sendable {
    /// The host it talks to or runs on.
    public var host: String?
    /// Digests of the public keys (SPKI) it sees, base64.
    public var spki: Set<String>
    /// What else it knows.
    public var attributes: [String: String]

    /// An environment of these parts.
    public init(host: String? = nil, spki: Set<String> = [], attributes: [String: String] = [:]) {
        self.host = host
        self.spki = spki
        self.attributes = attributes
    }
}

extension EnvironmentRule {
    /// A rule whose parts were checked.
    ///
    /// - Throws: `ValueFault` where a part can never match: a host that is no host name or address with at most one leading
    ///   `*.`, a key that is no SHA-256 in base64, an attribute without a name; or where a part is long.
    public init(
        checking hosts: [String],
        spki: [String] = [],
        attributes: [String: String] = [:]
    ) throws(ValueFault) {
        guard hosts.count <= 64, spki.count <= 64, attributes.count <= 64 else {
            throw ValueFault("must have at most 64 hosts, keys and attributes each")
        }
        for host in hosts where !Self.isPattern(host) {
            throw ValueFault(
                "must have hosts like www.example.com or *.example.com: names alone, without scheme, port or path"
            )
        }
        for key in spki where !Self.isDigest(key) {
            throw ValueFault("must have SHA-256 digests of public keys (SPKI), 44 characters of base64 each")
        }
        for (name, value) in attributes where name.isEmpty || name.utf8.count > 128 || value.utf8.count > 256 {
            throw ValueFault("must have attribute names of 1 to 128 and values of up to 256 bytes")
        }
        self.init(hosts: hosts, spki: spki, attributes: attributes)
    }

    /// Whether the rule lets a grant count in `environment`: each part that says something must hold.
    ///
    /// `*.example.com` is every host below `example.com`, not that host itself. Case and a final dot of a host do not
    /// count. Without an environment only an empty rule holds.
    public func allows(_ environment: RunningEnvironment?) -> Bool {
        guard !isEmpty else { return true }
        guard let environment else { return false }
        if !hosts.isEmpty {
            guard let host = environment.host.map(Self.folded), hosts.contains(where: { Self.matches(host, $0) }) else {
                return false
            }
        }
        if !spki.isEmpty && environment.spki.isDisjoint(with: spki) { return false }
        return attributes.allSatisfy { environment.attributes[$0.key] == $0.value }
    }

    /// Whether it allows every environment that `other` allows. Where the two rules cannot be compared for sure it does not.
    public func allowsAll(of other: EnvironmentRule) -> Bool {
        if !hosts.isEmpty {
            // A pattern is below a wider one as a host is: *.shop.example.com below *.example.com.
            let areIn = other.hosts.map(Self.folded).allSatisfy { host in hosts.contains { Self.matches(host, $0) } }
            guard !other.hosts.isEmpty, areIn else { return false }
        }
        if !spki.isEmpty, other.spki.isEmpty || !Set(other.spki).isSubset(of: spki) { return false }
        return attributes.allSatisfy { other.attributes[$0.key] == $0.value }
    }

    private static func folded(_ host: String) -> String {
        let host = host.lowercased()
        return host.hasSuffix(".") ? String(host.dropLast()) : host
    }

    private static func matches(_ host: String, _ pattern: String) -> Bool {
        let pattern = folded(pattern)
        guard pattern.hasPrefix("*.") else { return host == pattern }
        let suffix = pattern.dropFirst()
        return host.utf8.count > suffix.utf8.count && host.hasSuffix(suffix) && !host.hasPrefix(".")
    }

    private static func isPattern(_ host: String) -> Bool {
        let name = folded(host.hasPrefix("*.") ? String(host.dropFirst(2)) : host)
        guard (1...253).contains(name.utf8.count) else { return false }
        if name.utf8.contains(UInt8(ascii: ":")) { return !host.hasPrefix("*") && isAddress(name) }
        // Names of other scripts come in their ASCII form (RFC 5890). An underscore is in no name of a host, but in
        // names that people give to machines.
        return name.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
            (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
                && label.utf8.allSatisfy { byte in
                    switch byte {
                    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                        UInt8(ascii: "-"), UInt8(ascii: "_"):
                        true
                    default: false
                    }
                }
        }
    }

    /// Whether a text may be an address of version 6, folded to lower case: two colons at least, and what stands between.
    private static func isAddress(_ name: String) -> Bool {
        name.utf8.count(where: { $0 == UInt8(ascii: ":") }) >= 2
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: ":"),
                    UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }

    /// Whether a text is 32 bytes in base64: 43 characters, of which the last has four bits only, and the padding.
    private static func isDigest(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard bytes.count == 44, bytes[43] == UInt8(ascii: "=") else { return false }
        let isBase64 = bytes[..<43].allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
                true
            default: false
            }
        }
        return isBase64 && "AEIMQUYcgkosw048".utf8.contains(bytes[42])
    }
}
