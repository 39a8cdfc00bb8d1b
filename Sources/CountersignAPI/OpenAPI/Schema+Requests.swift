import CountersignWire
import Licensing
import LicensingServices

// Bodies that apps send. `null` counts as absent, and members that are not named here mean nothing.

extension Schema {
    private static let installID = string(4...4096)
        .described(
            "A random UUID, made once for each installed copy and kept secret. 16 to 200 bytes, blanks around it cut off."
        )
        .examples("6f1d9a52-7c1e-4a4b-9d0e-2f6b8c3a1e57")

    private static let licenseKey = string(1...LicenseKey.longest)
        .described("As the customer typed it: case, blanks and dashes do not matter.")
        .examples("ACME-0000-0000-0000-0000")

    /// What every call of an app may say.
    private static let common: [SchemaMember] = [
        .free(
            "fingerprint",
            string(2...4096).described("A digest of the machine, 8 to 200 bytes once blanks around it are cut off.")
        ),
        .optional("device", any(of: [.reference(.device), .null])),
        .free(
            "nonce",
            string(0...AppRequestReader.longestNonce).described("Comes back in the bundle, which proves it fresh.")
        ),
    ]

    private static func call(_ members: [SchemaMember]) -> Schema {
        object([.required("install_id", installID)] + members + common)
    }

    static let keyRequest = call([.required("license_key", licenseKey)])

    static let activateRequest = call([
        .required("license_key", licenseKey),
        .free(
            "replace",
            identifier(of: Licensing.Activation.self).described(
                "The seat to release for this one, where the plan allows it."
            )
        ),
    ])

    static let validateRequest = object(
        [.required("license_key", licenseKey), .free("install_id", installID)] + common
    )

    static let syncRequest = call([])

    static let trialRequest = call([
        .free("start", boolean.described("False: only ask. True where it is left out.")),
        .optional(
            "first_launch_at",
            any(of: [moment, .null]).described("When the app was first started, where it knows that.")
        ),
    ])

    static let verifyRequest: Schema = {
        let document = someString
        let store = SchemaMember.required("store", words(["apple"]))
        return any(of: [
            call([
                store, .required("signed_transaction", document.described("A StoreKit 2 transaction, as a JWS.")),
                .free("signed_app_transaction", document.described("The app's own purchase, as a JWS.")),
            ]),
            call([
                store, .required("signed_app_transaction", document), .free("signed_transaction", document),
            ]),
        ])
    }()

    static let notificationRequest = object([.required("signedPayload", someString)])

    // MARK: Meters

    static let meterAmount = object([.required("meter", code), .free("amount", amount)])

    private static let amount = integer(1...Meter.mostAmount).described("1 where it is left out.")

    private static func meterRequest(_ more: [SchemaMember]) -> Schema {
        let key = SchemaMember.free("license_key", licenseKey)
        let names = list(of: any(of: [code, .reference(.meterAmount)]), atLeast: 1)
        return one(of: [
            call(
                [
                    .required("meter", code.examples("flow_run")), .free("amount", amount), .optional("meters", .null),
                    key,
                ] + more
            ),
            call(
                [
                    .required("meters", names.described("Each meter once.")), .optional("meter", .null),
                    .optional("amount", .null), key,
                ] + more
            ),
        ])
    }

    static let peekRequest = meterRequest([])

    static let consumeRequest = meterRequest([
        .free("idempotency_key", string(1...IdempotentCall.longestKey).described("As the field `Idempotency-Key`.")),
        .free("bundle", boolean.described("Whether the answer is to carry a bundle.")),
    ])
}
