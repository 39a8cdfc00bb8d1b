/// A request method (RFC 9110 §9.1); names are case-sensitive.
///
/// A method nobody here knows is `unknown`, whatever its name: what a stranger typed goes into no log and no label.
public enum HTTPMethod: String, Sendable, CaseIterable {
    /// Transfer a representation.
    case get = "GET"
    /// As GET, without the content.
    case head = "HEAD"
    /// Process the content.
    case post = "POST"
    /// Replace the target.
    case put = "PUT"
    /// Remove the target.
    case delete = "DELETE"
    /// Change the target in part (RFC 5789).
    case patch = "PATCH"
    /// Describe the communication options.
    case options = "OPTIONS"
    /// Any other token: no route has it.
    case unknown = "UNKNOWN"

    /// The method these bytes name.
    init(_ bytes: UnsafeRawBufferPointer) {
        switch bytes.count {
        case 3 where bytes.equals("GET"): self = .get
        case 3 where bytes.equals("PUT"): self = .put
        case 4 where bytes.equals("POST"): self = .post
        case 4 where bytes.equals("HEAD"): self = .head
        case 5 where bytes.equals("PATCH"): self = .patch
        case 6 where bytes.equals("DELETE"): self = .delete
        case 7 where bytes.equals("OPTIONS"): self = .options
        default: self = .unknown
        }
    }
}
