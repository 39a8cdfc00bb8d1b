internal import Licensing
internal import LicensingServices
internal import Storage

/// What `serve --demo` starts with: a vendor and a product with a license, a trial and a meter to try, and calls that
/// work.
public struct Demonstration: Sendable {
    private let token: String
    private let licenseKey: String
    /// What the product still offers of what the document gave it.
    private let hasTrial: Bool
    private let hasMeter: Bool

    /// Makes the demonstration's vendor where the database is empty. What an earlier start made is left as it is now:
    /// who tries things out changes them.
    ///
    /// - Throws: `CommandFailure`: `NOT_EMPTY` where the database has other vendors, for it is no place for a
    ///   demonstration, `DEMO_CHANGED` where no license or publishable key is left to show; `StorageError`, `VaultFault`.
    public static func prepare(_ context: CommandContext) throws -> Demonstration {
        let work = try context.open(makes: true)
        switch try work.read({ db in try contents(of: db) }) {
        case .nothing:
            let run = try SeedRun(SeedDocument(parsing: Array(document.utf8)), work)
            _ = try run.apply(work)
        case .demonstration: break
        case .others:
            throw CommandFailure(
                code: "NOT_EMPTY",
                "--demo is for an empty folder, and \(context.settings.data) has vendors of its own: start without --demo, "
                    + "or name another folder with --data"
            )
        }
        let licenses = LicenseService(keys: work.keys, entropy: work.entropy)
        let credentials = CredentialService(keys: work.keys, entropy: work.entropy)
        return try work.read { db in
            guard let product = try product(in: db),
                let license = try LicenseStore.find(orderID: order, of: product.id, mode: .live, in: db),
                let licenseKey = try licenses.currentKey(of: license.id, in: db),
                let credential = try CredentialStore.list(of: product.vendor, product: product.id, limit: 100, in: db)
                    .first(where: { $0.kind == .publishable && $0.mode == .live && $0.isValid(at: work.now) }),
                let token = try credentials.token(of: credential.id, in: db)
            else {
                throw CommandFailure(
                    code: "DEMO_CHANGED",
                    "the demonstration in \(context.settings.data) was changed so that its calls cannot be shown: start "
                        + "without --demo, or name another folder with --data"
                )
            }
            return Demonstration(
                token: token,
                licenseKey: licenseKey,
                hasTrial: product.settings.trialDuration != nil,
                hasMeter: try MeterStore.find(MeterName(meter), of: product.id, in: db) != nil
            )
        }
    }

    private enum Contents { case nothing, demonstration, others }

    private static func contents(of db: borrowing Snapshot) throws -> Contents {
        let vendors = try VendorStore.list(after: nil, limit: 2, in: db)
        if vendors.isEmpty { return .nothing }
        guard vendors.count == 1, let product = try product(in: db),
            try LicenseStore.find(orderID: order, of: product.id, mode: .live, in: db) != nil
        else { return .others }
        return .demonstration
    }

    private static func product(in db: borrowing Snapshot) throws -> Product? {
        guard let vendor = try VendorStore.find(slug: Slug("acme"), in: db) else { return nil }
        return try ProductStore.find(slug: Slug("editor"), of: vendor.id, in: db)
    }

    // Names in the document.
    private static let order = "demo-1"
    private static let meter = "flow_run"

    /// Calls to paste one by one or all at once, again and again, each on a line of its own; then what `README.md` takes
    /// from them.
    ///
    /// - Parameter baseURL: Where the server listens, without a slash at its end.
    public func calls(baseURL: String) -> String {
        func call(_ route: String, _ members: String) -> String {
            "curl -s \(baseURL)/v1/\(route) -H 'Authorization: Bearer \(token)' -H 'Content-Type: application/json' "
                + "-d '{\(members)\"install_id\":\"demo-install-0001\",\"nonce\":\"n1\"}'\n"
        }
        let key = "\"license_key\":\"\(licenseKey)\","
        var text = "\nTry it:\n\n# A license key: the seat, and a bundle that lists the features.\n"
        text += call("activate", key) + call("validate", key)
        if hasTrial { text += "# A trial, once for each install and machine.\n" + call("trial", "") }
        if hasMeter {
            text += "# A meter: how much is left, after counting one more.\n"
            text += call("meters/consume", "\"meter\":\"\(Self.meter)\",")
        }
        text += "# The seat is free again.\n" + call("deactivate", key)
        return text + "\n# For the calls in README.md:\nPK=\(token)\nKEY=\(licenseKey)\n"
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
                    "trial_duration": "P14D",
                    "trial_plan": "trial",
                    "trial_start": "first_contact",
                    "offline_life": "P7D",
                    "refresh_after": "P1D",
                    "free_tier": true,
                    "minimum_version": "1.0",
                    "extra": {"support": "https://acme.example/support"}
                  },
                  "features": [
                    {"code": "pro_unlock", "name": "Pro"},
                    {"code": "export", "name": "Export"}
                  ],
                  "meters": [
                    {"name": "flow_run", "limit": 3, "period": "month", "scope": "install"}
                  ],
                  "plans": [
                    {
                      "code": "pro",
                      "name": "Pro",
                      "features": ["pro_unlock", "export"],
                      "type": "subscription",
                      "seat_limit": 3,
                      "duration": "P1Y",
                      "expiry_grace": "P3D",
                      "meters": {"flow_run": 100}
                    },
                    {
                      "code": "team",
                      "name": "Team, floating",
                      "features": ["pro_unlock", "export"],
                      "type": "subscription",
                      "seat_limit": 5,
                      "duration": "P1Y",
                      "lease_seconds": 3600,
                      "meters": {"flow_run": "unlimited"}
                    },
                    {"code": "trial", "name": "Trial", "features": ["pro_unlock"], "type": "trial", "seat_limit": 1}
                  ],
                  "store_connections": [
                    {
                      "store": "apple",
                      "environment": "Sandbox",
                      "bundle_id": "com.acme.editor",
                      "products": [
                        {"id": "com.acme.editor.pro", "features": ["pro_unlock", "export"]}
                      ]
                    }
                  ],
                  "spend_tiers": [
                    {
                      "code": "patron",
                      "currency": "USD",
                      "threshold_milliunits": 50000,
                      "features": ["export"],
                      "duration": "P1Y"
                    }
                  ],
                  "offers": [
                    {
                      "id": "pro-yearly",
                      "plan": "pro",
                      "kind": "subscription",
                      "price_milliunits": 29000,
                      "currency": "USD",
                      "trial_duration": "P14D",
                      "url": "https://acme.example/buy"
                    },
                    {
                      "id": "pro-store",
                      "plan": "pro",
                      "kind": "purchase",
                      "store_product_id": "com.acme.editor.pro"
                    }
                  ],
                  "credentials": [
                    {"name": "app", "kind": "pk", "mode": "live"},
                    {"name": "app", "kind": "pk", "mode": "test"}
                  ],
                  "licenses": [
                    {"order_id": "demo-1", "plan": "pro", "customer": {"name": "Demo", "email": "demo@example.com"}},
                    {"order_id": "demo-2", "plan": "team"},
                    {"order_id": "demo-1", "plan": "pro", "mode": "test"}
                  ]
                }
              ]
            }
          ]
        }

        """
}
