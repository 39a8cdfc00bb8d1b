internal import Cryptography
internal import Licensing
internal import LicensingServices
internal import Storage
internal import StrictJSON

/// `admin product setup`: what an app must ship, to paste.
enum ProductSetup {
    static let command = Command(
        "admin product setup",
        .reads,
        "prints what an app must ship: address, publishable key, issuer and pins",
        [ProductCommands.named.specification, CommonParameters.mode.specification],
        example: "admin product setup acme/editor --mode live"
    ) { call, context in
        let name = try call.required(ProductCommands.named)
        let mode = try call.value(CommonParameters.mode) ?? .live
        let work = try context.open()
        let catalog = work.catalog
        let facts = try work.read { db in
            let (vendor, product) = try CatalogFinder.product(name.product, of: name.vendor, in: db)
            let credential = try CatalogFinder.credentials(
                of: vendor,
                product: product,
                after: nil,
                limit: .max,
                in: db
            )
            .last { $0.kind == .publishable && $0.mode == mode && $0.isValid(at: work.now) }
            return Facts(
                vendor: vendor,
                product: product,
                mode: mode,
                baseURL: context.settings.baseURL ?? "http://127.0.0.1:\(context.settings.port)",
                publishableKey: try credential.flatMap { try catalog.token(of: $0.id, in: db) },
                pins: try Pin.all(of: vendor, mode: mode, at: work.now, in: db)
            )
        }
        var notes: [String] = []
        if facts.publishableKey == nil {
            notes.append(
                "there is no publishable key yet: countersign admin credential create --product \(name.text) --kind pk "
                    + "--mode \(mode.rawValue)"
            )
        }
        if context.settings.baseURL == nil {
            notes.append("the address is a guess: set base_url (COUNTERSIGN_BASE_URL) to the one clients use")
        }
        return Report(text: facts.page, notes: notes) { writer in
            writer.name("setup")
            facts.write(to: &writer)
        }
    }

    /// A key that an app trusts.
    struct Pin {
        let kid: String
        let spki: String
        let state: SigningKeyState

        /// Active first, then next, then what retires.
        static func all<DB: Queries & ~Copyable>(
            of vendor: Vendor,
            mode: Mode,
            at now: Timestamp,
            in db: borrowing DB
        ) throws -> [Pin] {
            let order: [SigningKeyState] = [.active, .next, .retiring]
            let keys = try CatalogFinder.signingKeys(of: vendor, in: db).filter { $0.mode == mode }
            return order.flatMap { state in
                keys.filter { $0.state(at: now) == state }.map {
                    Pin(kid: $0.kid, spki: Base64.string($0.spki), state: state)
                }
            }
        }
    }

    struct Facts {
        let vendor: Vendor
        let product: Product
        let mode: Mode
        let baseURL: String
        let publishableKey: String?
        let pins: [Pin]

        func write(to writer: inout JSONWriter) {
            writer.object { writer in
                writer.member("base_url", baseURL)
                writer.member("publishable_key", orNull: publishableKey)
                writer.member("product", product.slug.text)
                writer.member("issuer", vendor.issuer)
                writer.member("mode", mode.rawValue)
                writer.name("pins")
                writer.array { writer in
                    for pin in pins {
                        writer.object { writer in
                            writer.member("kid", pin.kid)
                            writer.member("spki", pin.spki)
                            writer.member("state", pin.state.rawValue)
                        }
                    }
                }
                writer.member("swift", swift)
            }
        }

        /// The configuration of the client library.
        var swift: String {
            let lines = pins.map { pin in
                "        Data(base64Encoded: \"\(pin.spki)\")!,  // \(pin.state.rawValue), kid \(pin.kid)"
            }
            return """
                let configuration = try Client.Configuration(
                    baseURL: URL(string: "\(baseURL)")!,
                    publishableKey: "\(publishableKey ?? "pk_\(mode.rawValue)_…")",
                    audience: "\(product.slug)",
                    issuer: "\(vendor.issuer)",
                    mode: .\(mode.rawValue),
                    pinnedKeys: [
                \(lines.joined(separator: "\n"))
                    ]
                )
                """
        }

        /// For people: the snippet, and the same as JSON without it.
        var page: String {
            var writer = JSONWriter()
            writer.object { writer in
                writer.member("base_url", baseURL)
                writer.member("publishable_key", orNull: publishableKey)
                writer.member("product", product.slug.text)
                writer.member("issuer", vendor.issuer)
                writer.member("mode", mode.rawValue)
                writer.name("pins")
                writer.array { writer in for pin in pins { writer.value(pin.spki) } }
            }
            return """
                // \(vendor.name), \(product.name), \(mode.rawValue) mode: paste into the app.
                \(swift)

                // The same for other languages; pins are SPKI (RFC 5280 §4.1), DER, base64.
                \(String(decoding: writer.finish(), as: UTF8.self))
                """
        }
    }
}
