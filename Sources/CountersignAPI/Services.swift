public import Cryptography
public import Licensing
public import LicensingServices

/// Everything that answers are made of, the same for every loop: no service has state of its own, but for the count of
/// validations and the last contacts.
///
/// A class, so that each request's contact holds one reference to it, not a copy of all.
public final class Services: Sendable {
    /// What secrets are looked up and sealed with.
    public let keys: DataKeys
    /// Claims, renews and releases seats.
    public let seats: SeatService
    /// Finds installs, and records first contacts.
    public let installs: InstallDirectory
    /// Gathers the facts of bundles.
    public let bundles: BundleService
    /// Takes what stores signed.
    public let store: StoreService
    /// Starts trials, and tells what they are.
    public let trials: TrialService
    /// Gathers signed settings and offers.
    public let configurations: ConfigurationService
    /// Makes credentials.
    public let credentials: CredentialService
    /// Makes and rotates signing keys.
    public let signingKeys: SigningKeyService
    /// What was answered and is not written yet.
    public let contacts = LastContacts()
    /// Counts validations against the quotas of vendors.
    public let validations = ValidationCounter()
    /// What time it is, asked once for each request.
    public let clock: any WallClock
    /// Where identifiers and secrets come from.
    public let entropy: any Entropy

    /// Services of one database.
    ///
    /// - Parameters:
    ///   - keys: the data keys of that database.
    ///   - clock: what time it is.
    ///   - entropy: where identifiers and secrets come from.
    ///   - storeRootDigests: SHA-256 of the DER of root certificates trusted beside the store's own.
    public init(
        keys: DataKeys,
        clock: any WallClock,
        entropy: any Entropy = SystemEntropy(),
        storeRootDigests: [Digest256] = []
    ) {
        self.keys = keys
        self.clock = clock
        self.entropy = entropy
        seats = SeatService(entropy: entropy, contacts: contacts)
        installs = InstallDirectory(entropy: entropy)
        bundles = BundleService()
        store = StoreService(
            keys: keys,
            entropy: entropy,
            configuredRootDigests: storeRootDigests,
            contacts: contacts
        )
        trials = TrialService(keys: keys, entropy: entropy)
        configurations = ConfigurationService()
        credentials = CredentialService(keys: keys, entropy: entropy)
        signingKeys = SigningKeyService(keys: keys, entropy: entropy)
    }
}
