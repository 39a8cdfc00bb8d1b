public import Licensing
public import StrictJSON

extension EnvironmentRule {
    /// `{"hosts":[…],"spki":[…],"attributes":{…}}`, members that are empty left out, attributes by name.
    public var json: [UInt8] {
        var writer = JSONWriter(capacity: 128)
        write(to: &writer)
        return writer.finish()
    }

    /// Writes the rule as one value.
    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            if !hosts.isEmpty {
                writer.name("hosts")
                writer.array { writer in for host in hosts { writer.value(host) } }
            }
            if !spki.isEmpty {
                writer.name("spki")
                writer.array { writer in for digest in spki { writer.value(digest) } }
            }
            if !attributes.isEmpty {
                writer.name("attributes")
                writer.object { writer in
                    let names = attributes.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
                    for name in names {
                        writer.name(dynamic: name)
                        writer.value(attributes[name] ?? "")
                    }
                }
            }
        }
    }

    /// Reads a rule that was kept: of the right shape, and perhaps with parts that would be refused now.
    ///
    /// - Throws: `JSONSyntaxError`, or `ValueFault` for JSON of another shape.
    init(kept bytes: [UInt8]) throws {
        try self.init(shapeOf: JSONDocument(parsing: bytes).root)
    }

    /// Reads a rule: an object of `hosts` (host names, one leading `*.` allowed), `spki` (SHA-256 of public keys in base64)
    /// and `attributes` (texts by name). A part that can never match is refused: it would lock everybody out. So is a rule
    /// that says nothing: it would look like a restriction and be none.
    ///
    /// - Throws: `ValueFault`.
    public init(_ value: JSONValue) throws(ValueFault) {
        let read = try EnvironmentRule(shapeOf: value)
        try self.init(checking: read.hosts, spki: read.spki, attributes: read.attributes)
        guard !isEmpty else { throw ValueFault("must name a host, an SPKI digest or an attribute") }
    }

    private init(shapeOf value: JSONValue) throws(ValueFault) {
        guard let members = value.members else { throw ValueFault("must be an object of hosts, spki and attributes") }
        self.init()
        for (name, value) in members {
            switch name {
            case "hosts": hosts = try Self.texts(value, "hosts")
            case "spki": spki = try Self.texts(value, "spki")
            case "attributes":
                guard let pairs = value.members else { throw ValueFault("attributes must be an object of texts") }
                for (name, value) in pairs {
                    guard let text = value.string else { throw ValueFault("attributes must be an object of texts") }
                    attributes[name] = text
                }
            default: throw ValueFault("knows hosts, spki and attributes alone")
            }
        }
    }

    private static func texts(_ value: JSONValue, _ name: String) throws(ValueFault) -> [String] {
        guard let elements = value.elements else { throw ValueFault("\(name) must be an array of texts") }
        var texts: [String] = []
        for element in elements {
            guard let text = element.string, !text.isEmpty else {
                throw ValueFault("\(name) must be an array of texts")
            }
            texts.append(text)
        }
        return texts
    }
}
