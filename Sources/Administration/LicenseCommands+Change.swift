internal import Licensing
internal import LicensingServices
internal import Storage
internal import StrictJSON

extension LicenseCommands {
    static let suspend = change(
        "suspend",
        "holds a license back until it is reinstated",
        needsReason: true,
        example: "suspend lic_01K9ZQ5J6T8V0W2X4Y6Z8A0C2E --reason 'invoice 17 is open'"
    ) { invocation in
        let reason = try invocation.required(CommonParameters.reason)
        return { license, change, db in
            try change.service.suspend(license, of: change.product, because: reason, by: change.actor, in: db)
        }
    }

    static let reinstate = change(
        "reinstate",
        "makes a suspended license active again; a revoked one with --revoked",
        [LicenseParameters.revoked.specification],
        needsReason: true,
        example: "reinstate lic_01K9ZQ5J6T8V0W2X4Y6Z8A0C2E --reason 'invoice 17 was paid'"
    ) { invocation in
        let reason = try invocation.required(CommonParameters.reason)
        let includesRevoked = invocation.isSet(LicenseParameters.revoked)
        return { license, change, db in
            try change.service.reinstate(
                license,
                of: change.product,
                includingRevoked: includesRevoked,
                because: reason,
                by: change.actor,
                in: db
            )
        }
    }

    static let revoke = change(
        "revoke",
        "takes a license back for good",
        needsReason: true,
        example: "revoke lic_01K9ZQ5J6T8V0W2X4Y6Z8A0C2E --reason 'refunded'"
    ) { invocation in
        let reason = try invocation.required(CommonParameters.reason)
        return { license, change, db in
            try change.service.revoke(license, of: change.product, because: reason, by: change.actor, in: db)
        }
    }

    static let renew = change(
        "renew",
        "lets a license last longer: from its end on, or from now where that is over",
        [LicenseParameters.duration.specification],
        example: "renew lic_01K9ZQ5J6T8V0W2X4Y6Z8A0C2E --duration P1Y"
    ) { invocation in
        let duration = try invocation.value(LicenseParameters.duration)
        let reason = try invocation.value(LicenseParameters.reason)
        return { license, change, db in
            try change.service.renew(
                license,
                of: change.product,
                by: duration,
                because: reason,
                by: change.actor,
                in: db
            )
        }
    }

    static let edit = change(
        "edit",
        "changes what a license says for itself",
        [
            LicenseParameters.plan.specification, LicenseParameters.seats.specification,
            LicenseParameters.expiresAt.specification, LicenseParameters.maintenanceUntil.specification,
            LicenseParameters.offlineLife.specification, LicenseParameters.customerName.specification,
        ],
        example: "edit lic_01K9ZQ5J6T8V0W2X4Y6Z8A0C2E --seats 5 --expires-at 2030-06-26"
    ) { invocation in
        let changes = LicenseChanges(
            plan: try invocation.value(LicenseParameters.plan),
            seatLimit: try invocation.value(LicenseParameters.seats),
            end: try invocation.value(LicenseParameters.expiresAt),
            maintenanceUntil: try invocation.value(LicenseParameters.maintenanceUntil),
            offlineLife: try invocation.value(LicenseParameters.offlineLife),
            customerName: try invocation.value(LicenseParameters.customerName)
        )
        guard !changes.isEmpty else {
            throw CommandFailure.usage("admin license edit needs something to change")
        }
        let reason = try invocation.value(LicenseParameters.reason)
        return { license, change, db in
            try change.service.edit(
                license,
                of: change.product,
                by: changes,
                because: reason,
                by: change.actor,
                in: db
            )
        }
    }

    static let reissue = Command(
        "admin license reissue",
        .writes,
        "gives a license a new key; its seats stay",
        [
            LicenseParameters.license.specification, LicenseParameters.product.specification,
            LicenseParameters.revokesSeats.specification, CommonParameters.reason.specification,
        ],
        example:
            "admin license reissue lic_01K9ZQ5J6T8V0W2X4Y6Z8A0C2E --reason 'key was posted in a forum' --revoke-seats"
    ) { invocation, context in
        let target = try Target(invocation)
        let reason = try invocation.required(CommonParameters.reason)
        let revokesSeats = invocation.isSet(LicenseParameters.revokesSeats)
        let workspace = try context.open()
        let change = try Change(target, workspace)
        let key = try change.service.newKey(for: change.product, mode: change.mode)
        let facts = try change.run(workspace) { license, db in
            _ = try change.service.reissue(
                license,
                of: change.product,
                with: key,
                revokesSeats: revokesSeats,
                because: reason,
                by: change.actor,
                in: db
            )
        }
        // A key of a dry run opens nothing.
        let shown = context.isDryRun ? nil : key.key.text
        return Report.one("license", isDryRun: context.isDryRun) { writer in facts.write(to: &writer, key: shown) }
    }

    static let releaseSeat = Command(
        "admin license release-seat",
        .writes,
        "releases one seat of a license",
        [
            LicenseParameters.license.specification, LicenseParameters.product.specification,
            LicenseParameters.activation.specification, LicenseParameters.reason.specification,
        ],
        example: "admin license release-seat lic_01K9ZQ5J6T8V0W2X4Y6Z8A0C2E --activation act_01K9ZR0000000000000000000A"
    ) { invocation, context in
        let target = try Target(invocation)
        let activation = try invocation.required(LicenseParameters.activation)
        let reason = try invocation.value(LicenseParameters.reason)
        let workspace = try context.open()
        let change = try Change(target, workspace)
        var isReleased = false
        let facts = try change.run(workspace) { license, db in
            isReleased = try change.service.releaseSeat(
                activation,
                of: license,
                product: change.product,
                because: reason,
                by: change.actor,
                in: db
            )
        }
        return Report { writer in
            writer.member("released", isReleased)
            writer.name("license")
            facts.write(to: &writer)
            if context.isDryRun { writer.member("dry_run", true) }
        }
    }

    // MARK: -

    /// What a command does to a license within the transaction.
    typealias Body = @Sendable (License, Change, borrowing WriteTransaction) throws -> License

    /// A command that changes one license and shows it.
    private static func change(
        _ word: String,
        _ summary: String,
        _ parameters: [ParameterSpecification] = [],
        needsReason: Bool = false,
        example: String,
        _ body: @escaping @Sendable (Invocation) throws -> Body
    ) -> Command {
        let reason = needsReason ? CommonParameters.reason : LicenseParameters.reason
        return Command(
            "admin license \(word)",
            .writes,
            summary,
            [LicenseParameters.license.specification, LicenseParameters.product.specification] + parameters
                + [reason.specification],
            example: "admin license \(example)"
        ) { invocation, context in
            let target = try Target(invocation)
            let body = try body(invocation)
            let workspace = try context.open()
            let change = try Change(target, workspace)
            let facts = try change.run(workspace) { license, db in _ = try body(license, change, db) }
            return Report.one("license", isDryRun: context.isDryRun) { writer in facts.write(to: &writer) }
        }
    }

    /// A license that was found and is about to be changed. Licenses and products are never taken away, and neither moves
    /// to another mode, so that what was read before the transaction still holds in it.
    struct Change: Sendable {
        let service: LicenseService
        let product: Product
        let mode: Mode
        let actor: Actor
        private let id: License.ID

        init(_ target: Target, _ workspace: borrowing Workspace) throws {
            let service = LicenseService(keys: workspace.keys, entropy: workspace.entropy)
            let (license, product) = try workspace.read { db in
                let license = try LicenseService.license(try target.find(service, in: db), in: db)
                return (license, try LicenseService.product(of: license, in: db))
            }
            self.service = service
            self.product = product
            mode = license.mode
            id = license.id
            actor = workspace.actor
        }

        /// Runs `body` in a transaction on the license as it is there; what is told about it afterwards is read in it, too.
        func run(
            _ workspace: borrowing Workspace,
            _ body: (License, borrowing WriteTransaction) throws -> Void
        ) throws -> LicenseFacts {
            try workspace.write { db in
                try body(try LicenseService.license(id, in: db), db)
                guard let facts = try service.facts(of: id, at: actor.now, in: db) else {
                    throw StorageError(.corrupt, "a license that was just changed is not there")
                }
                return facts
            }
        }
    }
}
