import CountersignWire
import Licensing

// What the routes for apps take and answer.

extension RouteDescription {
    private static let install: DocumentValue = "6f1d9a52-7c1e-4a4b-9d0e-2f6b8c3a1e57"
    private static let licenseKey: DocumentValue = "ACME-0000-0000-0000-0000"
    private static let keyExample: DocumentValue = [
        "license_key": licenseKey, "install_id": install, "nonce": "Zk3v9sYw",
    ]
    /// A license of which a key was found, but which is not in force.
    private static let notInForce: [ProblemCode] = [
        .licenseNotStarted, .licenseRevoked, .licenseSuspended, .licenseExpired,
    ]

    static let activate = RouteDescription(
        tag: .licenses,
        details: "Idempotent by nature: an install that holds a seat keeps it.",
        body: .activateRequest,
        example: keyExample,
        answer: .activateAnswer,
        outcome: "The install holds a seat.",
        refusals: [.licenseKeyMalformed, .licenseNotFound, .noSeatsAvailable, .transferLimit, .licenseReissued]
            + notInForce,
        refusesWithBundle: true
    )

    static let validate = RouteDescription(
        tag: .licenses,
        details: "A question: claims nothing, and is answered 200 for every well-formed key.",
        body: .validateRequest,
        example: keyExample,
        answer: .validateAnswer,
        outcome: "Whether the license is in force, and whether the install holds a seat.",
        refusals: [.licenseKeyMalformed, .quotaExceeded]
    )

    static let deactivate = RouteDescription(
        tag: .licenses,
        details: "Works whatever became of the license, and can be repeated.",
        body: .deactivateRequest,
        example: keyExample,
        answer: .deactivateAnswer,
        outcome: "The install holds no seat.",
        refusals: [.licenseKeyMalformed, .licenseNotFound]
    )

    static let heartbeat = RouteDescription(
        tag: .licenses,
        body: .heartbeatRequest,
        example: keyExample,
        answer: .heartbeatAnswer,
        outcome: "The lease, renewed where it was due.",
        refusals: [.licenseKeyMalformed, .licenseNotFound, .notActivated] + notInForce,
        refusesWithBundle: true
    )

    static let seats = RouteDescription(
        tag: .licenses,
        details:
            "For a customer who wants to release one by `replace` of `activate`; 403 where the plan does not allow it.",
        body: .seatsRequest,
        example: keyExample,
        answer: .seatsAnswer,
        outcome: "The seats that are held.",
        refusals: [.licenseKeyMalformed, .licenseNotFound] + notInForce,
        refusesWithBundle: true
    )

    static let sync = RouteDescription(
        tag: .licenses,
        details: "Takes no key: the bundle tells of all sources of rights. Also the beacon of an install without any.",
        body: .syncRequest,
        example: ["install_id": install, "nonce": "Zk3v9sYw"],
        answer: .syncAnswer,
        outcome: "The bundle as of now."
    )

    static let trial = RouteDescription(
        tag: .trials,
        details: "Once for each install and machine; asked again, the same trial is told.",
        body: .trialRequest,
        example: ["install_id": install, "start": true],
        answer: .trialAnswer,
        outcome: "The trial, or why there is none."
    )

    private static let meterRefusals =
        [.licenseKeyMalformed, .meterNotFound, .licenseNotFound, .notActivated] + notInForce

    static let peekMeters = RouteDescription(
        tag: .meters,
        details: "Counts nothing. Elements of `meters` are names, or objects of `meter` and `amount`.",
        body: .peekRequest,
        example: ["install_id": install, "meter": "flow_run"],
        answer: .metersAnswer,
        outcome: "Whether the amounts would fit.",
        refusals: meterRefusals,
        refusesWithBundle: true
    )

    static let consumeMeters = RouteDescription(
        tag: .meters,
        details:
            "All amounts are counted, or none. With an idempotency key a repeat within 24 hours counts nothing more.",
        body: .consumeRequest,
        example: ["install_id": install, "meter": "flow_run", "amount": 1, "idempotency_key": "run-4711"],
        answer: .metersAnswer,
        outcome: "Whether the amounts were counted; `allowed` is false where they do not fit.",
        refusals: meterRefusals + [.idempotencyConflict],
        isRepeatable: true,
        refusesWithBundle: true
    )

    // MARK: Stores

    static let verifyPurchase = RouteDescription(
        tag: .stores,
        body: .verifyRequest,
        example: [
            "install_id": install, "store": "apple", "signed_transaction": "eyJhbGciOiJFUzI1NiJ9.e30.c2lnbmF0dXJl",
        ],
        answer: .verifyAnswer,
        outcome: "The purchase is genuine; what it gives is in the bundle.",
        refusals: [.storeUnverified, .purchaseRevoked, .purchaseExpired, .noSeatsAvailable],
        refusesWithBundle: true
    )

    static let storeNotification = RouteDescription(
        tag: .stores,
        details: "App Store Server Notifications V2, to the path that was given to the App Store.",
        parameters: [.path("connection", .identifier(of: StoreConnectionEntity.self), "The connection's id.")],
        body: .notificationRequest,
        example: ["signedPayload": "eyJhbGciOiJFUzI1NiJ9.e30.c2lnbmF0dXJl"],
        answer: .notificationAnswer,
        outcome: "It is kept.",
        refusals: [.storeUnverified]
    )

    // MARK: Keys

    static let configuration = RouteDescription(
        tag: .keys,
        answer: .configurationAnswer,
        outcome: "The settings, signed."
    )

    static let callersKeys = RouteDescription(tag: .keys, answer: .keysAnswer, outcome: "A JWK set, RFC 7517.")

    static let vendorsKeys = RouteDescription(
        tag: .keys,
        parameters: [.path("slug", .slug, "The vendor's slug.")],
        answer: .keysAnswer,
        outcome: "A JWK set, RFC 7517."
    )

    // MARK: The server

    static let root = RouteDescription(tag: .server, answer: .rootAnswer, outcome: "Name and links.")

    static let health = RouteDescription(tag: .server, answer: .healthAnswer, outcome: "The process answers.")

    static let ready = RouteDescription(
        tag: .server,
        answer: .readyAnswer,
        outcome: "Decisions can be made and kept.",
        refusals: [.clockUnsure]
    )

    static let interface = RouteDescription(
        tag: .server,
        answer: .interfaceAnswer,
        outcome: "An OpenAPI 3.1 document, made from the table that requests are served by."
    )
}
