/// Why an administrator's command was understood and not done.
///
/// The code is what scripts look at; `member` names the option or JSON member at fault, in snake_case.
public struct Refusal: Error, Hashable, Sendable {
    /// What went wrong, for programs.
    public enum Code: String, Hashable, Sendable, CaseIterable {
        case validation = "VALIDATION"
        case alreadyExists = "ALREADY_EXISTS"
        case vendorNotFound = "VENDOR_NOT_FOUND"
        case productNotFound = "PRODUCT_NOT_FOUND"
        case featureNotFound = "FEATURE_NOT_FOUND"
        case planNotFound = "PLAN_NOT_FOUND"
        case licenseNotFound = "LICENSE_NOT_FOUND"
        case activationNotFound = "ACTIVATION_NOT_FOUND"
        case credentialNotFound = "CREDENTIAL_NOT_FOUND"
        case keyNotFound = "KEY_NOT_FOUND"
        case customerNotFound = "CUSTOMER_NOT_FOUND"
        case installNotFound = "INSTALL_NOT_FOUND"
        case meterNotFound = "METER_NOT_FOUND"
        case giftNotFound = "GIFT_NOT_FOUND"
        case offerNotFound = "OFFER_NOT_FOUND"
        case trialNotFound = "TRIAL_NOT_FOUND"
        case connectionNotFound = "CONNECTION_NOT_FOUND"
        case spendTierNotFound = "SPEND_TIER_NOT_FOUND"
        case orderIDConflict = "ORDER_ID_CONFLICT"
        case affectsExisting = "AFFECTS_EXISTING"
        case notRenewable = "NOT_RENEWABLE"
        case licenseRevoked = "LICENSE_REVOKED"
        case licenseKeyMalformed = "LICENSE_KEY_MALFORMED"
        case ambiguous = "AMBIGUOUS"
        case forbidden = "FORBIDDEN"
        case noNextKey = "NO_NEXT_KEY"
    }

    /// What went wrong, for programs.
    public let code: Code
    /// What went wrong and how to mend it, for people; never a secret.
    public let message: String
    /// The option or member at fault.
    public let member: String?
    /// How many licenses an edit would hit, with `affectsExisting`.
    public let licenses: Int?

    /// A refusal.
    public init(_ code: Code, _ message: String, member: String? = nil, licenses: Int? = nil) {
        self.code = code
        self.message = message
        self.member = member
        self.licenses = licenses
    }
}
