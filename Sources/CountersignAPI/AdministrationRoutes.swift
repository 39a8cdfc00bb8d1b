import CountersignWire
import HTTPServer
import Licensing
import LicensingServices
import Storage
import StrictJSON

/// Administration of licenses over HTTP: the functions of the command line, its options as members, its JSON as answers.
enum AdministrationRoutes {
    static let all: [Endpoint] = [
        Endpoint(
            "admin.licenses.issue",
            .post,
            "/v1/admin/licenses",
            "Issues licenses; an order id makes it idempotent.",
            .issueLicenses,
            credential: .administration,
            handler: issue
        ),
        Endpoint(
            "admin.licenses.list",
            .get,
            "/v1/admin/licenses",
            "Lists licenses, page by page, until next is null: a page may be short, or empty, and not be the last. "
                + "order_id finds one whose order id no path can carry.",
            .listLicenses,
            credential: .administration,
            handler: list
        ),
        Endpoint(
            "admin.licenses.show",
            .get,
            "/v1/admin/licenses/{license}",
            "Shows a license, by its id or order id.",
            .showLicense,
            credential: .administration,
            handler: show
        ),
        change("suspend", "Holds a license back.", .suspendLicense, suspend),
        change("reinstate", "Makes a suspended license active again.", .reinstateLicense, reinstate),
        change("revoke", "Takes a license back.", .revokeLicense, revoke),
        change("renew", "Lets a license last longer.", .renewLicense, renew),
        change("reissue", "Gives a license a new key.", .reissueLicense, tellsKey: true, reissue),
        change("release-seat", "Releases one seat of a license.", .releaseSeat, releaseSeat),
    ]

    // MARK: Questions

    private static func show(_ request: HTTPRequest, _ context: inout LoopState) throws -> Outcome<Job> {
        let caller = try context.authenticateAdministration(request)
        let query = try Query(request)
        let name = request.pathParameters["license"] ?? ""
        let service = context.services.licenses
        let facts = try context.reader.snapshot { db in
            let product = try caller.product(named: query["product"], in: db)
            let license = try service.find(
                idOrOrder: name,
                of: caller.vendor.id,
                product: product,
                mode: caller.mode,
                in: db
            )
            return try service.facts(of: license.id, at: caller.now, in: db)
        }
        guard let facts else { throw Problem(.licenseNotFound, "There is no such license.") }
        context.trace.license = facts.license.id
        return .reply(.json(.ok, try Done(facts: [facts]).license(service, tellsKey: true)))
    }

    /// The most licenses of a product that one page looks at: whoever asks for a rare status must not hold up the loop.
    static let mostLookedAt = 2000

    private static func list(_ request: HTTPRequest, _ context: inout LoopState) throws -> Outcome<Job> {
        let caller = try context.authenticateAdministration(request)
        let query = try Query(request)
        var invalid: [InvalidMember] = []
        func read<Value>(_ name: String, _ parse: (String) throws(ValueFault) -> Value) -> Value? {
            guard let text = query[name] else { return nil }
            do throws(ValueFault) {
                return try parse(text)
            } catch {
                invalid.append(InvalidMember(JSONPointer(name), error.reason))
                return nil
            }
        }
        var filter = LicenseFilter(
            vendor: caller.vendor.id,
            plan: read("plan") { text throws(ValueFault) in try PlanCode(text) },
            status: read("status") { text throws(ValueFault) in try word(text) },
            customerEmail: read("customer_email") { text throws(ValueFault) in try EmailAddress(text) },
            mode: caller.mode,
            orderID: read("order_id", LicenseForms.orderID)
        )
        if let mode: Mode = read("mode", word), mode != caller.mode {
            throw Problem(.forbidden, "The mode is the credential's.")
        }
        let cursor = read("cursor") { text throws(ValueFault) in
            guard let cursor = License.ID(text) else { throw ValueFault("is none of this list") }
            return cursor
        }
        let limit = read("limit") { text throws(ValueFault) in
            let isDigits = !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
            guard isDigits, let limit = Int(text), (1...1000).contains(limit) else {
                throw ValueFault("must be 1 to 1000")
            }
            return limit
        }
        guard invalid.isEmpty else { throw InvalidMembers(invalid) }
        let service = context.services.licenses
        let page = try context.reader.snapshot { db in
            filter.product = try caller.product(named: query["product"], in: db)?.id
            return try service.list(
                filter,
                after: cursor,
                limit: limit ?? 100,
                lookingAt: mostLookedAt,
                at: caller.now,
                in: db
            )
        }
        var writer = JSONWriter(capacity: 1024)
        writer.object { writer in
            writer.name("licenses")
            writer.array { writer in for facts in page.licenses { facts.write(to: &writer) } }
            writer.member("next", orNull: page.next?.text)
        }
        return .reply(.json(.ok, writer.finish()))
    }

    private static func word<Word: RawRepresentable<String> & CaseIterable>(
        _ text: String
    ) throws(ValueFault) -> Word {
        guard let word = Word(rawValue: text) else {
            throw ValueFault("must be one of " + Word.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return word
    }

    // MARK: Issue

    private static func issue(_ request: HTTPRequest, _ context: inout LoopState) throws -> Outcome<Job> {
        var call = try AdministrationCall(request, &context)
        let end = call.reading("expires_at", LicenseForms.end)
        let duration = call.reading("duration", LicenseForms.duration)
        if end != nil && duration != nil {
            call.members.refuse("duration", "does not go together with expires_at")
        }
        let plan = call.reading("plan", isRequired: true) { text throws(ValueFault) in try PlanCode(text) }
        let count = call.count()
        let orderID = call.reading("order_id", LicenseForms.orderID)
        if count > 1 && orderID != nil { call.members.refuse("count", "must be 1 where order_id names the license") }
        let seats = call.seats()
        let startsAt = call.reading("starts_at", LicenseForms.start)
        let maintenance = call.reading("maintenance_until", LicenseForms.maintenance)
        let offlineLife = call.reading("offline_life", LicenseForms.offlineLife)
        let name = call.reading("customer_name", LicenseForms.name)
        let email = call.reading("customer_email") { text throws(ValueFault) in try EmailAddress(text) }
        if call.caller.product == nil && call.productName == nil {
            call.members.refuse("product", "is required: the credential is for every product of the vendor")
        }
        try call.members.finish()
        guard let plan else { throw Problem(InvalidMembers(JSONPointer("plan"), "is required")) }
        let order = LicenseOrder(
            plan: plan,
            mode: call.caller.mode,
            orderID: orderID,
            seatLimit: seats?.override,
            end: duration.map { .duration($0) } ?? end ?? .plan,
            startsAt: startsAt,
            maintenanceUntil: maintenance?.value,
            offlineLife: offlineLife?.override,
            customerName: name,
            customerEmail: email
        )
        let (caller, productName) = (call.caller, call.productName)
        let product = try context.reader.snapshot { db in try caller.product(named: productName, in: db) }
        guard let product else { throw Problem(InvalidMembers(JSONPointer("product"), "is required")) }
        let service = context.services.licenses
        let (actor, now, route) = (call.actor, caller.now, "admin.licenses.issue")
        let prepare: @Sendable () throws -> [LicenseDraft] = {
            try service.drafts(count, of: order, for: product, at: now)
        }
        let issue: @Sendable ([LicenseDraft], borrowing WriteTransaction) throws -> [AdministrationCall.Change] = {
            drafts,
            db in
            try service.issue(drafts, of: product, by: actor, in: db).map { issued, facts in
                AdministrationCall.Change(license: issued.license.id, key: issued.key?.text, facts: facts)
            }
        }
        let render: @Sendable (Done) throws -> [UInt8] = { done in try done.licenses(service) }
        guard count <= mostMadeReadyHere else {
            return call.write(to: product, route, context.services, after: prepare, issue, render: render)
        }
        let drafts = try prepare()
        return call.write(to: product, route, context.services, { db in try issue(drafts, db) }, render: render)
    }

    /// The most licenses whose keys a loop makes: more of them are left to the worker.
    private static let mostMadeReadyHere = 10

    // MARK: Changes

    /// What a route does to a license, once its members are read.
    private typealias Body =
        @Sendable (_ license: License, _ product: Product, borrowing WriteTransaction) throws -> ChangeResult

    /// What a change tells besides the license.
    private struct ChangeResult: Sendable {
        /// A key that was made.
        var key: String?
        /// Whether a seat was held until now.
        var isReleased: Bool?
    }

    /// Reads a route's members; what must be made ready before the transaction is made for this license.
    private typealias Reading =
        @Sendable (
            _ call: inout AdministrationCall, _ license: License, _ product: Product, _ service: LicenseService
        ) throws -> Body?

    private static func change(
        _ word: String,
        _ summary: String,
        _ description: RouteDescription,
        tellsKey: Bool = false,
        _ read: @escaping Reading
    ) -> Endpoint {
        Endpoint(
            "admin.licenses.\(word)",
            .post,
            "/v1/admin/licenses/{license}/\(word)",
            summary,
            description,
            credential: .administration
        ) { request, context in
            var call = try AdministrationCall(request, &context)
            let name = request.pathParameters["license"] ?? ""
            let (caller, productName) = (call.caller, call.productName)
            let service = context.services.licenses
            let (license, product) = try context.reader.snapshot { db in
                let product = try caller.product(named: productName, in: db)
                let license = try service.find(
                    idOrOrder: name,
                    of: caller.vendor.id,
                    product: product,
                    mode: caller.mode,
                    in: db
                )
                return (license, try LicenseService.product(of: license, in: db))
            }
            context.trace.license = license.id
            let body = try read(&call, license, product, service)
            try call.members.finish()
            guard let body else { throw Problem(InvalidMembers(.root, "is not complete")) }
            let id = license.id
            return call.write(to: product, "admin.licenses.\(word) \(id)", context.services) { db in
                let result = try body(try LicenseService.license(id, in: db), product, db)
                return [AdministrationCall.Change(license: id, key: result.key, isReleased: result.isReleased)]
            } render: { done in
                try done.license(service, tellsKey: tellsKey)
            }
        }
    }

    private static let suspend: Reading = { call, _, _, service in
        guard let reason = call.reason() else { return nil }
        let actor = call.actor
        return { license, product, db in
            _ = try service.suspend(license, of: product, because: reason, by: actor, in: db)
            return ChangeResult()
        }
    }

    private static let reinstate: Reading = { call, _, _, service in
        let includesRevoked = call.members.bool("revoked") ?? false
        guard let reason = call.reason() else { return nil }
        let actor = call.actor
        return { license, product, db in
            _ = try service.reinstate(
                license,
                of: product,
                includingRevoked: includesRevoked,
                because: reason,
                by: actor,
                in: db
            )
            return ChangeResult()
        }
    }

    private static let revoke: Reading = { call, _, _, service in
        guard let reason = call.reason() else { return nil }
        let actor = call.actor
        return { license, product, db in
            _ = try service.revoke(license, of: product, because: reason, by: actor, in: db)
            return ChangeResult()
        }
    }

    private static let renew: Reading = { call, _, _, service in
        let duration = call.reading("duration", LicenseForms.duration)
        let reason = call.reason(isRequired: false)
        let actor = call.actor
        return { license, product, db in
            _ = try service.renew(license, of: product, by: duration, because: reason, by: actor, in: db)
            return ChangeResult()
        }
    }

    private static let reissue: Reading = { call, license, product, service in
        let revokesSeats = call.members.bool("revoke_seats") ?? false
        guard let reason = call.reason() else { return nil }
        let actor = call.actor
        let key = try service.newKey(for: product, mode: license.mode)
        return { license, product, db in
            _ = try service.reissue(
                license,
                of: product,
                with: key,
                revokesSeats: revokesSeats,
                because: reason,
                by: actor,
                in: db
            )
            return ChangeResult(key: key.key.text)
        }
    }

    private static let releaseSeat: Reading = { call, _, _, service in
        let activation = call.reading("activation", isRequired: true) { text throws(ValueFault) in
            guard let id = Activation.ID(text) else { throw ValueFault("must be an id that begins with act_") }
            return id
        }
        let reason = call.reason(isRequired: false)
        guard let activation else { return nil }
        let actor = call.actor
        return { license, product, db in
            let isReleased = try service.releaseSeat(
                activation,
                of: license,
                product: product,
                because: reason,
                by: actor,
                in: db
            )
            return ChangeResult(isReleased: isReleased)
        }
    }
}

extension Services {
    /// What an administrator does with licenses.
    var licenses: LicenseService { LicenseService(keys: keys, entropy: entropy) }
}

/// The pairs of a query, each name once.
private struct Query {
    private var values: [String: String] = [:]

    init(_ request: HTTPRequest) throws {
        for pair in try request.queryParameters() {
            guard values.updateValue(pair.value, forKey: pair.name) == nil else {
                throw Problem(InvalidMembers(JSONPointer(pair.name), "must be there once"))
            }
        }
    }

    subscript(_ name: String) -> String? { values[name] }
}
