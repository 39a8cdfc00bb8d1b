import Foundation
import StrictJSON
import Testing

@Suite("Environments, wherever they are said") struct EnvironmentTests {
    let console = Console()

    @Test(
        "an environment that can never match is refused by the command line, the seed document and an import alike",
        arguments: [
            #"{"hosts":["https://x.example"]}"#, #"{"hosts":["x.example:80"]}"#, #"{"spki":["zz"]}"#,
            #"{"attributes":{"":"x"}}"#,
        ]
    )
    func environments(rule: String) throws {
        _ = try console.prepared()
        let quoted = rule.replacingOccurrences(of: "\"", with: "\"\"")
        let file = try console.file("licenses.csv", "plan,environment\npro,\"\(quoted)\"\n")
        let seed = try console.file(
            "seed.json",
            #"{"vendors":[{"slug":"acme","products":[{"slug":"editor","plans":[{"code":"pro","environment":\#(rule)}]}]}]}"#
        )

        let plan = ["admin", "plan", "edit", "--product", "acme/editor", "--code", "pro", "--environment", rule]

        #expect(try console.failure(plan).code == "USAGE")
        let seeded = try console.failure("seed \(seed)")
        #expect(seeded.code == "VALIDATION")
        #expect(seeded.error.at("errors.0.pointer")?.string == "/vendors/0/products/0/plans/0/environment")
        let imported = try console.failure("admin license import \(file) --product acme/editor")
        #expect(imported.code == "VALIDATION" && imported.error.at("errors.0.column")?.string == "environment")
    }

    /// How a command is refused, and the whole of what it says.
    private func refused(_ arguments: [String]) throws -> (code: String?, text: String) {
        let ending = console.run(arguments + ["--json"])
        return (try ending.failureCode(), ending.error)
    }

    private func refused(_ line: String) throws -> (code: String?, text: String) {
        try refused(line.split(separator: " ").map(String.init))
    }

    @Test("a rule that the features cannot all carry is refused wherever it is said: no app would take the bundle")
    func tooLong() throws {
        _ = try console.prepared()
        let hosts = (0..<64).map { #""h\#($0).\#(String(repeating: "x.", count: 110))example""# }
        let attributes = (0..<64).map {
            #""a\#($0)\#(String(repeating: "n", count: 120))":"\#(String(repeating: "v", count: 256))""#
        }
        let rule = #"{"hosts":[\#(hosts.joined(separator: ","))],"attributes":{\#(attributes.joined(separator: ","))}}"#
        let quoted = rule.replacingOccurrences(of: "\"", with: "\"\"")
        let file = try console.file("licenses.csv", "plan,environment\npro,\"\(quoted)\"\n")
        let seed = try console.file(
            "seed.json",
            #"{"vendors":[{"slug":"acme","products":[{"slug":"editor","plans":[{"code":"pro","environment":\#(rule)}]}]}]}"#
        )
        let licenses = try console.file(
            "licenses.json",
            #"{"vendors":[{"slug":"acme","products":[{"slug":"editor","licenses":[{"order_id":"o-1","plan":"pro","environment":\#(rule)}]}]}]}"#
        )
        // One feature may carry it.
        try console.json("admin plan create --product acme/editor --code one --features export")
        let edit = ["admin", "plan", "edit", "--product", "acme/editor"]
        try console.json(edit + ["--code", "one", "--environment", rule])
        let refusals = [
            try refused(edit + ["--code", "pro", "--environment", rule]),
            try refused("admin plan edit --product acme/editor --code one --features pro_unlock,export"),
            try refused("seed \(seed)"),
            try refused("seed \(licenses)"),
            try refused("admin license import \(file) --product acme/editor"),
        ]
        for refusal in refusals {
            #expect(refusal.code == "VALIDATION")
            #expect(refusal.text.contains("too long for 2 features"))
        }
    }

    @Test("a product's offers are refused where they are too long together for one signed document")
    func offers() throws {
        _ = try console.prepared()
        let offers = (0..<70).map {
            #"{"id":"o\#($0)","kind":"trial","url":"https://example.com/\#(String(repeating: "u", count: 2000))"}"#
        }
        let seed = try console.file(
            "seed.json",
            #"{"vendors":[{"slug":"acme","products":[{"slug":"editor","offers":[\#(offers.joined(separator: ","))]}]}]}"#
        )

        let refusal = try refused("seed \(seed)")

        #expect(refusal.code == "VALIDATION")
        #expect(refusal.text.contains("too long together"))
    }
}
