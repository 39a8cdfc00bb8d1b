public import StrictJSON

/// One member of a request that is missing or not allowed, as it stands in `errors` of a `VALIDATION` problem.
public struct InvalidMember: Error, Hashable, Sendable {
    /// RFC 6901 pointer to the member; empty for the whole document.
    public let pointer: JSONPointer
    /// What is wrong with it, for people; never the value itself, which may be a secret.
    public let detail: String

    /// Names the member at `pointer`.
    public init(_ pointer: JSONPointer, _ detail: String) {
        self.pointer = pointer
        self.detail = detail
    }
}

/// Every invalid member that a request was found to have; thrown once the whole request was read.
public struct InvalidMembers: Error, Hashable, Sendable {
    /// At least one, of each place the first that was found.
    public let members: [InvalidMember]

    /// Wraps what was found; a caller that found nothing must not throw.
    public init(_ members: [InvalidMember]) {
        precondition(!members.isEmpty, "a request without an invalid member is valid")
        var places: Set<JSONPointer> = []
        self.members = members.filter { places.insert($0.pointer).inserted }
    }

    /// The common case of one.
    public init(_ pointer: JSONPointer, _ detail: String) { self.init([InvalidMember(pointer, detail)]) }
}
