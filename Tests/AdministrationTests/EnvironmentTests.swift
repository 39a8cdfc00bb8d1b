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
}
