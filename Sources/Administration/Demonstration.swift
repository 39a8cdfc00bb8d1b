internal import Licensing
internal import LicensingServices
internal import Storage

/// What `serve --demo` starts with: a vendor, a product and a license to try, and calls that work.
public struct Demonstration: Sendable {
    private let token: String
    private let licenseKey: String

    /// Makes the demonstration's vendor where the database is empty, or finds it where an earlier start made it.
    ///
    /// - Throws: `CommandFailure` (`NOT_EMPTY`) where the database has other vendors: it is no place for a demonstration;
    ///   `StorageError`, `VaultFault`.
    public static func prepare(_ context: CommandContext) throws -> Demonstration {
        let work = try context.open(makes: true)
        guard try work.read({ db in try isEmptyOrDemonstration(db) }) else {
            throw CommandFailure(
                code: "NOT_EMPTY",
                "--demo is for an empty folder, and \(context.settings.data) has vendors of its own: start without --demo, "
                    + "or name another folder with --data"
            )
        }
        let run = try SeedRun(SeedDocument(parsing: Array(document.utf8)), work)
        let outcome = try work.write { db in try run.write(in: db) }
        let licenses = LicenseService(keys: work.keys, entropy: work.entropy)
        let credentials = CredentialService(keys: work.keys, entropy: work.entropy)
        return try work.read { db in
            guard let vendor = try VendorStore.find(slug: Slug("acme"), in: db),
                let product = try ProductStore.find(slug: Slug("editor"), of: vendor.id, in: db),
                let license = outcome.licenses.first,
                let licenseKey = try licenses.currentKey(of: license.id, in: db),
                let credential = try CredentialStore.list(of: vendor.id, product: product.id, limit: 100, in: db)
                    .first(where: { $0.kind == .publishable && $0.isValid(at: work.now) }),
                let token = try credentials.token(of: credential.id, in: db)
            else {
                throw CommandFailure(
                    code: "DEMO_CHANGED",
                    "the demonstration in \(context.settings.data) was changed so that its calls cannot be shown"
                )
            }
            return Demonstration(token: token, licenseKey: licenseKey)
        }
    }

    /// Whether the database has no vendor, or what an earlier demonstration made and nothing else.
    private static func isEmptyOrDemonstration(_ db: borrowing Snapshot) throws -> Bool {
        let vendors = try VendorStore.list(after: nil, limit: 2, in: db)
        guard let vendor = vendors.first else { return true }
        guard vendors.count == 1, vendor.slug.text == "acme",
            let product = try ProductStore.find(slug: Slug("editor"), of: vendor.id, in: db)
        else { return false }
        return try LicenseStore.find(orderID: "demo-1", of: product.id, mode: .live, in: db) != nil
    }

    /// Three calls to paste: activate, validate, deactivate.
    ///
    /// - Parameter baseURL: Where the server listens, without a slash at its end.
    public func calls(baseURL: String) -> String {
        let head =
            "  -H 'Authorization: Bearer \(token)' -H 'Content-Type: application/json'"
        let body = "{\"license_key\":\"\(licenseKey)\",\"install_id\":\"demo-install-0001\",\"nonce\":\"n1\"}"
        var text = "\nTry it:\n\n"
        for route in ["activate", "validate", "deactivate"] {
            text += "curl -s \(baseURL)/v1/\(route)\(head) -d '\(body)'\n"
        }
        return text
            + """

            PK=\(token)
            KEY=\(licenseKey)

            """
    }

    /// The seed document, the same as `config/demo.seed.json`.
    static let document = """
        {
          "vendors": [
            {
              "slug": "acme",
              "name": "Acme Software",
              "products": [
                {
                  "slug": "editor",
                  "name": "Acme Editor",
                  "key_prefix": "ACME",
                  "settings": {
                    "offline_life": "P7D",
                    "refresh_after": "P1D"
                  },
                  "features": [
                    {"code": "pro_unlock", "name": "Pro"},
                    {"code": "export", "name": "Export"}
                  ],
                  "plans": [
                    {
                      "code": "pro",
                      "name": "Pro",
                      "features": ["pro_unlock", "export"],
                      "type": "subscription",
                      "seat_limit": 3,
                      "duration": "P1Y"
                    }
                  ],
                  "credentials": [
                    {"name": "app", "kind": "pk", "mode": "live"}
                  ],
                  "licenses": [
                    {"order_id": "demo-1", "plan": "pro", "customer": {"email": "demo@example.com"}}
                  ]
                }
              ]
            }
          ]
        }

        """
}
