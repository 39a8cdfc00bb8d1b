import CountersignWire
import Licensing

// Bodies of answers to apps.

extension Schema {
    private static func answer(_ members: [SchemaMember]) -> Schema {
        object(members + [.required("server_time", instant.described("When it was decided."))])
    }

    private static let entitlements = list(of: .reference(.entitlement))

    private static let granted = constant(.string(WireVerdict.granted.rawValue))

    private static let verdict = words([WireVerdict.granted, .rejected, .unknown].map(\.rawValue))

    static let activateAnswer = answer([
        .required("verdict", granted),
        .required("activation", .reference(.activation)),
        .required("license", .reference(.license)),
        .required("seats", .reference(.seats)),
        .required("entitlements", entitlements),
        .required("bundle", .reference(.bundle)),
    ])

    static let validateAnswer = answer([
        .required("valid", boolean),
        .required("code", words(validationCodes.map(\.rawValue))),
        .required("verdict", verdict),
        .optional("license", .reference(.license)),
        .optional("activation", .reference(.activation).described("The install's seat.")),
        .optional("seats", .reference(.seats)),
        .optional("entitlements", entitlements.described("Where the question named an install.")),
        .optional("key_replaced", constant(true).described("The license has a newer key.")),
        .optional("bundle", .reference(.bundle).described("Where the question named an install.")),
    ])

    private static let validationCodes: [OutcomeCode] = [
        .valid, .licenseRevoked, .licenseSuspended, .licenseExpired, .licenseNotFound, .licenseNotStarted,
        .notActivated,
    ]

    static let deactivateAnswer = answer([
        .required("released", boolean.described("Whether the install held a seat until now.")),
        .required("seats", .reference(.seats)),
        .required("bundle", .reference(.bundle)),
    ])

    static let heartbeatAnswer = answer([
        .required("lease_expires_at", instant.orNull.described("Null: the seat does not float.")),
        .required("bundle", .reference(.bundle)),
    ])

    static let seatsAnswer = answer([
        .required("seats", .reference(.seats)),
        .required("activations", list(of: .reference(.seatRow))),
    ])

    static let trialAnswer = answer([
        .required("state", words(of: TrialState.self)),
        .required("code", words(trialCodes.map(\.rawValue))),
        .required("verdict", verdict),
        .required("started_at", instant.orNull),
        .required("ends_at", instant.orNull),
        .required("remaining_seconds", count.orNull),
        .optional("trial_token", string(1...255).described("Told to the install that started the trial alone.")),
        .required("bundle", .reference(.bundle)),
    ])

    private static let trialCodes: [OutcomeCode] = [
        .trialActive, .trialExpired, .trialAvailable, .trialDisabled, .trialNotConfigured,
    ]

    static let syncAnswer = answer([.required("bundle", .reference(.bundle))])

    static let verifyAnswer = answer([
        .required("verdict", words([WireVerdict.granted, .unknown].map(\.rawValue))),
        .optional("purchase", .reference(.purchase)),
        .required("entitlements", entitlements),
        .required("bundle", .reference(.bundle)),
    ])

    static let notificationAnswer = object([.required("status", words(["recorded", "known"]))])

    /// One meter's members where the request named `meter`, a list where it named `meters`.
    static let metersAnswer = any(of: [
        answer(meterMembers + [bundleWhereWanted]),
        answer([
            .required("allowed", boolean.described("Whether every amount fits.")),
            .required("meters", list(of: .reference(.meterReport), atLeast: 1)), bundleWhereWanted,
        ]),
    ])

    private static let bundleWhereWanted = SchemaMember.optional("bundle", .reference(.bundle))

    static let configurationAnswer = answer([
        .required("config", signed.described("Settings and offers of the product: a JWS (ES256)."))
    ])

    static let keysAnswer = object([.required("keys", list(of: .reference(.publicKey)))])

    // MARK: The server itself

    static let rootAnswer = object([
        .required("name", string()), .required("description", string()),
        .required("links", map(of: string(format: "uri-reference"))),
    ])

    static let healthAnswer = object([.required("status", constant("ok"))])

    static let readyAnswer = object([
        .required("status", constant("ready")), .required("warnings", list(of: words(["wal_large"]))),
    ])

    static let interfaceAnswer = object([
        .required("openapi", string(pattern: #"^3\.1\.\d+$"#)), .required("info", object([])),
        .required("servers", list(of: object([]))), .required("tags", list(of: object([]))),
        .required("paths", object([])), .required("components", object([])),
    ])
    .described("This document.")
}
