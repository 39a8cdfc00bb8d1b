import CountersignWire
import HTTPServer
import StrictJSON

/// The body of a route that does not read it by `AppRequestReader`: administration's.
enum RequestBody {
    /// The JSON object that was sent, and a reader of its members; to be called after the caller was recognized.
    ///
    /// - Throws: `Problem` for another media type, `JSONSyntaxError`, `InvalidMembers` for JSON that is no object.
    static func members(of request: HTTPRequest) throws -> (document: JSONDocument, reader: MemberReader) {
        try MediaType.check(request)
        let document = try JSONDocument(parsing: request.bodyBytes())
        return (document, try MemberReader(document.root))
    }
}
