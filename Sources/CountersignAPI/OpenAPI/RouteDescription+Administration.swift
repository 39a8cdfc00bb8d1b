import CountersignWire
import Licensing

// What the routes of administration take and answer.

extension RouteDescription {
    private static let license = RouteParameter.path(
        "license",
        .someString.examples("lic_01J9Z3K4M5N6P7Q8R9S0T1V2W3"),
        "A license's id, or the id of its order."
    )

    private static let product = RouteParameter.query(
        "product",
        .productName,
        "Look in one product alone. Another than the credential's is 403."
    )

    static let issueLicenses = RouteDescription(
        tag: .administration,
        body: .issueRequest,
        example: ["product": "acme/editor", "plan": "pro", "order_id": "4711", "customer_email": "ada@example.com"],
        answer: .licensesAnswer,
        outcome: "The licenses, each with its key where it was made now or the product keeps keys.",
        refusals: [.productNotFound, .planNotFound, .orderIDConflict, .idempotencyConflict],
        isRepeatable: true
    )

    static let listLicenses = RouteDescription(
        tag: .administration,
        parameters: [
            product,
            .query("plan", .code, "Those under plans of this code."),
            .query("customer_email", .emailAddress, "Those of this customer."),
            .query("order_id", .someString, "Those issued for this order."),
            .query("cursor", .identifier(of: License.self), "`next` of the page before."),
            .query("limit", .integer(1...1000), "The most on a page; 100 where it is left out."),
        ],
        answer: .licensePage,
        outcome: "A page, oldest first, without keys.",
        refusals: [.validation, .productNotFound]
    )

    static let showLicense = RouteDescription(
        tag: .administration,
        parameters: [license, product],
        answer: .licenseAnswer,
        outcome: "The license, with its seats.",
        refusals: [.validation, .licenseNotFound, .productNotFound, .ambiguous]
    )

    private static func change(
        _ body: SchemaComponent,
        _ example: DocumentValue,
        answer: SchemaComponent = .licenseAnswer,
        refusals: [ProblemCode] = [],
        conflicts: [ProblemCode] = []
    ) -> RouteDescription {
        RouteDescription(
            tag: .administration,
            parameters: [license],
            body: body,
            example: example,
            answer: answer,
            outcome: "The license as it is now.",
            refusals: [.licenseNotFound, .productNotFound, .ambiguous, .idempotencyConflict] + refusals,
            conflicts: conflicts,
            isRepeatable: true
        )
    }

    static let suspendLicense = change(
        .suspendRequest,
        ["reason": "payment disputed"],
        conflicts: [.licenseRevoked]
    )
    static let reinstateLicense = change(
        .reinstateRequest,
        ["reason": "payment received"],
        conflicts: [.licenseRevoked]
    )
    static let revokeLicense = change(.revokeRequest, ["reason": "refunded"])
    static let renewLicense = change(.renewRequest, ["duration": "P1Y"], refusals: [.notRenewable])
    static let reissueLicense = change(.reissueRequest, ["reason": "key leaked", "revoke_seats": true])
    static let releaseSeat = change(
        .releaseSeatRequest,
        ["activation": "act_01J9Z3K4M5N6P7Q8R9S0T1V2W3"],
        answer: .releaseSeatAnswer,
        refusals: [.activationNotFound]
    )
}
