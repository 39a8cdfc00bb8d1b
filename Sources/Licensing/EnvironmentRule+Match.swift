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
    /// - Throws: `ValueFault` where a host is no host name with at most one leading `*.`, or a part is empty or long.
    public init(
        checking hosts: [String],
        spki: [String] = [],
        attributes: [String: String] = [:]
    ) throws(ValueFault) {
        guard hosts.count <= 64, spki.count <= 64, attributes.count <= 64 else {
            throw ValueFault("must have at most 64 hosts, keys and attributes each")
        }
        for host in hosts where !Self.isPattern(host) {
            throw ValueFault("must have hosts like www.example.com or *.example.com")
        }
        for key in spki where key.isEmpty || key.utf8.count > 128 {
            throw ValueFault("must have digests of public keys in base64")
        }
        for (name, value) in attributes where name.isEmpty || name.utf8.count > 128 || value.utf8.count > 256 {
            throw ValueFault("must have attribute names of 1 to 128 and values of up to 256 bytes")
        }
        self.init(hosts: hosts.map { $0.lowercased() }, spki: spki, attributes: attributes)
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
        let name = host.hasPrefix("*.") ? host.dropFirst(2) : host[...]
        guard (1...253).contains(name.utf8.count), !name.hasPrefix("."), !name.hasSuffix("."), !name.contains("..")
        else {
            return false
        }
        return name.utf8.allSatisfy { byte in
            // Letters of other scripts come in their ASCII form (RFC 5890), addresses of version 6 with colons.
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): return true
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"),
                UInt8(ascii: "_"):
                return true
            default: return false
            }
        }
    }
}
