import StrictJSON
import Testing

@testable import Administration

/// What holds for every list of the command line; a new one without its words here fails.
@Suite("Lists") struct ListTests {
    let console = Console()

    /// What each list needs besides its page.
    private static let needs = [
        "admin vendor list": "", "admin product list": "--vendor acme", "admin feature list": "--product acme/editor",
        "admin plan list": "--product acme/editor", "admin meter list": "--product acme/editor",
        "admin license list": "", "admin customer list": "--vendor acme",
        "admin install list": "--product acme/editor", "admin credential list": "--vendor acme",
        "admin keys list": "--vendor acme", "admin store list": "--product acme/editor",
        "admin store purchases": "--product acme/editor", "admin audit list": "",
        "admin trial list": "--product acme/editor", "admin offer list": "--product acme/editor",
        "admin gift list": "--product acme/editor", "admin tier list": "--product acme/editor",
    ]

    private static var lists: [String] { Command.all.filter { $0.kind == .lists }.map(\.name).sorted() }

    @Test("every list takes a page, and refuses a cursor that no list told", arguments: lists)
    func cursors(name: String) throws {
        _ = try console.prepared()
        let needs = try #require(Self.needs[name], "say what \(name) needs")

        try console.json("\(name) \(needs) --limit 1")

        for cursor in ["zzz", "-1", "lic_1", "ABC", "a b"] {
            let failure = try console.failure(
                name.split(separator: " ").map(String.init)
                    + needs.split(separator: " ").map(String.init) + ["--cursor=\(cursor)"]
            )
            #expect(failure.exit == 2 && failure.code == "USAGE", "\(cursor)")
            #expect(failure.error["option"]?.string == "--cursor")
        }
    }

    @Test(
        "a page goes on where the one before ended",
        arguments: [
            ("admin vendor list", "vendors"), ("admin product list --vendor acme", "products"),
            ("admin feature list --product acme/editor", "features"),
            ("admin plan list --product acme/editor", "plans"),
            ("admin meter list --product acme/editor", "meters"),
            ("admin credential list --vendor acme", "credentials"),
            ("admin customer list --vendor acme", "customers"), ("admin gift list --product acme/editor", "gifts"),
            ("admin trial list --product acme/editor", "trials"),
        ]
    )
    func pages(list: String, name: String) throws {
        _ = try console.prepared()
        for number in 1...3 {
            try console.json("admin vendor create --slug v\(number)")
            try console.json("admin product create --vendor acme --slug p\(number)")
            try console.json("admin feature create --product acme/editor --code f\(number)")
            try console.json("admin plan create --product acme/editor --code c\(number)")
            try console.json("admin meter create --product acme/editor --name m\(number)")
            try console.json("admin credential create --product acme/editor --kind pk")
            try console.json(
                "admin license issue --product acme/editor --plan pro --customer-email c\(number)@example.com"
            )
            try console.json(
                "admin gift create --product acme/editor --features export --customer-email c\(number)@example.com"
            )
            try console.json("admin trial issue --product acme/editor --until 2100-01-01")
        }
        // By name: what is told of a trial depends on the second.
        func names(_ page: JSONValue) -> [String] {
            page[name]?.elements?.compactMap { ($0["id"] ?? $0["code"])?.string } ?? []
        }
        let all = names(try console.json(list))

        var (read, cursor): ([String], String?) = ([], nil)
        repeat {
            let page = try console.json("\(list) --limit 2" + (cursor.map { " --cursor \($0)" } ?? ""))
            read += names(page)
            cursor = page["next"]?.string
        } while cursor != nil

        #expect(read.count >= 3 && read == all)
    }
}
