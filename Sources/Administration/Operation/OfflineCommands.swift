internal import Bundles
internal import CountersignWire
internal import Licensing
internal import LicensingServices
internal import Storage
internal import StrictJSON

/// `admin offline …`: activation of machines without a network.
enum OfflineCommands {
    static let all = [activate]

    private static let file = Parameter<String>.argument("FILE", "the request that the app wrote, or -") { $0 }
    private static let product = Parameter<ProductName>.option(
        "product",
        "VENDOR/PRODUCT",
        "where several products know the key"
    ) { (text) throws(ValueFault) in try ProductName(text) }

    private static let activate = Command(
        "admin offline activate",
        .writes,
        "activates by a request file and prints the bundle to carry back",
        [file.specification, product.specification],
        example: "admin offline activate request.json > response.jws"
    ) { call, context in
        let name = try call.value(product)
        let document = try JSONDocument(parsing: context.surroundings.readFile(try call.required(file), 65_536))
        let request = try OfflineRequest(document.root)
        let work = try context.open()
        let target = try OfflineTarget(request, of: name, work)
        let claim = InstallClaim(
            digest: work.keys.digest(of: request.install, product: target.caller.product.id),
            fingerprint: request.fingerprint.map { work.keys.digest(of: $0, product: target.caller.product.id) },
            device: request.device,
            subject: LicenseBundle.subject(product: target.caller.product.slug, install: request.install)
        )
        let key = KeyClaim(digest: work.keys.digest(of: target.key, product: target.caller.product.id))
        let seats = SeatService(entropy: work.entropy)
        // The state is read in the very transaction: in a dry run there is no later.
        let (outcome, state) = try work.write { db in
            guard
                let outcome = try seats.activate(
                    key,
                    on: claim,
                    replacing: request.replaced,
                    for: target.caller,
                    at: work.now,
                    in: db
                )
            else { throw Refusal(.licenseNotFound, "there is no such license", member: "license_key") }
            if outcome.decision.value != nil { try record(outcome, target.caller, work, in: db) }
            let state =
                try work.isDryRun ? nextState(of: outcome.install, claim, request, target.caller, work, in: db) : nil
            return (outcome, state)
        }
        guard let activation = outcome.decision.value else {
            throw refusal(outcome.decision.denial, outcome.seats)
        }
        let facts =
            try state
            ?? work.read { db in
                try nextState(of: outcome.install, claim, request, target.caller, work, in: db)
            }
        var signers = SignerCache(keys: work.keys)
        let bundle = String(decoding: try signers.bundle(for: facts, at: work.now), as: UTF8.self)
        let isDryRun = work.isDryRun
        return Report(text: isDryRun ? "the license would be activated" : bundle) { writer in
            writer.member("bundle", orNull: isDryRun ? nil : bundle)
            writer.name("activation")
            writer.object { writer in
                writer.member("id", activation.id.text)
                writer.member("activated_at", activation.activatedAt.rfc3339)
            }
            writer.name("seats")
            writer.object { writer in
                writer.member("used", outcome.seats.used)
                writer.member("limit", orNull: outcome.seats.limit.count.map(Int64.init))
            }
            if isDryRun { writer.member("dry_run", true) }
        }
    }

    private static func nextState<DB: Queries & ~Copyable>(
        of install: Install,
        _ claim: InstallClaim,
        _ request: OfflineRequest,
        _ caller: Caller,
        _ work: borrowing Workspace,
        in db: borrowing DB
    ) throws -> InstallState {
        try BundleService().state(
            of: install,
            subject: claim.subject,
            nonce: request.nonce,
            for: caller,
            at: work.now,
            in: db
        )
    }

    private static func record(
        _ outcome: SeatOutcome<Activation>,
        _ caller: Caller,
        _ work: borrowing Workspace,
        in db: borrowing WriteTransaction
    ) throws {
        guard let activation = outcome.decision.value else { return }
        try AuditTrail(keys: work.keys).record(
            AuditedChange(
                vendor: caller.vendor.id,
                action: "license.activate-offline",
                target: outcome.license.id.text,
                after: "{\"activation\":\"\(activation.id)\"}"
            ),
            by: work.actor,
            in: db
        )
    }

    private static func refusal(_ denial: Denial?, _ seats: SeatUse) -> CommandFailure {
        guard let denial else { return CommandFailure(code: "INTERNAL", "nothing was decided") }
        let words =
            switch denial {
            case .revoked: "the license is revoked"
            case .suspended: "the license is suspended"
            case .notStarted(let start): "the license begins at \(start)"
            case .expired(let end): "the license ended at \(end)"
            case .reissued: "the license has a new key, which a new install needs"
            case .notActivated: "the install holds no seat"
            case .noSeats(let used, let limit): "\(used) of \(limit) seats are in use"
            case .transferLimit(let most): "at most \(most) new installs in the plan's period"
            case .selfReleaseOff: "the plan does not let customers replace seats"
            case .replacedSeatNotFound: "replace names no seat of this license"
            case .notRenewable, .renewalWithoutDuration: "the license cannot be renewed"
            }
        return CommandFailure(code: denial.code.rawValue, words)
    }
}

/// The body of `activate`, in a file.
private struct OfflineRequest {
    let keyText: String
    let install: InstallID
    let fingerprint: DeviceFingerprint?
    let device: DeviceInfo
    let nonce: String
    let replaced: Activation.ID?

    init(_ value: JSONValue) throws {
        var reader = try MemberReader(value)
        let key = reader.requiredText("license_key")
        let install = reader.requiredText("install_id").flatMap { text in
            Self.parsed("install_id", text, &reader) { (text) throws(ValueFault) in try InstallID(text) }
        }
        fingerprint = reader.text("fingerprint").flatMap { text in
            Self.parsed("fingerprint", text, &reader) { (text) throws(ValueFault) in try DeviceFingerprint(text) }
        }
        device = Self.device(&reader)
        // Without it the app could not tell this answer from an older one.
        let nonce = reader.requiredText("nonce", maximum: 64)
        replaced = reader.parsed("replace", "must be the id of a seat") { Activation.ID($0) }
        try reader.finish()
        guard let key, let install, let nonce else { throw InvalidMembers(.root, "is no request of an app") }
        keyText = key
        self.install = install
        self.nonce = nonce
    }

    private static func parsed<Value>(
        _ name: String,
        _ text: String,
        _ reader: inout MemberReader,
        _ parse: (String) throws(ValueFault) -> Value
    ) -> Value? {
        do {
            return try parse(text)
        } catch {
            reader.refuse(name, error.reason)
            return nil
        }
    }

    private static func device(_ reader: inout MemberReader) -> DeviceInfo {
        guard var device = reader.object("device") else { return .none }
        let info = DeviceInfo(
            name: device.text("name"),
            platform: device.text("platform"),
            appVersion: device.text("app_version"),
            osVersion: device.text("os_version"),
            model: device.text("model"),
            arch: device.text("arch")
        )
        reader.absorb(device)
        return info
    }
}

/// The license that the request's key leads to, and on whose behalf its bundle is made.
private struct OfflineTarget {
    let caller: Caller
    let key: LicenseKey

    init(_ request: OfflineRequest, of name: ProductName?, _ work: borrowing Workspace) throws {
        let service = LicenseService(keys: work.keys, entropy: work.entropy)
        caller = try work.read { db in
            let product = try name.map { try CatalogFinder.product($0.product, of: $0.vendor, in: db).product }
            let id = try service.find(request.keyText, of: product, in: db)
            guard let facts = try service.facts(of: id, .summary, at: work.now, in: db) else {
                throw Refusal(.licenseNotFound, "there is no such license", member: "license_key")
            }
            return Caller(vendor: facts.vendor, product: facts.product, mode: facts.license.mode)
        }
        do throws(LicenseKey.Fault) {
            key = try LicenseKey(request.keyText, prefix: caller.product.keyPrefix)
        } catch {
            throw InvalidMembers(JSONPointer("license_key"), "must be a license key")
        }
    }
}
