internal import Licensing
internal import LicensingServices

/// Parameters of `admin license …`.
enum LicenseParameters {
    /// A license by id or key.
    static let license = Parameter<String>.argument("LICENSE", "its id or one of its keys") { text throws(ValueFault) in
        guard !text.isEmpty else { throw ValueFault("must not be empty") }
        return text
    }

    /// Where a license is looked for.
    static let product = Parameter<ProductName>.option(
        "product",
        "VENDOR/PRODUCT",
        "the product, where several know a key"
    ) { text throws(ValueFault) in try ProductName(text) }

    /// Which product is listed.
    static let productFilter = Parameter<ProductName>.option("product", "VENDOR/PRODUCT", "those of a product") {
        text throws(ValueFault) in try ProductName(text)
    }

    static let plan = Parameter<PlanCode>.option("plan", "CODE", "a plan of the product") { text throws(ValueFault) in
        try PlanCode(text)
    }

    static let count = Parameter<Int>.option("count", "N", "how many, 1 to \(LicenseForms.mostIssued) (1)") {
        text throws(ValueFault) in
        // What is no number at all is as far outside as one can be.
        try LicenseForms.count(CommonParameters.integer(text, in: .min ... .max) ?? 0)
    }

    static let seats = Parameter<PlanChoice<SeatLimit>>.option(
        "seats",
        "N|unlimited|plan",
        "how many installs may hold a seat",
        LicenseForms.seats
    )

    static let expiresAt = Parameter<EndChoice>.option(
        "expires-at",
        "T|never|plan",
        "when it ends; a date ends with that day, UTC",
        LicenseForms.end
    )

    static let duration = Parameter<CalendarDuration>.option(
        "duration",
        "D",
        "how long it lasts, like P1Y; as the plan says where left out",
        LicenseForms.duration
    )

    static let startsAt = Parameter<Timestamp>.option(
        "starts-at",
        "T",
        "when it starts; a date starts with that day, UTC",
        LicenseForms.start
    )

    static let maintenanceUntil = Parameter<Change<Timestamp>>.option(
        "maintenance-until",
        "T|never",
        "until when new versions are included",
        LicenseForms.maintenance
    )

    static let offlineLife = Parameter<PlanChoice<CalendarDuration>>.option(
        "offline-life",
        "D|plan",
        "how long a bundle proves its rights without contact",
        LicenseForms.offlineLife
    )

    static let customerName = Parameter<String>.option(
        "customer-name",
        "TEXT",
        "the customer's name",
        LicenseForms.name
    )

    static let customerEmail = Parameter<EmailAddress>.option(
        "customer-email",
        "ADDRESS",
        "the customer's address, in any case"
    ) { text throws(ValueFault) in try EmailAddress(text) }

    static let orderID = Parameter<String>.option(
        "order-id",
        "TEXT",
        "your name for the order, which customer erase leaves: issuing it again gives the same license",
        LicenseForms.orderID
    )

    /// `--mode`, where leaving it out means both.
    static let modeFilter = Parameter<Mode>.option("mode", "live|test", "live or test ones") {
        text throws(ValueFault) in
        try CommonParameters.word(text)
    }

    static let status = Parameter<LicenseStatus>.option(
        "status",
        LicenseStatus.allCases.map(\.rawValue).joined(separator: "|"),
        "what they are now"
    ) { text throws(ValueFault) in try CommonParameters.word(text) }

    /// `--reason`, where none need be given.
    static let reason = Parameter<String>.option("reason", "TEXT", "why, for the audit log") {
        text throws(ValueFault) in try CommonParameters.line(text, upTo: 1000)
    }

    static let activation = Parameter<Activation.ID>.option(
        "activation",
        "ID",
        "the seat, as license show tells it",
        isRequired: true
    ) { text throws(ValueFault) in try CommonParameters.identifier(text) }

    static let installID = Parameter<InstallID>.option("install-id", "ID", "the install that asks") {
        text throws(ValueFault) in try CommonParameters.installID(text)
    }

    static let revoked = Parameter<Bool>.flag("revoked", "also when it was revoked")
    static let revokesSeats = Parameter<Bool>.flag("revoke-seats", "release every seat, for a key that leaked")
    static let withKeys = Parameter<Bool>.flag("with-keys", "with the keys themselves: secrets")

    static let file = Parameter<String>.argument("FILE", "CSV with a header line, or - for standard input") {
        text throws(ValueFault) in
        guard !text.isEmpty else { throw ValueFault("must not be empty") }
        return text
    }
}
