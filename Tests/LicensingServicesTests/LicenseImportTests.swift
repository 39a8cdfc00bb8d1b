import Licensing
import Storage
import Testing

@testable import LicensingServices

@Suite("License import") struct LicenseImportTests {
    let office: LicenseOffice

    init() throws { office = try LicenseOffice() }

    @Test("every column is read, an empty one follows the plan, and a byte order mark does no harm")
    func columns() throws {
        let outcome = try office.importFile(
            "\u{FEFF}order_id,key,plan,mode,seat_limit,seat_policy,starts_at,expires_at,duration,maintenance_until,"
                + "offline_life,environment,customer_name,customer_email\r\n"
                + "o-1,AB-12 cd,pro,test,5,release_oldest,2026-01-01,2030-06-26,,2027-01-01T00:00:00Z,P30D,"
                + "\"{\"\"hosts\"\":[\"\"example.com\"\"]}\",\"Dee, \"\"D\"\"\",Dee@example.com\r\n"
                + "o-2,,team,,,,,,,,,,,\r\n"
        )

        #expect(outcome.imported == 2)
        let id = try office.read { db in try office.service.find("ab12CD", of: nil, in: db) }
        let license = try office.facts(id).license
        #expect(license.mode == .test)
        #expect(license.seatLimit == .limited(5))
        #expect(license.seatPolicy == .releaseOldest)
        #expect(license.expiresAt?.rfc3339 == "2030-06-27T00:00:00Z")
        #expect(license.overrides.offlineLife?.iso8601 == "P30D")
        #expect(license.environment?.hosts == ["example.com"])
        #expect(try office.facts(id).customer?.name == "Dee, \"D\"")
        #expect(try office.facts(id).customer?.email == "dee@example.com")
        let second = try #require(outcome.last)
        #expect(try office.facts(second).license.overrides == .none)
        #expect(try office.audited() == ["license.import"])
        #expect(try office.outbox() == ["license.import"])
    }

    @Test("of a file with faults without end the first are told, and that there may be more")
    func manyFaults() throws {
        let most = LicenseImportRefusal.most
        for count in [most - 1, most, most * 3] {
            let faults = try office.faults("plan,key\n" + String(repeating: "nothing,\n", count: count))

            #expect(faults.count == (count < most ? count : most + 1))
            #expect(faults.prefix(most).allSatisfy { $0.column == "plan" })
            #expect((faults.last?.column == nil) == (count >= most))
        }
        let twice = "plan,key\n" + String(repeating: "pro,AB-12-cd\n", count: most * 2)
        #expect(try office.faults(twice).count == most + 1)
        #expect(try office.count() == 0)
    }

    @Test(
        "empty lines at the end are no lines, however they end",
        arguments: [
            "plan,order_id\npro,o-1\n\n", "plan,order_id\npro,o-1\n\n\n\n", "plan,order_id\r\npro,o-1\r\n\r\n",
            "plan,order_id\npro,o-1\r\n\n\r\n", "order_id,plan\no-1,\"pro\"\n\n", "plan\npro\n\n",
        ]
    )
    func emptyLines(csv: String) throws {
        #expect(try office.importFile(csv).imported == 1)
    }

    @Test(
        "a fault is told with its line and column, and nothing is written",
        arguments: [
            ("", 1, nil),
            ("\n\n", 1, nil),
            ("plan,key\npro,A-1\n\npro,A-2\n", 3, nil),
            ("plan,key\npro,A-1\n \n", 3, nil),
            ("plan,key\npro,\"A-1\n\n", 2, nil),
            ("order_id\no-1\n", 1, nil),
            ("plan,seats\npro,3\n", 1, nil),
            ("plan,plan\npro,pro\n", 1, nil),
            ("plan\nnone\n", 2, "plan"),
            ("plan,key\n,K-1\n", 2, "plan"),
            ("plan,key\npro,A-1\npro\n", 3, nil),
            ("plan,key\npro,A-1,x\n", 2, nil),
            ("plan,key\npro,\"A-1\n", 2, nil),
            ("plan,key\npro,A\"1\n", 2, nil),
            ("plan,key\npro,\"A\"1\n", 2, nil),
            ("plan,key\rpro,A1\n", 1, nil),
            ("plan,seat_limit\npro,-1\n", 2, "seat_limit"),
            ("plan,seat_limit\npro,1.5\n", 2, "seat_limit"),
            ("plan,expires_at\npro,2030-02-30\n", 2, "expires_at"),
            ("plan,expires_at\npro,26.06.2030\n", 2, "expires_at"),
            ("plan,expires_at,duration\npro,2030-01-01,P1Y\n", 2, "duration"),
            ("plan,duration\npro,PT0S\n", 2, "duration"),
            ("plan,mode\npro,Live\n", 2, "mode"),
            ("plan,offline_life\npro,PT1S\n", 2, "offline_life"),
            ("plan,environment\npro,{}\n", 2, "environment"),
            ("plan,customer_email\npro,nobody\n", 2, "customer_email"),
            ("plan,customer_name\npro,\"a\nb\"\n", 2, "customer_name"),
            ("plan,key\npro,ACME-0000-0000-0000-0001\n", 2, "key"),
            ("plan,key\npro,--\n", 2, "key"),
            ("plan,key\npro,A-1\nteam,\"a 1\"\n", 3, "key"),
            ("plan,order_id\npro,o-1\npro,o-1\n", 3, "order_id"),
            ("plan,starts_at,expires_at\npro,2030-01-01,2029-01-01\n", 2, "expires_at"),
        ] as [(String, Int, String?)]
    )
    func fault(csv: String, line: Int, column: String?) throws {
        let faults = try office.faults(csv)

        #expect(faults.first?.line == line)
        #expect(faults.first?.column == column)
        #expect(try office.count() == 0)
        #expect(try office.audited().isEmpty)
    }

    @Test("order ids are told apart by their bytes, as everywhere, also where they look alike")
    func alike() throws {
        let faults = try office.faults("plan,order_id\npro,caf\u{E9}\npro,cafe\u{301}\n")

        #expect(faults.isEmpty)
    }

    @Test("two keys that clean to one name both lines, and every fault of a file is told")
    func everyFault() throws {
        let faults = try office.faults("plan,key,mode\npro,A-1,live\nnone,B-1,none\npro,a1,live\n")

        #expect(faults.map(\.line) == [3, 3, 4])
        #expect(faults.last?.reason.contains("line 2") == true)
    }

    @Test("bytes that are no UTF-8 are a fault of their line")
    func encoding() throws {
        let bytes = Array("plan,customer_name\npro,D".utf8) + [0xE9] + Array("e\n".utf8)

        #expect(throws: LicenseImportRefusal.self) {
            try office.service.readImport(bytes, for: office.product, plans: [office.pro.code], at: LicenseOffice.noon)
        }
    }

    @Test("a repeat changes nothing where order id or key say that a license is there, and is refused for another")
    func repeated() throws {
        let file = "plan,order_id,key,customer_email\npro,o-1,,\nteam,,K-2,dee@example.com\n"
        try office.importFile(file)

        let again = try office.importFile(file + "pro,o-3,,\n")

        #expect(again.unchanged == 2)
        #expect(again.imported == 1)
        #expect(try office.count() == 3)
        #expect(try office.faults("plan,order_id\nteam,o-1\n").first?.column == "order_id")
        #expect(try office.faults("plan,key,customer_email\npro,K-2,dee@example.com\n").first?.column == "key")
        #expect(try office.faults("plan,key,customer_email\nteam,K-2,eve@example.com\n").first?.column == "key")
        #expect(try office.audited() == ["license.import", "license.import"])
    }

    @Test("a product that keeps no keys takes no line without one")
    func lostKeys() throws {
        let office = try LicenseOffice(keepsKeys: false)

        #expect(try office.faults("plan,key\npro,K-1\npro,\n").map(\.line) == [3])
        #expect(try office.count() == 0)
    }

    @Test("an export read again makes the same licenses")
    func roundTrip() throws {
        try office.importFile(
            "plan,order_id,key,seat_limit,expires_at,starts_at,customer_name,customer_email,environment,duration\n"
                + "pro,o-1,K-1,unlimited,2030-06-26,,\"=cmd()\",+dee@example.com,,\n"
                + "team,-2,,0,never,2026-01-01,\"O'Brien, \"\"Bob\"\"\",bob@example.com,"
                + "\"{\"\"spki\"\":[\"\"QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE=\"\"]}\",\n"
                + "pro,,@K3,,,,''=quoted,eve@example.com,,P3M\n"
        )
        let exported = try office.export()

        let other = try LicenseOffice()
        try other.importFile(exported)

        #expect(try other.count() == 3)
        func lines(_ text: String) -> [String] { text.split(separator: "\r\n").map(String.init).sorted() }
        #expect(lines(try other.export()) == lines(exported))
        #expect(exported.contains("'=cmd()"))
        #expect(exported.contains("''=quoted"))
        #expect(exported.contains("'+dee@example.com"))
        #expect(exported.contains(",'@K3,"))
        let names = try other.read { db in
            try db.all("SELECT name FROM customers ORDER BY name") { row in try row.text() }
        }
        #expect(names == ["'=quoted", "=cmd()", "O'Brien, \"Bob\""])
        #expect(!(try office.export(withKeys: false)).contains("K3"))
    }

    @Test(
        "a text that a spreadsheet would run is neutralized, and comes back as it was",
        arguments: [
            ("=1+1", "'=1+1"), ("+49", "'+49"), ("-1", "'-1"), ("@SUM(A1)", "'@SUM(A1)"), ("\t=1", "'\t=1"),
            ("\u{FF1D}1", "'\u{FF1D}1"), ("'=1", "''=1"), ("''-1", "'''-1"), ("O'Brien", "O'Brien"),
            ("'t Hooft", "'t Hooft"), ("", ""), ("a=1", "a=1"), ("'", "'"),
        ]
    )
    func formula(text: String, neutralized: String) {
        #expect(SpreadsheetText.neutralized(text) == neutralized)
        #expect(SpreadsheetText.restored(neutralized) == text)
    }

    @Test("licenses that a repeat finds again come in by short transactions, each with one audit row")
    func many() throws {
        var csv = "order_id,plan,key,customer_email\n"
        for number in 0..<10_000 { csv += "o-\(number),pro,SERIAL-\(number),c\(number % 4000)@example.com\n" }

        let outcome = try office.importFile(csv)

        #expect(outcome.imported == 10_000)
        #expect(try office.count() == 10_000)
        let rows = [String](repeating: "license.import", count: 10_000 / LicenseImport.shortPortion)
        #expect(try office.audited() == rows)
        #expect(try office.importFile(csv).unchanged == 10_000)
        #expect(try office.audited() == rows)
    }

    @Test("after a break between two transactions a repeat writes what is missing, and no license twice")
    func broken() throws {
        let lines = (0..<LicenseImport.shortPortion + 10).map { "o-\($0),pro,c\($0 % 7)@example.com\n" }
        let csv = "order_id,plan,customer_email\n" + lines.joined()
        let file = try office.readImport(csv)
        let first = try #require(file.portions.first)
        _ = try office.write { db in try office.service.writeImport(file, first, by: office.actor(), in: db) }

        let outcome = try office.importFile(csv)

        #expect(outcome.imported == 10 && outcome.unchanged == LicenseImport.shortPortion)
        #expect(try office.count() == lines.count)
    }

    @Test("licenses without key and order, which a repeat would write again, come in all at once or not at all")
    func unrepeatable() throws {
        let csv = "plan\n" + String(repeating: "pro\n", count: LicenseImport.shortPortion + 1)

        let outcome = try office.importFile(csv)

        #expect(outcome.imported == LicenseImport.shortPortion + 1)
        #expect(try office.audited() == ["license.import"])
    }
}
