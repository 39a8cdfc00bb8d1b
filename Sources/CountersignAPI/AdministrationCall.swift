import CountersignWire
import HTTPServer
import Licensing
import LicensingServices
import Storage
import StrictJSON

/// A call of administration with a body: who calls, what it says, and the key under which it may be sent again.
struct AdministrationCall {
    let caller: AdministrationCaller
    /// What the body says; whoever reads it calls `finish()`.
    var members: MemberReader
    /// `vendor/product`, where the body names one.
    let productName: String?
    private let document: JSONDocument
    private let requestID: String
    private let idempotencyKey: String?
    /// Whether everything is to be done, told, and undone.
    fileprivate let isDryRun: Bool

    /// Authenticates, and reads what all bodies may say.
    ///
    /// - Throws: `Problem`, `JSONSyntaxError`, `InvalidMembers`.
    init(_ request: HTTPRequest, _ context: inout LoopState) throws {
        caller = try context.authenticateAdministration(request)
        try MediaType.check(request)
        document = try JSONDocument(parsing: request.bodyBytes())
        members = try MemberReader(document.root)
        requestID = request.requestID
        productName = members.text("product")
        if let mode = members.text("mode"), mode != caller.mode.rawValue {
            throw Problem(.forbidden, "The mode is the credential's.")
        }
        idempotencyKey = IdempotentCall.key(in: &members, header: request.headerLines("idempotency-key"))
        isDryRun = members.bool("dry_run") ?? false
    }

    /// Who acts.
    var actor: Actor { Actor(name: "credential:\(caller.credential)", requestID: requestID, now: caller.now) }

    // MARK: Members

    /// A member's text, read by `parse`, whose fault says what it wants.
    mutating func reading<Value>(
        _ name: String,
        isRequired: Bool = false,
        _ parse: (String) throws(ValueFault) -> Value
    ) -> Value? {
        guard let text = isRequired ? members.requiredText(name) : members.text(name) else { return nil }
        do throws(ValueFault) {
            return try parse(text)
        } catch {
            members.refuse(name, error.reason)
            return nil
        }
    }

    /// `seats`: an integer, or `unlimited` or `plan`.
    mutating func seats() -> PlanChoice<SeatLimit>? {
        guard let value = members.value("seats") else { return nil }
        do throws(ValueFault) {
            return try LicenseForms.seats(value)
        } catch {
            members.refuse("seats", error.reason)
            return nil
        }
    }

    /// `count`: how many licenses to issue; 1 where it is left out.
    mutating func count() -> Int {
        guard let number = members.integer("count") else { return 1 }
        do throws(ValueFault) {
            return try LicenseForms.count(number)
        } catch {
            members.refuse("count", error.reason)
            return 1
        }
    }

    /// `reason`, for the audit log.
    mutating func reason(isRequired: Bool = true) -> String? {
        reading("reason", isRequired: isRequired) { text throws(ValueFault) in
            try CatalogLimits.checkedName(text, longest: 1000)
        }
    }

    // MARK: Writing

    /// What a change did to one license.
    struct Change: Sendable {
        let license: License.ID
        /// A key that was made. A secret.
        var key: String?
        /// Whether a seat was released.
        var isReleased: Bool?
        /// What the license is now, where that is known; else it is read.
        var facts: LicenseFacts?
    }

    /// Has `change` run in the writer's transaction, once for each idempotency key, and renders the licenses it touched as
    /// they are then.
    ///
    /// - Parameters:
    ///   - product: Whose licenses.
    ///   - route: What is asked, path parameters included: one key used on two routes names two requests.
    ///   - change: Answers what it did.
    ///
    /// A dry run is undone by the writer, as what failed is, and neither asks nor leaves an idempotency key.
    func write(
        to product: Product,
        _ route: String,
        _ services: Services,
        _ change: @escaping @Sendable (borrowing WriteTransaction) throws -> [Change],
        render: @escaping @Sendable (Done) throws -> [UInt8]
    ) -> Outcome<Job> {
        let write = AdministrationWrite(self, to: product, route, services, render)
        return .write(for: caller.origin) { db, _ in
            try write.perform(change, in: db)
        } then: { done, _ in
            .json(.ok, try render(done))
        }
    }

    /// The same after the worker made something ready that would hold up a loop.
    func write<Ready: Sendable>(
        to product: Product,
        _ route: String,
        _ services: Services,
        after prepare: @escaping @Sendable () throws -> Ready,
        _ change: @escaping @Sendable (Ready, borrowing WriteTransaction) throws -> [Change],
        render: @escaping @Sendable (Done) throws -> [UInt8]
    ) -> Outcome<Job> {
        let write = AdministrationWrite(self, to: product, route, services, render)
        return .compute(for: caller.origin) { _ in
            let ready = try prepare()
            return .write { db, _ in
                let done = try write.perform({ db in try change(ready, db) }, in: db)
                return { _ in .json(.ok, try render(done)) }
            }
        }
    }

    /// What a repeat is recognized by; nil where the client does not want that.
    fileprivate func idempotentCall(_ route: String, _ product: Product, _ keys: DataKeys) -> IdempotentCall? {
        guard let idempotencyKey, !isDryRun else { return nil }
        return IdempotentCall(
            key: idempotencyKey,
            body: document.root,
            route: route,
            caller: caller.credential.text,
            product: product.id,
            mode: caller.mode,
            keys: keys
        )
    }
}

/// What the writer does for a call of administration.
private struct AdministrationWrite: Sendable {
    let call: IdempotentCall?
    let now: Timestamp
    let service: LicenseService
    let isDryRun: Bool
    let render: @Sendable (Done) throws -> [UInt8]

    init(
        _ call: AdministrationCall,
        to product: Product,
        _ route: String,
        _ services: Services,
        _ render: @escaping @Sendable (Done) throws -> [UInt8]
    ) {
        self.call = call.idempotentCall(route, product, services.keys)
        now = call.caller.now
        service = services.licenses
        isDryRun = call.isDryRun
        self.render = render
    }

    func perform(
        _ change: (borrowing WriteTransaction) throws -> [AdministrationCall.Change],
        in db: borrowing WriteTransaction
    ) throws -> Done {
        guard let call else {
            var done = try decide(change, in: db)
            guard isDryRun else { return done }
            done.isDryRun = true
            throw DryRun { [done, render = self.render] in .json(.ok, try render(done)) }
        }
        let outcome = try call.perform(at: now, in: db) { kept in
            try Done(kept, service, at: now, in: db)
        } decide: { db in
            let done = try decide(change, in: db)
            return (done, done.kept)
        }
        // Administration is about no install, so there is no bundle to tell.
        guard let done = outcome.facts else { throw Problem.idempotencyConflict(bundle: nil, at: now) }
        return done
    }

    private func decide(
        _ change: (borrowing WriteTransaction) throws -> [AdministrationCall.Change],
        in db: borrowing WriteTransaction
    ) throws -> Done {
        var done = Done(facts: [])
        for change in try change(db) {
            if let facts = change.facts {
                done.facts.append(facts)
            } else {
                try done.add(change.license, service, at: now, in: db)
            }
            if let key = change.key { done.keys[change.license] = key }
            done.isReleased = change.isReleased
        }
        return done
    }
}

/// Ends a job whose changes are to be undone, with the answer that tells them, rendered on the loop.
struct DryRun: Error {
    let answer: @Sendable () throws -> HTTPResponse
}

/// What a call of administration did, as far as its answer needs.
struct Done: Sendable {
    /// The licenses, as they are after it.
    var facts: [LicenseFacts]
    /// Keys that were made. Secrets.
    var keys: [License.ID: String] = [:]
    /// Whether a seat was released.
    var isReleased: Bool?
    /// Whether it is undone.
    var isDryRun = false

    init(facts: [LicenseFacts]) { self.facts = facts }

    /// What an earlier request of the same key did, as things are now.
    init(_ kept: JSONValue, _ service: LicenseService, at now: Timestamp, in db: borrowing WriteTransaction) throws {
        facts = []
        isReleased = kept["released"]?.bool
        guard let ids = kept["licenses"]?.elements else { return }
        for id in ids.compactMap({ $0.string.flatMap { License.ID($0) } }) {
            try add(id, service, at: now, in: db)
        }
    }

    mutating func add(
        _ id: License.ID,
        _ service: LicenseService,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws {
        if let facts = try service.facts(of: id, at: now, in: db) { self.facts.append(facts) }
    }

    /// What is kept under an idempotency key: no keys, no names.
    var kept: [UInt8] {
        var writer = JSONWriter(capacity: 128)
        writer.object { writer in
            writer.name("licenses")
            writer.array { writer in for facts in facts { writer.value(facts.license.id.text) } }
            if let isReleased { writer.member("released", isReleased) }
        }
        return writer.finish()
    }

    /// A key of a dry run opens nothing.
    private func key(of facts: LicenseFacts, _ service: LicenseService) throws -> String? {
        isDryRun ? nil : try keys[facts.license.id] ?? service.key(of: facts)
    }

    /// `{"license":{…}}`.
    ///
    /// - Parameter tellsKey: Whether the license's key is told, where the product keeps keys.
    func license(_ service: LicenseService, tellsKey: Bool) throws -> [UInt8] {
        var writer = JSONWriter(capacity: 1024)
        try writer.object { (writer) throws in
            if let isReleased { writer.member("released", isReleased) }
            if let facts = facts.first {
                writer.name("license")
                facts.write(to: &writer, key: tellsKey ? try key(of: facts, service) : nil)
            }
            if isDryRun { writer.member("dry_run", true) }
        }
        return writer.finish()
    }

    /// `{"licenses":[{…}]}`, with their keys.
    func licenses(_ service: LicenseService) throws -> [UInt8] {
        var writer = JSONWriter(capacity: 1024)
        try writer.object { (writer) throws in
            writer.name("licenses")
            try writer.array { (writer) throws in
                for facts in facts { facts.write(to: &writer, key: try key(of: facts, service)) }
            }
            if isDryRun { writer.member("dry_run", true) }
        }
        return writer.finish()
    }
}

extension AdministrationCaller {
    /// The product that a call is about: the credential's, or the one it names; `nil` where neither says one.
    ///
    /// - Throws: `Problem` with `FORBIDDEN` where it names another than the credential's; `Refusal` (`PRODUCT_NOT_FOUND`),
    ///   also for another vendor's; `StorageError`.
    func product(named name: String?, in db: borrowing Snapshot) throws -> Product? {
        guard let name else { return product }
        if let product {
            guard name == "\(vendor.slug)/\(product.slug)" else {
                throw Problem(.forbidden, "The credential is for another product.")
            }
            return product
        }
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let owner = try? Slug(parts[0]), let slug = try? Slug(parts[1]) else {
            throw Problem(InvalidMembers(JSONPointer("product"), "must be vendor/product"))
        }
        guard owner == vendor.slug, let found = try ProductStore.find(slug: slug, of: vendor.id, in: db) else {
            throw Refusal(.productNotFound, "there is no such product", member: "product")
        }
        return found
    }
}
