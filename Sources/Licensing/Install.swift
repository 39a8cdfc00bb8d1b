/// One installed copy of one product in one mode.
public struct Install: Hashable, Sendable, IdentifiedEntity {
    /// `ins_`
    public static let identifierPrefix = "ins_"

    /// Names the row, not the copy: the copy's own id is a secret.
    public var id: Identifier<Install>
    /// Of which product.
    public var product: Identifier<Product>
    /// Live or test.
    public var mode: Mode
    /// Keyed digest of the install id; the product is in its input.
    public var digest: Digest256
    /// Keyed digest of the machine's fingerprint, where one is known.
    public var fingerprint: Digest256?
    /// What it last told about itself.
    public var device: DeviceInfo
    /// When it was first heard of.
    public var firstContactAt: Timestamp
    /// When it was last heard of; may lag by a few seconds.
    public var lastSeenAt: Timestamp
    /// The trial it shares; another may count for it by its fingerprint, see `Trial.governing(among:)`.
    public var trial: TrialID?

    /// An install of these members.
    public init(
        id: Identifier<Install>,
        product: Identifier<Product>,
        mode: Mode,
        digest: Digest256,
        fingerprint: Digest256? = nil,
        device: DeviceInfo = .none,
        firstContactAt: Timestamp,
        lastSeenAt: Timestamp,
        trial: TrialID? = nil
    ) {
        self.id = id
        self.product = product
        self.mode = mode
        self.digest = digest
        self.fingerprint = fingerprint
        self.device = device
        self.firstContactAt = firstContactAt
        self.lastSeenAt = lastSeenAt
        self.trial = trial
    }
}
