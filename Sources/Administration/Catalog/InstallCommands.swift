internal import Licensing
internal import LicensingServices
internal import StrictJSON

/// `admin install …`.
enum InstallCommands {
    static let all = [list, show]

    private static let named = Parameter<Install.ID>.argument("INSTALL", "its id here, ins_…", isRequired: false) {
        (text) throws(ValueFault) in try CommonParameters.identifier(text)
    }
    private static let installID = Parameter<InstallID>.option(
        "install-id",
        "ID",
        "the id that its app sends, which is not kept as it is; needs --product"
    ) { (text) throws(ValueFault) in try CommonParameters.installID(text) }
    private static let product = Parameter<ProductName>.option(
        "product",
        "VENDOR/PRODUCT",
        "the product, needed with --install-id"
    ) { (text) throws(ValueFault) in try ProductName(text) }

    private static let list = Command(
        "admin install list",
        .lists,
        "lists a product's installs by the second of their first contact, then by id",
        [CommonParameters.product.specification, LicenseParameters.modeFilter.specification],
        example: "admin install list --product acme/editor --mode live"
    ) { call, context in
        let name = try call.required(CommonParameters.product)
        let mode = try call.value(LicenseParameters.modeFilter)
        let (limit, cursor) = (try call.limit(), try call.cursor(of: Install.self))
        let work = try context.open()
        let now = work.now
        let installs = try work.read { db in
            let (vendor, product) = try CatalogFinder.product(name.product, of: name.vendor, in: db)
            return try InstallDirectory.list(
                of: product,
                in: vendor,
                mode: mode,
                after: cursor,
                limit: limit + 1,
                at: now,
                in: db
            )
        }
        return .page("installs", Page(installs, limit: limit) { $0.install.id.text }) { writer, facts in
            writer.object { facts.writeMembers(to: &$0) }
        }
    }

    private static let show = Command(
        "admin install show",
        .reads,
        "shows an install: its seats, trial, purchases and gifts, and what they grant now",
        [named.specification, installID.specification, product.specification, CommonParameters.mode.specification],
        example: "admin install show --product acme/editor --install-id 5f0c…-id-of-the-install"
    ) { call, context in
        let (id, secret) = (try call.value(named), try call.value(installID))
        let name = try call.value(product)
        let mode = try call.value(CommonParameters.mode) ?? .live
        guard (id == nil) != (secret == nil) else {
            throw CommandFailure.usage("admin install show needs INSTALL or --install-id", option: "--install-id")
        }
        guard secret == nil || name != nil else {
            throw CommandFailure.usage("--install-id needs --product", option: "--product")
        }
        let work = try context.open()
        let product = try name.map { try work.product($0).product }
        let digest = secret.flatMap { secret in
            product.map { InstallName.digest(work.keys.digest(of: secret, product: $0.id), mode) }
        }
        guard let install = id.map(InstallName.id) ?? digest else {
            throw Refusal(.installNotFound, "there is no such install", member: "install")
        }
        let now = work.now
        let rights = try work.read { db in
            try InstallDirectory.rights(of: install, product: product, at: now, in: db)
        }
        return work.report("install") { rights.write(to: &$0) }
    }
}

extension InstallFacts {
    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.member("id", install.id.text)
        writer.member("product", productName)
        writer.member("mode", install.mode.rawValue)
        writer.member("first_seen_at", install.firstContactAt.rfc3339)
        writer.member("last_seen_at", install.lastSeenAt.rfc3339)
        writer.name("device")
        writer.object { writer in
            writer.member("name", orNull: install.device.name)
            writer.member("platform", orNull: install.device.platform)
            writer.member("app_version", orNull: install.device.appVersion)
            writer.member("os_version", orNull: install.device.osVersion)
            writer.member("model", orNull: install.device.model)
            writer.member("arch", orNull: install.device.arch)
        }
        writer.member("has_fingerprint", install.fingerprint != nil)
        writer.member("seats_held", seats.count)
    }
}

extension InstallRights {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { writer in
            facts.writeMembers(to: &writer)
            writer.name("activations")
            writer.array { writer in
                for seat in facts.seats { write(seat, to: &writer) }
            }
            writer.name("trial")
            if let trial {
                trial.write(to: &writer, under: settings, at: facts.now)
            } else {
                writer.null()
            }
            writer.name("purchases")
            writer.array { writer in for purchase in purchases { purchase.write(to: &writer, at: facts.now) } }
            writer.name("gifts")
            writer.array { writer in for gift in gifts { gift.write(to: &writer, at: facts.now) } }
            writer.name("grants")
            writer.array { writer in
                for grant in grants {
                    writer.object { writer in
                        writer.member("feature", grant.feature.text)
                        writer.member("source", grant.source.rawValue)
                        writer.member("starts_at", grant.starts.rfc3339)
                        writer.member("ends_at", orNull: grant.ends?.rfc3339)
                        writer.member("ref", grant.reference.text)
                    }
                }
            }
        }
    }

    private func write(_ seat: InstallFacts.Seat, to writer: inout JSONWriter) {
        let (activation, license) = (seat.activation, seat.license)
        writer.object { writer in
            writer.member("id", activation.id.text)
            writer.member("license", license.id.text)
            writer.member("plan", license.plan.code.text)
            writer.member("status", license.status(at: facts.now).rawValue)
            writer.member("activated_at", activation.activatedAt.rfc3339)
            writer.member("last_seen_at", activation.lastSeenAt.rfc3339)
            let leaseEnd = activation.leaseEnd(leaseSeconds: license.plan.leaseSeconds)
            writer.member("lease_expires_at", ifPresent: leaseEnd?.rfc3339)
        }
    }
}
