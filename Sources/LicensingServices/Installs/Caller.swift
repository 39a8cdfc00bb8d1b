public import Licensing

/// On whose behalf a question is asked: everything that is looked up belongs to this product in this mode.
///
/// A class, so that passing it on counts one reference: a request hands it through a dozen closures and results, and
/// vendor and product are 400 bytes with some twenty references of their own. It never changes.
public final class Caller: Hashable, Sendable {
    /// Whose product it is.
    public let vendor: Vendor
    /// The product.
    public let product: Product
    /// Live or test; the two never meet.
    public let mode: Mode

    /// A caller for one product in one mode.
    public init(vendor: Vendor, product: Product, mode: Mode) {
        self.vendor = vendor
        self.product = product
        self.mode = mode
    }

    /// Whether both are the same product in the same mode, with the same settings.
    public static func == (left: Caller, right: Caller) -> Bool {
        left.vendor == right.vendor && left.product == right.product && left.mode == right.mode
    }

    /// Feeds what names it.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(product.id)
        hasher.combine(mode)
    }
}

/// An install as a request names it.
public struct InstallClaim: Hashable, Sendable {
    /// Keyed digest of its id.
    public let digest: Digest256
    /// Keyed digest of its machine's fingerprint, where it sent one.
    public let fingerprint: Digest256?
    /// What it told of its device.
    public let device: DeviceInfo
    /// `sub` of its bundles.
    public let subject: String

    /// A claim of these members.
    public init(digest: Digest256, fingerprint: Digest256?, device: DeviceInfo, subject: String) {
        self.digest = digest
        self.fingerprint = fingerprint
        self.device = device
        self.subject = subject
    }
}

/// A license key as a request shows it.
public struct KeyClaim: Hashable, Sendable {
    /// Keyed digest of its canonical text.
    public let digest: Digest256

    /// A claim of this key.
    public init(digest: Digest256) { self.digest = digest }
}
