import Bundles
import CountersignWire
import Cryptography
import Licensing
import LicensingServices
import StrictJSON

/// Reads the body of a call by an app: the one place where its texts become install ids, keys and the like.
///
/// All that is wrong is remembered, so that a client hears of everything at once; a member that cannot be read is nil, and
/// `failure` then says why.
struct AppRequestReader {
    /// The members, for those that one route alone takes.
    var members: MemberReader
    private let body: JSONValue
    private let idempotencyHeader: [String?]
    private let caller: Caller
    private let keys: DataKeys
    private let fingerprint: Digest256?
    private let device: DeviceInfo
    /// Comes back in the bundle.
    let nonce: String?
    /// The install that calls, as soon as its id was read, whatever else is wrong with the request.
    private(set) var install: InstallClaim?
    /// The license key, as soon as it was read.
    private(set) var key: KeyClaim?
    private var keyIsMalformed = false

    /// The most characters of a nonce.
    static let longestNonce = 64

    /// Reads what all calls of apps may say.
    ///
    /// - Parameter idempotencyHeader: the values of `Idempotency-Key`, nil for one that is no UTF-8.
    /// - Throws: `InvalidMembers` when the value is no object.
    init(_ value: JSONValue, idempotencyHeader: [String?] = [], for caller: Caller, keys: DataKeys) throws {
        members = try MemberReader(value)
        body = value
        self.idempotencyHeader = idempotencyHeader
        self.caller = caller
        self.keys = keys
        fingerprint = members.parsed("fingerprint") { text throws(ValueFault) in try DeviceFingerprint(text) }
            .map { keys.digest(of: $0, product: caller.product.id) }
        device = members.device()
        nonce = members.text("nonce", maximum: Self.longestNonce)
    }

    /// The calling install, which must be named.
    mutating func requiredInstall() -> InstallClaim? {
        guard members.value("install_id") != nil else {
            members.refuse("install_id", "is required")
            return nil
        }
        return optionalInstall()
    }

    /// The calling install, where it is named.
    mutating func optionalInstall() -> InstallClaim? {
        let id = members.parsed("install_id") { text throws(ValueFault) in try InstallID(text) }
        guard let id else { return nil }
        install = InstallClaim(
            digest: keys.digest(of: id, product: caller.product.id),
            fingerprint: fingerprint,
            device: device,
            subject: LicenseBundle.subject(product: caller.product.slug, install: id)
        )
        return install
    }

    /// The license key, which must be there.
    mutating func licenseKey() -> KeyClaim? {
        guard let text = members.requiredText("license_key", maximum: .max) else { return nil }
        do throws(LicenseKey.Fault) {
            let parsed = try LicenseKey(text, prefix: caller.product.keyPrefix)
            key = KeyClaim(digest: keys.digest(of: parsed, product: caller.product.id))
            return key
        } catch {
            switch error {
            case .tooLong: members.refuse("license_key", "must have at most \(LicenseKey.longest) characters")
            case .empty: members.refuse("license_key", "must not be empty")
            case .malformed: keyIsMalformed = true
            }
            return nil
        }
    }

    /// The seat to replace, where one is named.
    mutating func replacedSeat() -> Activation.ID? {
        members.parsed("replace", "must name a seat of this license") { Activation.ID($0) }
    }

    /// What a repeat of this call is recognized by, where the client wants it to be: to be asked after the install.
    ///
    /// - Parameter route: the route's name.
    mutating func idempotentCall(route: String) -> IdempotentCall? {
        guard let key = IdempotentCall.key(in: &members, header: idempotencyHeader), let install else { return nil }
        return IdempotentCall(
            key: key,
            body: body,
            route: route,
            caller: Base64URL.string(install.digest.bytes),
            product: caller.product.id,
            mode: caller.mode,
            keys: keys
        )
    }

    /// A text of any length that must be there.
    mutating func requiredText(_ name: String) -> String? { members.requiredText(name, maximum: .max) }

    /// A text of any length.
    mutating func text(_ name: String) -> String? { members.text(name, maximum: .max) }

    /// Remembers that a member is wrong.
    mutating func refuse(_ name: String, _ detail: String) { members.refuse(name, detail) }

    /// What the call says of the install's trial.
    mutating func trialCall() -> TrialCall {
        TrialCall(
            asksToStart: members.bool("start") ?? true,
            firstLaunchAt: members.parsed("first_launch_at") { text throws(ValueFault) in
                try Timestamp(text, as: .start)
            }
        )
    }

    /// Whether everything asked for could be read.
    var isValid: Bool { members.invalid.isEmpty && !keyIsMalformed }

    /// Why not: all invalid members, else the key's slip of typing. Only to be asked when something is wrong.
    var failure: any Error {
        members.invalid.isEmpty ? Problem.licenseKeyMalformed : InvalidMembers(members.invalid)
    }
}

extension MemberReader {
    /// Parses a text by `parse`, whose fault says what it wants.
    fileprivate mutating func parsed<Parsed>(
        _ name: String,
        _ parse: (String) throws(ValueFault) -> Parsed
    ) -> Parsed? {
        guard let text = text(name, maximum: .max) else { return nil }
        do throws(ValueFault) {
            return try parse(text)
        } catch {
            refuse(name, error.reason)
            return nil
        }
    }

    /// What the app tells of its device: of any length, never required.
    fileprivate mutating func device() -> DeviceInfo {
        guard var device = object("device") else { return .none }
        let info = DeviceInfo(
            name: device.text("name", maximum: .max),
            platform: device.text("platform", maximum: .max),
            appVersion: device.text("app_version", maximum: .max),
            osVersion: device.text("os_version", maximum: .max),
            model: device.text("model", maximum: .max),
            arch: device.text("arch", maximum: .max)
        )
        absorb(device)
        return info
    }
}
