import AppStore
import CountersignWire
import Licensing
import LicensingServices

// What stands in several bodies.

extension Schema {
    static let problem = object([
        .required("type", string(pattern: "^urn:countersign:problem:[A-Z0-9_]+$")),
        .required("title", string().described("The same for a code, always.")),
        .required("status", integer(400...599)),
        .required("detail", string().described("What happened this time, for people.")),
        .required("code", words(of: ProblemCode.self).described("What programs decide on.")),
        .required(
            "verdict",
            words([WireVerdict.rejected, .unknown].map(\.rawValue))
                .described("`rejected` with 402 and 410 alone: the server decided no, with proof in hand.")
        ),
        .required("request_id", string(1...128)),
        .optional("errors", list(of: .reference(.invalidMember), atLeast: 1).described("With `VALIDATION`.")),
        .optional("seats", .reference(.seats)),
        .optional("activations", list(of: .reference(.seatRow)).described("Seats that the customer may release.")),
        .optional("purchase", .reference(.purchase)),
        .optional("bundle", .reference(.bundle)),
        .optional("server_time", instant),
    ])
    .described("Problem details, RFC 9457.")
    .examples([
        "type": "urn:countersign:problem:NO_SEATS_AVAILABLE", "title": "No seat is free", "status": 409,
        "detail": "All 3 seats of this license are in use.", "code": "NO_SEATS_AVAILABLE", "verdict": "unknown",
        "request_id": "0123456789abcde", "seats": ["used": 3, "limit": 3], "server_time": "2026-11-30T08:00:00Z",
    ])

    static let invalidMember = object([
        .required("pointer", string().described("RFC 6901 pointer to the member; empty for the whole body.")),
        .required("detail", string()),
    ])

    static let device = object([
        .free("name", string()), .free("platform", string()), .free("app_version", string()),
        .free("os_version", string()), .free("model", string()), .free("arch", string()),
    ])
    .described(
        "What people read about a machine; never decided upon. Each is cut after \(DeviceInfo.longest) characters."
    )
    .examples(["name": "Ada's laptop", "platform": "macos", "app_version": "2.1"])

    static let bundle = signed.described(
        "The signed document that an app keeps and verifies offline: a JWS (ES256) of the install's grants and their ends."
    )

    static let license = object([
        .required("id", identifier(of: Licensing.License.self)),
        .required("plan", code),
        .required("status", words(of: LicenseStatus.self)),
        .required("starts_at", instant.orNull),
        .required("expires_at", instant.orNull.described("Null: never.")),
        .required("maintenance_until", instant.orNull),
        .required("key_last4", string(1...4)),
    ])

    static let activation = object([
        .required("id", identifier(of: Licensing.Activation.self)),
        .required("activated_at", instant),
        .optional("lease_expires_at", instant.described("Where the seat floats.")),
    ])

    static let seats = object([
        .required("used", count),
        .required("limit", count.orNull.described("Null: unlimited.")),
    ])

    static let seatRow = object([
        .required("activation", identifier(of: Licensing.Activation.self).described("What `replace` takes.")),
        .required("name", string(1...DeviceInfo.longest).orNull),
        .required("platform", string(1...DeviceInfo.longest).orNull),
        .required("last_seen_at", instant),
        .required("this", boolean.described("Whether the calling install holds it.")),
    ])

    static let entitlement = object([
        .required("feature", code),
        .required("source", words(of: GrantSource.self)),
        .required("expires_at", instant.orNull.described("Null: never.")),
    ])

    static let purchase = object([
        .required("id", identifier(of: PurchaseEntity.self)),
        .required("product", string()),
        .required("state", words(of: PurchaseCondition.self)),
        .required("environment", words(of: StoreEnvironment.self)),
        .required("expires_at", instant.orNull.described("Null: never.")),
    ])

    static let meterReport = object(meterMembers)

    static let meterMembers: [SchemaMember] = [
        .required("meter", code),
        .required("allowed", boolean),
        .required("used", count.described("The count in the current window.")),
        .required("limit", count.orNull.described("Null: unlimited.")),
        .required("left", count.orNull.described("Null: unlimited.")),
        .required("resets_at", instant.orNull.described("Null: never.")),
    ]

    static let publicKey = object([
        .required("kty", constant("EC")), .required("crv", constant("P-256")),
        .required("x", string(43...43)), .required("y", string(43...43)),
        .required("kid", string(43...43).described("The RFC 7638 thumbprint.")),
        .required("alg", constant("ES256")), .required("use", constant("sig")),
        .required("spki", string().described("The DER SubjectPublicKeyInfo in base64: what an app pins.")),
        .required(
            "status",
            words([SigningKeyState.next, .active, .retiring].map(\.rawValue))
        ),
    ])
}
