import HTTPServer
import Licensing

@testable import CountersignAPI

extension TestAPI {
    /// Calls administration, by default with the vendor's secret credential.
    mutating func admin(
        _ method: String,
        _ path: String,
        _ body: String? = nil,
        token: String? = nil,
        key: String? = nil
    ) -> Received {
        let fields = key.map { ["Idempotency-Key: \($0)"] } ?? []
        return send(request(method, path, token: token ?? catalog.secretToken, fields: fields, body: body))
    }

    /// A plan's code, of two seats and without an end.
    func plan(_ product: Product? = nil) throws -> String {
        try sell(product).plan.code.text
    }
}
