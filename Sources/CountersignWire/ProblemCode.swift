/// Every code that a problem body of `/v1` may carry, with the status and the verdict that belong to it.
///
/// Clients decide on codes, so a code never changes its meaning. On `/v1`, 402 and 410 mean that the server decided *no*
/// with proof in hand; every other status is trouble of some kind and takes no right away.
public enum ProblemCode: String, CaseIterable, Sendable {
    case malformedRequest = "MALFORMED_REQUEST"
    case malformedJSON = "MALFORMED_JSON"
    case validation = "VALIDATION"
    case licenseKeyMalformed = "LICENSE_KEY_MALFORMED"
    case storeUnverified = "STORE_UNVERIFIED"
    case unauthenticated = "UNAUTHENTICATED"
    case forbidden = "FORBIDDEN"
    case purchaseRevoked = "PURCHASE_REVOKED"
    case purchaseExpired = "PURCHASE_EXPIRED"
    case notFound = "NOT_FOUND"
    case licenseNotFound = "LICENSE_NOT_FOUND"
    case meterNotFound = "METER_NOT_FOUND"
    case productNotFound = "PRODUCT_NOT_FOUND"
    case planNotFound = "PLAN_NOT_FOUND"
    case activationNotFound = "ACTIVATION_NOT_FOUND"
    case customerNotFound = "CUSTOMER_NOT_FOUND"
    case methodNotAllowed = "METHOD_NOT_ALLOWED"
    case requestTimeout = "REQUEST_TIMEOUT"
    case noSeatsAvailable = "NO_SEATS_AVAILABLE"
    case notActivated = "NOT_ACTIVATED"
    case transferLimit = "TRANSFER_LIMIT"
    case licenseNotStarted = "LICENSE_NOT_STARTED"
    case licenseReissued = "LICENSE_REISSUED"
    case idempotencyConflict = "IDEMPOTENCY_CONFLICT"
    case orderIDConflict = "ORDER_ID_CONFLICT"
    case notRenewable = "NOT_RENEWABLE"
    case alreadyExists = "ALREADY_EXISTS"
    case affectsExisting = "AFFECTS_EXISTING"
    case ambiguous = "AMBIGUOUS"
    case licenseRevoked = "LICENSE_REVOKED"
    case licenseSuspended = "LICENSE_SUSPENDED"
    case licenseExpired = "LICENSE_EXPIRED"
    case bodyTooLarge = "BODY_TOO_LARGE"
    case uriTooLong = "URI_TOO_LONG"
    case unsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE"
    case expectationFailed = "EXPECTATION_FAILED"
    case headersTooLarge = "HEADERS_TOO_LARGE"
    case rateLimited = "RATE_LIMITED"
    case quotaExceeded = "QUOTA_EXCEEDED"
    case internalError = "INTERNAL"
    case notImplemented = "NOT_IMPLEMENTED"
    case unavailable = "UNAVAILABLE"
    case clockUnsure = "CLOCK_UNSURE"
    case versionNotSupported = "VERSION_NOT_SUPPORTED"

    /// The HTTP status this code is answered with on the routes for apps.
    public var status: Int {
        switch self {
        case .malformedRequest, .malformedJSON, .validation, .licenseKeyMalformed, .storeUnverified: 400
        case .unauthenticated: 401
        case .purchaseRevoked, .purchaseExpired: 402
        case .forbidden: 403
        case .notFound, .licenseNotFound, .meterNotFound, .productNotFound, .planNotFound, .activationNotFound,
            .customerNotFound:
            404
        case .methodNotAllowed: 405
        case .requestTimeout: 408
        case .noSeatsAvailable, .notActivated, .transferLimit, .licenseNotStarted, .licenseReissued,
            .idempotencyConflict, .orderIDConflict, .notRenewable, .alreadyExists, .affectsExisting, .ambiguous:
            409
        case .licenseRevoked, .licenseSuspended, .licenseExpired: 410
        case .bodyTooLarge: 413
        case .uriTooLong: 414
        case .unsupportedMediaType: 415
        case .expectationFailed: 417
        case .rateLimited, .quotaExceeded: 429
        case .headersTooLarge: 431
        case .internalError: 500
        case .notImplemented: 501
        case .unavailable, .clockUnsure: 503
        case .versionNotSupported: 505
        }
    }

    /// A short text for people; always the same for a code (RFC 9457 §3.1.3).
    public var title: String {
        switch self {
        case .malformedRequest: "The request is not well-formed HTTP"
        case .malformedJSON: "The body is not well-formed JSON"
        case .validation: "A value is missing or not allowed"
        case .licenseKeyMalformed: "The license key has a typing error"
        case .storeUnverified: "The store's document could not be verified"
        case .unauthenticated: "The credential is missing or not valid"
        case .forbidden: "The credential may not do this"
        case .purchaseRevoked: "The purchase was revoked"
        case .purchaseExpired: "The purchase has expired"
        case .notFound: "There is nothing at this address"
        case .licenseNotFound: "No license has this key"
        case .meterNotFound: "No meter has this name"
        case .productNotFound: "There is no such product"
        case .planNotFound: "There is no such plan"
        case .activationNotFound: "There is no such seat"
        case .customerNotFound: "There is no such customer"
        case .methodNotAllowed: "This address does not take this method"
        case .requestTimeout: "The request did not arrive in time"
        case .noSeatsAvailable: "No seat is free"
        case .notActivated: "This install holds no seat of the license"
        case .transferLimit: "Too many new installs in this period"
        case .licenseNotStarted: "The license has not started yet"
        case .licenseReissued: "The license has a new key"
        case .idempotencyConflict: "The idempotency key was used for another request"
        case .orderIDConflict: "The order id was used for another order"
        case .notRenewable: "The license has no end to renew"
        case .alreadyExists: "It exists already"
        case .affectsExisting: "The change would take a right from existing licenses"
        case .ambiguous: "More than one thing has this name"
        case .licenseRevoked: "The license was revoked"
        case .licenseSuspended: "The license is suspended"
        case .licenseExpired: "The license has expired"
        case .bodyTooLarge: "The body is too large"
        case .uriTooLong: "The request target is too long"
        case .unsupportedMediaType: "The body must be application/json in UTF-8"
        case .expectationFailed: "The expectation cannot be met"
        case .headersTooLarge: "The header section is too large"
        case .rateLimited: "Too many requests"
        case .quotaExceeded: "The quota of this month is used up"
        case .internalError: "The server could not complete the request"
        case .notImplemented: "The server does not implement this"
        case .unavailable: "The server cannot answer for a moment"
        case .clockUnsure: "The server's clock cannot be trusted"
        case .versionNotSupported: "This version of HTTP is not served"
        }
    }

    /// What a client may conclude: `rejected` only where the server decided no with proof in hand.
    public var verdict: WireVerdict {
        switch status {
        case 402, 410: .rejected
        default: .unknown
        }
    }
}

/// The three answers to the question that was asked.
public enum WireVerdict: String, Sendable {
    /// The server decided yes.
    case granted
    /// The server decided no, with proof in hand.
    case rejected
    /// Everything else: nothing may be concluded from it.
    case unknown
}
