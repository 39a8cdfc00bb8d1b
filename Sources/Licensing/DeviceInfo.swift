/// What a client tells about its machine, for people to read. Never required, never decided upon.
public struct DeviceInfo: Hashable, Sendable {
    /// What the owner calls the machine.
    public var name: String?
    /// The system, such as `macos`.
    public var platform: String?
    /// The app's version.
    public var appVersion: String?
    /// The system's version.
    public var osVersion: String?
    /// The machine's model.
    public var model: String?
    /// The processor's architecture.
    public var arch: String?

    /// The most characters kept of each; the rest is cut.
    public static let longest = 128

    /// Nothing told.
    public static let none = DeviceInfo()

    /// What was told, each clamped to `longest` Unicode scalars; empty counts as not told.
    public init(
        name: String? = nil,
        platform: String? = nil,
        appVersion: String? = nil,
        osVersion: String? = nil,
        model: String? = nil,
        arch: String? = nil
    ) {
        self.name = Self.clamped(name)
        self.platform = Self.clamped(platform)
        self.appVersion = Self.clamped(appVersion)
        self.osVersion = Self.clamped(osVersion)
        self.model = Self.clamped(model)
        self.arch = Self.clamped(arch)
    }

    /// What is known after `newer` was told: its members, and this value's where it is silent.
    public func updated(by newer: DeviceInfo) -> DeviceInfo {
        DeviceInfo(
            name: newer.name ?? name,
            platform: newer.platform ?? platform,
            appVersion: newer.appVersion ?? appVersion,
            osVersion: newer.osVersion ?? osVersion,
            model: newer.model ?? model,
            arch: newer.arch ?? arch
        )
    }

    private static func clamped(_ text: String?) -> String? {
        guard let text, !text.isEmpty else { return nil }
        // By scalars: one "character" may have thousands of them.
        guard text.utf8.count > longest else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.prefix(longest)))
    }
}
