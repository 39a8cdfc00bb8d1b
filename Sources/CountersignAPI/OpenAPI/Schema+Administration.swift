import CountersignWire
import Licensing
import LicensingServices

// Bodies of administration: the options of the command line in snake_case, and its `--json` objects.

extension Schema {
    // MARK: Requests

    /// What every body may say.
    private static let common: [SchemaMember] = [
        .free(
            "product",
            productName.described("Needed with a credential for all products of a vendor; implied by a product's.")
        ),
        .free("mode", words(of: Mode.self).described("The credential's own; another is 403.")),
        .free("dry_run", boolean.described("Do everything, then undo it: the answer tells what would be.")),
        .free("idempotency_key", string(1...IdempotentCall.longestKey).described("As the field `Idempotency-Key`.")),
    ]

    private static let reason = line.described("For the audit log: one line of at most 1000 characters.")
        .examples("refunded")

    private static func word(_ word: String) -> Schema { constant(.string(word)) }

    static let issueRequest = object(
        [
            .required("plan", code.examples("pro")),
            .free(
                "count",
                integer(1...Int64(LicenseForms.mostIssued)).described("1 where it is left out, and with `order_id`.")
            ),
            .free(
                "order_id",
                line.described("The same order again is answered with the same license. At most 200 characters.")
            ),
            .optional(
                "seats",
                any(of: [integer(0...Int64(Int32.max)), words(["unlimited", "plan"]), .null])
            ),
            .optional(
                "expires_at",
                any(of: [moment, words(["never", "plan"]), .null]).described("A date means its end, UTC.")
            ),
            .free("duration", duration.described("In place of `expires_at`.").examples("P1Y")),
            .optional("starts_at", any(of: [moment, .null]).described("A date means its start, UTC.")),
            .optional("maintenance_until", any(of: [moment, word("never"), .null])),
            .optional(
                "offline_life",
                any(of: [duration, word("plan"), .null]).described("1 hour to 10 years.")
            ),
            .free("customer_name", line),
            .free("customer_email", emailAddress),
        ] + common
    )

    static let reasonRequest = object([.required("reason", reason)] + common)

    static let reinstateRequest = object(
        [.required("reason", reason), .free("revoked", boolean.described("Also a revoked license."))] + common
    )

    static let renewRequest = object(
        [.free("duration", duration.described("The plan's where it is left out.")), .free("reason", reason)] + common
    )

    static let reissueRequest = object(
        [
            .required("reason", reason),
            .free("revoke_seats", boolean.described("Release every seat: the old key leaked.")),
        ] + common
    )

    static let releaseSeatRequest = object(
        [.required("activation", identifier(of: Licensing.Activation.self)), .free("reason", reason)] + common
    )

    // MARK: Answers

    static let environmentRule = object([
        .optional("hosts", list(of: string())), .optional("spki", list(of: string())),
        .optional("attributes", map(of: string())),
    ])

    static let administeredSeat = object([
        .required("id", identifier(of: Licensing.Activation.self)),
        .required("device", object([.required("name", string().orNull), .required("platform", string().orNull)])),
        .required("activated_at", instant),
        .required("last_seen_at", instant),
        .optional("lease_expires_at", instant),
        .optional("cloned", constant(true)),
    ])

    static let administeredLicense = object([
        .required("id", identifier(of: Licensing.License.self)),
        .optional("key", string(1...LicenseKey.longest).described("Where it was made now, or the product keeps keys.")),
        .required("key_last4", string(1...4)),
        .required("product", productName),
        .required("plan", code),
        .required("mode", words(of: Mode.self)),
        .required("status", words(of: LicenseStatus.self)),
        .optional("reason", string().orNull.described("Why it is suspended or revoked.")),
        .required("seat_limit", count.orNull),
        .required("seat_policy", words(of: SeatPolicy.self)),
        .required("starts_at", instant.orNull),
        .required("expires_at", instant.orNull),
        .optional("duration", duration.described("Runs from the first activation on.")),
        .required("maintenance_until", instant.orNull),
        .required("offline_life", duration),
        .optional("environment", .reference(.environmentRule)),
        .required("order_id", string().orNull),
        .required(
            "customer",
            object([.required("name", string().orNull), .required("email", string().orNull)]).orNull
        ),
        .required("issued_at", instant),
        .required("first_activated_at", instant.orNull),
        .required("seats", .reference(.seats)),
        .optional(
            "activations",
            list(of: .reference(.administeredSeat)).described(
                "Not in lists. Those seen last, at most \(LicenseDetail.mostSeats); the command line shows all."
            )
        ),
        .optional("activations_omitted", count.described("How many more there are.")),
        .optional("notice", string()),
    ])

    private static let dryRun = SchemaMember.optional("dry_run", constant(true).described("It was one."))

    static let licenseAnswer = object([.required("license", .reference(.administeredLicense)), dryRun])

    static let licensesAnswer = object([.required("licenses", list(of: .reference(.administeredLicense))), dryRun])

    static let licensePage = object([
        .required("licenses", list(of: .reference(.administeredLicense))),
        .required(
            "next",
            identifier(of: Licensing.License.self).orNull.described("The cursor of the next page; null: there is none.")
        ),
    ])

    static let releaseSeatAnswer = object([
        .required("released", boolean.described("Whether the seat was held until now.")),
        .required("license", .reference(.administeredLicense)),
        dryRun,
    ])
}
