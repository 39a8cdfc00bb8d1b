import Administration
import AppStore
import CSQLite
import Cryptography
import Foundation
import HTTPServer
import Licensing
import LicensingServices
import Storage
import StoreTestSupport
import StrictJSON
import Synchronization
import Testing

@testable import CountersignAPI

/// What a damaged row says is trouble at worst: no number in any column ends the process that serves all vendors.
///
/// The columns are those of the schema, so that a new one is among them without being named.
@Suite("Numbers of damaged rows") struct DamagedNumberTests {
    @Test(
        "whatever number stands in whatever column, every call and command is answered",
        arguments: [Int64.min, -1, 0, Int64.max]
    )
    func damaged(number: Int64) throws {
        let scene = try DamageScene.standard.get()

        for column in scene.columns {
            let copy = try scene.copy()
            try copy.damage(column, to: number)
            for (name, answer) in try copy.answers() ?? [] {
                // Nobody wrote that anything ended then.
                #expect(answer.verdict != "rejected" || number == 0, "\(column) \(number): \(name) \(answer.text)")
                // One that traps ends the tests. What is answered is an answer, or names trouble as trouble.
                let isWhole = answer.status < 500 ? answer.code != "INTERNAL" : answer.verdict == "unknown"
                #expect(
                    isWhole || name.hasSuffix("ready"),
                    "\(column) \(number): \(name) \(answer.status) \(answer.text)"
                )
            }
            // Both ends of what a column can hold; commands open the database each time.
            guard number == .min || number == .max else { continue }
            for line in scene.commands {
                let (code, output) = copy.run(line)
                #expect((0...1).contains(code), "\(column) \(number): \(line) \(output)")
            }
        }
    }

    @Test(
        "each table that holds numbers has a row, each route is called, and each call and command works while all is whole"
    )
    func whole() throws {
        let scene = try DamageScene.standard.get()
        let copy = try scene.copy()

        let answers = try #require(try copy.answers())
        for (name, answer) in answers { #expect(answer.status < 400, "\(name) \(answer.text)") }
        #expect(Set(answers.map(\.name)) == Set(Routes.all.map { "\($0.method.rawValue) \($0.path)" }))
        for line in scene.commands {
            let (code, output) = copy.run(line)
            #expect(code == 0, "\(line) \(output)")
        }
        for column in scene.columns { #expect(try copy.isFilled(column.table), "\(column)") }
    }
}

/// A column that holds whole numbers.
struct NumberColumn: Hashable, Sendable, CustomStringConvertible {
    let table: String
    let name: String

    var description: String { "\(table).\(name)" }
}

/// A database in which every table has something, made once and copied for each damage.
struct DamageScene: Sendable {
    static let standard = Result { try DamageScene() }

    let catalog: Catalog
    let columns: [NumberColumn]
    let commands: [String]
    private let license: License.ID
    private let key: String
    private let floating: String
    private let seat: String
    private let connection: String
    private let purchase: String
    private let notification: String

    private init() throws {
        var api = try TestAPI.open(
            settings: ProductSettings(
                trialDuration: try CalendarDuration("P14D"),
                trialPlan: nil
            )
        )
        catalog = api.catalog
        let master = try MasterKey.random()
        try SmallFileOfTests.write(master.fileText, to: catalog.folder.path + "/master.key")
        let wrapped = try DataKeyStore.Wrapped(catalog.services.keys, under: master)
        try api.writer.write { db in try DataKeyStore.write(wrapped, at: Catalog.start, in: db) }
        try SmallFileOfTests.write(Array("2027-01-15T08:00:00Z\n".utf8), to: catalog.folder.path + "/clock")

        let sold = try api.sell { plan in
            plan.duration = try CalendarDuration("P1M")
            plan.transferLimit = 50
            plan.seatLimit = .limited(40)
            plan.seatPolicy = .releaseOldest
        }
        let lease = try api.sell { plan in plan.leaseSeconds = 600 }
        (license, key, floating) = (sold.id, sold.key, lease.key)
        let store = try api.connect { changes in changes.appAppleID = .set(TestStore.appAppleID) }
        connection = store.notificationPath
        let copy = DamageCopy(catalog: catalog, key: key, floating: floating)
        for line in [
            "admin meter create --product acme/editor --name run --limit 1000 --period lifetime --scope install",
            "admin tier create --product acme/editor --code patron --currency USD --threshold-milliunits 1000 --features export",
            "admin offer create --product acme/editor --id yearly --plan \(sold.plan.code) --kind subscription "
                + "--price-milliunits 49990 --currency USD",
            "admin plan create --product acme/editor --code raised --features pro --seats 3 --meters run=2000",
            "admin license issue --product acme/editor --plan raised --customer-email jane@example.com --order-id o-1",
            "admin gift create --product acme/editor --features export --customer-email jane@example.com --until 2028-01-01",
            "admin vendor edit acme --validation-quota 1000000",
            "admin keys rotate --vendor acme",
        ] {
            let (code, output) = copy.run(line)
            try #require(code == 0, "\(line) \(output)")
        }
        // A machine that is reinstalled, and its clone.
        let print = #","fingerprint":"the-fingerprint-of-a-machine""#
        try #require(api.activate(key, 1, more: print).status == 200)
        let taken = api.activate(key, 2, more: print)
        try #require(taken.status == 200)
        try #require(api.activate(key, 1, more: print).status == 200)
        seat = try #require(taken["activation", "id"]?.string)
        try #require(api.activate(floating, 1).status == 200)
        try #require(api.validate(key, 1).status == 200)
        try #require(api.meters("consume", #""meter":"run","idempotency_key":"once""#).status == 200)
        purchase = String(decoding: try api.store.sign(month(1, end: 30 * day)), as: UTF8.self)
        try #require(api.verify(jws: Array(purchase.utf8)).status == 200)
        let app = try api.store.sign(StoreVerifyTests.app(purchased: -400))
        try #require(
            api.verify(
                jws: Array(purchase.utf8),
                more: #","signed_app_transaction":"\#(String(decoding: app, as: UTF8.self))""#
            ).status == 200
        )
        try #require(
            try api.notify(
                store,
                "DID_RENEW",
                uuid: "first",
                transaction: month(2, end: 60 * day, signed: 0),
                renewal: renewal(signed: 0)
            ).status == 200
        )
        try api.connect(.sandbox)
        try #require(try api.verify(unlock("2000000077").inSandbox(), 3).status == 200)
        notification = String(
            decoding: try api.store.sign(
                #"{"notificationType":"TEST","notificationUUID":"again","version":"2.0","signedDate":\#(startMilliseconds),"#
                    + #""data":{"bundleId":"\#(TestStore.bundleID)","environment":"Production","appAppleId":"#
                    + "\(TestStore.appAppleID)}}"
            ),
            as: UTF8.self
        )
        let sums = api.catalog.services.validations.takeSums()
        try api.writer.write { db in try sums.write(in: db) }

        columns = try api.writer.write { db in
            try db.all(
                """
                SELECT tables.name, columns.name FROM pragma_table_list AS tables, pragma_table_info(tables.name) AS columns
                WHERE tables.schema = 'main' AND tables.type = 'table' AND tables.name NOT LIKE 'sqlite_%'
                    AND columns.type = 'INTEGER'
                ORDER BY tables.name, columns.cid
                """
            ) { row in NumberColumn(table: try row.text(), name: try row.text()) }
        }
        let id = license.text
        commands = [
            "admin vendor show acme", "admin product show acme/editor", "admin plan list --product acme/editor",
            "admin plan edit --product acme/editor --code raised --seats 4 --dry-run",
            "admin license explain \(id)",
            "admin license edit \(id) --seats 50 --dry-run",
            "admin install show --product acme/editor --install-id \(installID(1))",
            "admin trial list --product acme/editor",
            "admin trial extend --product acme/editor --install-id \(installID(1)) --until 2028-01-01 --dry-run",
            "admin meter refund --product acme/editor --meter run --install-id \(installID(1)) --amount 1 --dry-run",
            "admin meter edit --product acme/editor --meter run --limit 2000 --dry-run",
            "admin offer list --product acme/editor", "admin gift list --product acme/editor",
            "admin tier list --product acme/editor", "admin store purchases --product acme/editor",
            "admin keys list --vendor acme", "admin credential list --vendor acme",
            "admin customer show jane@example.com --vendor acme", "admin audit list --vendor acme",
            "admin audit verify",
        ]
    }

    /// A copy of the whole database.
    func copy() throws -> DamageCopy {
        let folder = try TemporaryFolder()
        for name in ["countersign.db", "countersign.db-wal", "master.key", "clock"] {
            try FileManager.default.copyItem(atPath: "\(catalog.folder.path)/\(name)", toPath: "\(folder.path)/\(name)")
        }
        return DamageCopy(
            catalog: catalog.moved(to: folder),
            key: key,
            floating: floating,
            license: license.text,
            seat: seat,
            connection: connection,
            purchase: purchase,
            notification: notification
        )
    }
}

/// One copy, to be damaged and asked.
struct DamageCopy {
    let catalog: Catalog
    let key: String
    let floating: String
    var license = ""
    var seat = ""
    var connection = ""
    var purchase = ""
    var notification = ""

    private func open() throws -> CommandLineConnection { try catalog.database.openForCommandLine(isMade: false) }

    func isFilled(_ table: String) throws -> Bool {
        try open().snapshot { db in
            var isFilled = false
            try db.each(built: "SELECT 1 FROM \(table) LIMIT 1", [:]) { _ in isFilled = true }
            return isFilled
        }
    }

    /// Runs SQL on the file behind everybody's back.
    private func execute(_ sql: String) throws {
        var handle: OpaquePointer?
        defer { sqlite3_close(handle) }
        try #require(sqlite3_open(catalog.database.path, &handle) == SQLITE_OK)
        try #require(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK)
    }

    /// Writes the number past the checks of the schema, where a row can have it.
    func damage(_ column: NumberColumn, to number: Int64) throws {
        // As text: the least number has no literal. Of a key only one row can have it.
        try execute(
            """
            PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON;
            UPDATE OR IGNORE \(column.table) SET \(column.name) = CAST('\(number)' AS INTEGER)
            """
        )
    }

    /// What every route answers; `nil` where the server does not start.
    func answers() throws -> [(name: String, answer: Received)]? {
        var api: TestAPI
        do {
            api = try TestAPI.reopen(catalog)
        } catch is StorageError {
            return nil
        }
        let admin = "/v1/admin/licenses"
        let (one, reason) = (#""install_id":"\#(installID(1))""#, #"{"reason":"test"}"#)
        let keyed = #"{"license_key":"\#(key)",\#(one)}"#
        func body(_ members: String) -> String { "{\(one),\(members)}" }
        let calls: [(method: String, route: String, path: String?, body: String?)] = [
            ("POST", "/v1/activate", nil, #"{"license_key":"\#(key)","install_id":"\#(installID(9))"}"#),
            ("POST", "/v1/activate", nil, keyed), ("POST", "/v1/validate", nil, keyed),
            ("POST", "/v1/heartbeat", nil, #"{"license_key":"\#(floating)",\#(one)}"#),
            ("POST", "/v1/seats", nil, keyed),
            ("POST", "/v1/sync", nil, "{\(one)}"), ("POST", "/v1/trial", nil, "{\(one)}"),
            ("POST", "/v1/meters/peek", nil, body(#""meter":"run""#)),
            ("POST", "/v1/meters/consume", nil, body(#""meter":"run","idempotency_key":"once""#)),
            ("POST", "/v1/meters/consume", nil, body(#""meter":"run","amount":7,"bundle":true"#)),
            ("POST", "/v1/store/verify", nil, body(#""store":"apple","signed_transaction":"\#(purchase)""#)),
            (
                "POST", "/v1/store/apple/notifications/{connection}", connection,
                #"{"signedPayload":"\#(notification)"}"#
            ),
            ("GET", "/v1/config", nil, nil), ("GET", "/v1/keys", nil, nil),
            ("GET", "/v1/vendors/{slug}/jwks.json", "/v1/vendors/acme/jwks.json", nil),
            ("GET", admin, admin + "?product=acme/editor", nil),
            ("GET", "\(admin)/{license}", "\(admin)/\(license)", nil),
            ("POST", "\(admin)/{license}/renew", "\(admin)/\(license)/renew", #"{"duration":"P1M"}"#),
            ("POST", "\(admin)/{license}/suspend", "\(admin)/\(license)/suspend", reason),
            ("POST", "\(admin)/{license}/reinstate", "\(admin)/\(license)/reinstate", reason),
            ("POST", "\(admin)/{license}/reissue", "\(admin)/\(license)/reissue", reason),
            (
                "POST", "\(admin)/{license}/release-seat", "\(admin)/\(license)/release-seat",
                #"{"activation":"\#(seat)","reason":"test"}"#
            ),
            (
                "POST", admin, nil,
                #"{"product":"acme/editor","plan":"raised","order_id":"o-2","customer_email":"a@b.example"}"#
            ),
            ("POST", "/v1/deactivate", nil, keyed),
            ("POST", "\(admin)/{license}/revoke", "\(admin)/\(license)/revoke", reason),
            ("GET", "/health", nil, nil), ("GET", "/ready", nil, nil), ("GET", "/v1/health", nil, nil),
            ("GET", "/v1/ready", nil, nil), ("GET", "/v1/openapi.json", nil, nil), ("GET", "/", nil, nil),
        ]
        var answers: [(name: String, answer: Received)] = []
        for call in calls {
            let isAdministration = call.route.hasPrefix(admin)
            let token =
                call.route.contains("notifications") ? nil : isAdministration ? catalog.secretToken : catalog.appToken
            let text = request(call.method, call.path ?? call.route, token: token, body: call.body)
            answers.append(("\(call.method) \(call.route)", api.answer(to: Array(text.utf8))))
        }
        return answers
    }

    /// Runs one command line.
    func run(_ line: String) -> (code: Int32, output: String) {
        let output = Captured()
        let surroundings = Surroundings(
            output: CommandOutput(standard: { output.add($0) }, error: { output.add($0) }),
            environment: [:],
            settings: { _, options in CommandSettings(data: options.data ?? "", lockWait: .seconds(5)) },
            actor: "command-line:tester",
            synchronous: .off
        )
        let folder = catalog.folder.path
        let words = line.split(separator: " ").map(String.init)
        let code = CommandLineTool().run(
            words + ["--data", folder, "--test-clock", folder + "/clock", "--json"],
            in: surroundings
        )
        return (code, output.text)
    }

    private final class Captured: Sendable {
        private let bytes = Mutex<[UInt8]>([])
        func add(_ more: [UInt8]) { bytes.withLock { $0 += more } }
        var text: String { String(decoding: bytes.withLock { $0 }, as: UTF8.self) }
    }
}

/// Files of mode 0600.
enum SmallFileOfTests {
    struct Failure: Error {}

    static func write(_ bytes: [UInt8], to path: String) throws {
        guard
            FileManager.default.createFile(
                atPath: path,
                contents: Data(bytes),
                attributes: [.posixPermissions: 0o600]
            )
        else { throw Failure() }
    }
}
