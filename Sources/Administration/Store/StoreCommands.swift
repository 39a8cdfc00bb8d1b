internal import AppStore
internal import Licensing
internal import LicensingServices
internal import StrictJSON

/// `admin store …`: the connections of products to the App Store, and what was bought there.
enum StoreCommands {
    static let all = [connect, edit, list, show, purchases]

    private static let connect = Command(
        "admin store connect",
        .writes,
        "connects a product to the App Store",
        [
            CommonParameters.product.specification, StoreOptions.store.specification,
            StoreOptions.environment.specification, StoreOptions.bundleID.specification,
        ] + StoreOptions.settings,
        example: "admin store connect --product acme/editor --store apple --environment Production "
            + "--bundle-id com.acme.editor --map com.acme.pro=pro_unlock"
    ) { call, context in
        let name = try call.required(CommonParameters.product)
        _ = try call.required(StoreOptions.store)
        let environment = try call.required(StoreOptions.environment)
        let bundleID = try call.required(StoreOptions.bundleID)
        let changes = try StoreOptions.changes(in: call)
        let work = try context.open()
        let service = StoreConnectionService(keys: work.keys)
        let id = try StoreConnectionID(at: work.now, entropy: work.entropy)
        let connection = try work.write { db in
            let product = try CatalogFinder.product(name.product, of: name.vendor, in: db).product
            return try service.connect(
                id,
                environment,
                bundleID: bundleID,
                with: changes,
                of: product,
                by: work.actor,
                in: db
            )
        }
        return work.report("connection", notes: notes(on: connection)) { connection.write(to: &$0, product: name.text) }
    }

    private static let edit = Command(
        "admin store edit",
        .writes,
        "changes a connection; what is not said stays",
        [StoreOptions.connection.specification] + StoreOptions.settings
            + [StoreOptions.unmap.specification, StoreOptions.noGrandfather.specification],
        example: "admin store edit con_01K9ZQ5J6T8V0W2X4Y6Z8A0C2E --map com.acme.team=pro_unlock,export"
    ) { call, context in
        let id = try call.required(StoreOptions.connection)
        var changes = try StoreOptions.changes(in: call)
        changes.unmapped = try call.values(StoreOptions.unmap)
        if call.isSet(StoreOptions.noGrandfather) { changes.grandfather = .unset }
        let edit = changes
        let work = try context.open()
        let service = StoreConnectionService(keys: work.keys)
        let (connection, product) = try work.write { db in
            let connection = try service.edit(id, by: edit, by: work.actor, in: db).connection
            return (connection, try CatalogFinder.productName(connection.product, in: db))
        }
        return work.report("connection", notes: notes(on: connection)) { connection.write(to: &$0, product: product) }
    }

    private static func notes(on connection: StoreConnection) -> [String] {
        var notes: [String] = []
        if connection.products.isEmpty && connection.grandfather == nil {
            notes.append("no product of the store gives anything yet: --map PRODUCT=FEATURE,…")
        }
        if connection.environment.isSigned {
            notes.append(
                "in App Store Connect, set the server URL for \(connection.environment.rawValue) notifications "
                    + "(version 2) to your base URL and \(connection.notificationPath)"
            )
        } else if !connection.allowsXcode {
            notes.append("it takes nothing before --allow-xcode true")
        }
        return notes
    }

    private static let list = Command(
        "admin store list",
        .lists,
        "lists a product's connections",
        [CommonParameters.product.specification],
        example: "admin store list --product acme/editor"
    ) { call, context in
        let name = try call.required(CommonParameters.product)
        let (limit, cursor) = (try call.limit(), try call.cursor())
        let work = try context.open()
        let connections = try work.read { db in
            let product = try CatalogFinder.product(name.product, of: name.vendor, in: db).product
            return try StoreConnectionService.connections(of: product.id, in: db)
        }
        let page = try Page(all: connections, limit: limit, after: cursor) { $0.id.text }
        return .page("connections", page) { $1.write(to: &$0, product: name.text) }
    }

    private static let show = Command(
        "admin store show",
        .reads,
        "shows a connection, a purchase, or everything of an original transaction",
        [StoreOptions.name.specification],
        example: "admin store show 2000000123456789"
    ) { call, context in
        let name = try call.required(StoreOptions.name)
        let work = try context.open()
        if let id = StoreConnectionID(name) {
            let (connection, product) = try work.read { db in
                let connection = try StoreConnectionService.connection(id, in: db)
                return (connection, try CatalogFinder.productName(connection.product, in: db))
            }
            return work.report("connection") { connection.write(to: &$0, product: product) }
        }
        let found = try work.read { db in try StoreConnectionService.purchases(named: name, in: db) }
        guard !found.isEmpty else {
            throw CommandFailure(code: "PURCHASE_NOT_FOUND", "there is no purchase \(name)")
        }
        let now = work.now
        return Report { writer in
            writer.name("purchases")
            writer.array { writer in for purchase in found { purchase.write(to: &writer, at: now) } }
        }
    }

    private static let purchases = Command(
        "admin store purchases",
        .lists,
        "lists what was bought for a product",
        [CommonParameters.product.specification, StoreOptions.connectionFilter.specification],
        example: "admin store purchases --product acme/editor"
    ) { call, context in
        let name = try call.required(CommonParameters.product)
        let filter = try call.value(StoreOptions.connectionFilter)
        let (limit, cursor) = (try call.limit(), try call.cursor(of: PurchaseEntity.self))
        let work = try context.open()
        let now = work.now
        let found = try work.read { db in
            let product = try CatalogFinder.product(name.product, of: name.vendor, in: db).product
            let connections = try StoreConnectionService.connections(of: product.id, in: db)
                .filter { filter == nil || $0.id == filter }
            return try connections.flatMap { connection in
                try StoreConnectionService.purchases(under: connection, after: cursor, limit: limit + 1, in: db)
            }
        }
        let ordered = found.sorted { $0.purchase.id < $1.purchase.id }
        return .page("purchases", Page(ordered, limit: limit) { $0.purchase.id.text }) { $1.write(to: &$0, at: now) }
    }
}
