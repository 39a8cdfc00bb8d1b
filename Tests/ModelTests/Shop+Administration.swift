import Licensing
import LicensingServices
import Storage
import Testing

@testable import CountersignAPI

// What administrators do, as the command line does it.
extension Shop {
    /// Does one operation; what the caller hears of it.
    func perform(_ operation: Operation, _ opened: borrowing Opened) throws -> Told {
        switch operation {
        case .activate(let key, let install, let fingerprint, let replacing):
            return try activate(key, install, fingerprint, replacing, opened)
        case .validate(let key, let install, let fingerprint): return try validate(key, install, fingerprint, opened)
        case .deactivate(let key, let install): return try deactivate(key, install, opened)
        case .heartbeat(let key, let install): return try heartbeat(key, install, opened)
        case .seats(let key, let install): return try listSeats(key, install, opened)
        case .sync(let install, let fingerprint): return try sync(install, fingerprint, opened)
        case .trial(let install, let fingerprint, let start, let firstLaunch):
            return try trial(install, fingerprint, start, firstLaunch, opened)
        case .peek(let install, let amounts, let key): return try peek(install, amounts, key, opened)
        case .consume(let install, let amounts, let key, let repeatKey):
            return try consume(install, amounts, key, repeatKey, opened)
        case .present(let document, let install, let fingerprint):
            return try present(document, install, fingerprint, opened)
        case .wait, .waitForEnd, .restart: return .skipped
        default:
            do {
                return try administer(operation, opened)
            } catch let refusal as Refusal {
                var told = Told(refusal.code.rawValue)
                told.affected = refusal.licenses
                return told
            }
        }
    }

    private func administer(_ operation: Operation, _ opened: borrowing Opened) throws -> Told {
        switch operation {
        case .issue(let plan, let seats, let end, let startsIn, let customer, let life):
            return try issue(plan, seats, end, startsIn, customer, life, opened)
        case .give(let recipient, let features, let lasting): return try give(recipient, features, lasting, opened)
        case .withdraw(let gift):
            guard gifts.indices.contains(gift) else { return .skipped }
            let id = gifts[gift]
            _ = try opened.writer.write { db in try GiftService(keys: services.keys).end(id, by: actor, in: db) }
            return Told("OK")
        case .editPlan(let number, let edit, let affects):
            let changes = try edit.changes()
            _ = try opened.writer.write { db in
                let product = try caller(in: db).product
                let plan = try #require(try PlanStore.find(PlanCode("plan\(number)"), of: product.id, in: db))
                return try catalog.edit(plan, of: product, by: changes, affectsExisting: affects, actor: actor, in: db)
            }
            return Told("OK")
        case .set(let edit, let revives):
            _ = try opened.writer.write { db in
                let product = try caller(in: db).product
                return try catalog.edit(
                    product,
                    by: edit.changes(),
                    revivesTrials: revives,
                    affectsExisting: revives,
                    actor: actor,
                    in: db
                )
            }
            return Told("OK")
        case .extendTrial(let install, let until):
            let digest = try claim(install).digest
            try opened.writer.write { db in
                let product = try caller(in: db).product
                let trial = try TrialService.trial(ofInstall: digest, product: product, mode: mode, in: db)
                _ = try services.trials.extend(
                    trial,
                    of: product,
                    until: time.adding(seconds: until),
                    by: actor,
                    in: db
                )
            }
            return Told("OK")
        case .resetMeter(let meter, let install):
            return try count(meter, install, opened) { counts, count, product, db in
                try counts.reset(count, of: product, because: "model", by: actor, in: db)
            }
        case .refundMeter(let meter, let install, let amount):
            return try count(meter, install, opened) { counts, count, product, db in
                try counts.refund(amount, of: count, in: product, because: "model", by: actor, in: db)
            }
        case .notify(let name, let isSandbox, let document, let renewal):
            return try notify(name, isSandbox, document, renewal, opened)
        case .connect(let isSandbox, let edit): return try connect(isSandbox, edit, opened)
        default: return try change(operation, opened)
        }
    }

    private func issue(
        _ plan: Int,
        _ seats: Seats?,
        _ end: End,
        _ startsIn: Int64?,
        _ customer: Int?,
        _ life: Int64?,
        _ opened: borrowing Opened
    ) throws -> Told {
        let order = LicenseOrder(
            plan: try PlanCode("plan\(plan)"),
            mode: mode,
            seatLimit: seats?.limit,
            end: choice(end),
            startsAt: startsIn.map { time.adding(seconds: $0) },
            offlineLife: life?.duration,
            customerEmail: try customer.map { try email(ofCustomer: $0) }
        )
        let product = try opened.reader.snapshot { db in try caller(in: db).product }
        let draft = try licensing.draft(order, for: product, at: time)
        let issued = try opened.writer.write { db in try licensing.issue(draft, of: product, by: actor, in: db) }
        remember(issued.license.id)
        keys.append([try #require(issued.key).text])
        return try shown(issued.license.id, opened)
    }

    private func choice(_ end: End) -> EndChoice {
        switch end {
        case .plan: .plan
        case .never: .never
        case .after(let seconds): .at(time.adding(seconds: seconds))
        case .lasting(let span): .duration(span.duration)
        }
    }

    /// A license as administrators are told of it.
    private func shown(_ id: License.ID, _ opened: borrowing Opened) throws -> Told {
        let facts = try opened.reader.snapshot { db in
            try #require(try licensing.facts(of: id, at: time, in: db))
        }
        var told = Told("OK")
        told.license = self.told(facts.license)
        (told.used, told.limit) = (facts.seats.used, facts.seats.limit.count)
        told.rows = facts.activations?.map { Told.Row(seat: number(of: $0.id), isThis: false) }
        return told
    }

    private func change(_ operation: Operation, _ opened: borrowing Opened) throws -> Told {
        guard let number = operation.license, licenses.indices.contains(number) else { return .skipped }
        let id = licenses[number]
        let key: LicenseKeyDraft?
        if case .reissue = operation {
            let product = try opened.reader.snapshot { db in try caller(in: db).product }
            key = try licensing.newKey(for: product, mode: mode)
        } else {
            key = nil
        }
        let isReleased = try opened.writer.write { db -> Bool? in
            let license = try LicenseService.license(id, in: db)
            let product = try caller(in: db).product
            switch operation {
            case .suspend: _ = try licensing.suspend(license, of: product, because: "model", by: actor, in: db)
            case .reinstate(_, let revoked):
                _ = try licensing.reinstate(
                    license,
                    of: product,
                    includingRevoked: revoked,
                    because: "model",
                    by: actor,
                    in: db
                )
            case .revoke: _ = try licensing.revoke(license, of: product, because: "model", by: actor, in: db)
            case .renew(_, let span):
                _ = try licensing.renew(license, of: product, by: span?.duration, by: actor, in: db)
            case .reissue(_, let revokesSeats):
                _ = try licensing.reissue(
                    license,
                    of: product,
                    with: try #require(key),
                    revokesSeats: revokesSeats,
                    because: "model",
                    by: actor,
                    in: db
                )
            case .edit(_, let edit):
                _ = try licensing.edit(license, of: product, by: try changes(edit), by: actor, in: db)
            case .releaseSeat(_, let seat):
                return try licensing.releaseSeat(
                    self.seat(seat),
                    of: license,
                    product: product,
                    because: nil,
                    by: actor,
                    in: db
                )
            default: break
            }
            return nil
        }
        if let key { keys[number].append(key.key.text) }
        var told = try shown(id, opened)
        told.isReleased = isReleased
        return told
    }

    private func changes(_ edit: LicenseEditSpec) throws -> LicenseChanges {
        func choice<Value>(_ value: Value?) -> PlanChoice<Value> { value.map { .own($0) } ?? .plan }
        switch edit {
        case .plan(let plan): return LicenseChanges(plan: try PlanCode("plan\(plan)"))
        case .seats(let seats): return LicenseChanges(seatLimit: choice(seats?.limit))
        case .end(let end): return LicenseChanges(end: self.choice(end))
        case .offlineLife(let life): return LicenseChanges(offlineLife: choice(life?.duration))
        }
    }

    private func give(
        _ recipient: Recipient,
        _ features: [Int],
        _ lasting: Int64?,
        _ opened: borrowing Opened
    ) throws -> Told {
        let whom: GiftRecipient
        switch recipient {
        case .install(let number): whom = .install(try claim(number).digest)
        case .license(let number):
            guard licenses.indices.contains(number) else { return .skipped }
            whom = .license(licenses[number])
        case .customer(let number): whom = .customer(try email(ofCustomer: number))
        }
        // A license has its own.
        var mode: Mode? = mode
        if case .license = recipient { mode = nil }
        let id: GiftID = try Identifier(at: time, entropy: market.entropy)
        let codes = try features.features()
        let gift = try opened.writer.write { db in
            try GiftService(keys: services.keys).create(
                id,
                of: codes,
                to: whom,
                mode: mode,
                until: lasting.map { time.adding(seconds: $0) },
                of: try caller(in: db).product,
                by: actor,
                in: db
            )
        }
        remember(gift.id)
        return Told("OK")
    }

    private func count(
        _ meter: Int,
        _ install: Int,
        _ opened: borrowing Opened,
        _ change: (MeterCounts, MeterCount, Product, borrowing WriteTransaction) throws -> MeterCount
    ) throws -> Told {
        let counts = MeterCounts(keys: services.keys, entropy: market.entropy)
        let id = try InstallID(Self.install(install))
        let name = try MeterName("m\(meter)")
        let after = try opened.writer.write { db in
            let product = try caller(in: db).product
            let meter = try CatalogFinder.meter(name, of: product, in: db)
            let count = try counts.find(.install(id), of: meter, in: product, mode: mode, at: time, from: db)
            return try change(counts, count, product, db)
        }
        var told = Told("OK")
        told.meters = [Told.Meter](arrayLiteral: self.told(after.report))
        told.meters?[0].isAllowed = true
        return told
    }
}
