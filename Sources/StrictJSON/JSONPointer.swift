/// The way to one value inside a document (RFC 6901), such as `/meters/0/amount`; the empty one is the whole.
public struct JSONPointer: Hashable, Sendable, CustomStringConvertible {
    /// The pointer as text: each step after a `/`, with `~` written `~0` and `/` written `~1`.
    public private(set) var description: String

    /// The pointer to the whole document.
    public static let root = JSONPointer(description: "")

    private init(description: String) { self.description = description }

    /// The pointer to one member of the document's object.
    public init(_ name: String) { self = Self.root.appending(name) }

    /// This pointer and one more step, to the member `name` of the object it points to.
    public func appending(_ name: String) -> JSONPointer {
        var text = description
        text.append("/")
        for scalar in name.unicodeScalars {
            switch scalar {
            case "~": text.append("~0")
            case "/": text.append("~1")
            default: text.unicodeScalars.append(scalar)
            }
        }
        return JSONPointer(description: text)
    }

    /// This pointer and one more step, to the element at `index` (from 0) of the array it points to.
    public func appending(_ index: Int) -> JSONPointer { JSONPointer(description: "\(description)/\(index)") }
}
