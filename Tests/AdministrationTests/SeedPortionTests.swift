import Foundation
import StrictJSON
import Synchronization
import SystemPrimitives
import SystemTestSupport
import Testing

@testable import Administration

@Suite("Seed documents with many licenses") struct SeedPortionTests {
    let console = Console()
    private let count = 2100

    /// A document whose last license names this plan.
    private func document(lastPlan: String = "pro") -> String {
        let licenses = (1...count).map { number in
            #"{"order_id":"o-\#(number)","plan":"\#(number == count ? lastPlan : "pro")"}"#
        }
        return #"{"vendors":[{"slug":"acme","name":"Acme","products":[{"slug":"editor","name":"Editor","#
            + #""features":[{"code":"pro","name":"Pro"}],"plans":[{"code":"pro","features":["pro"]}],"#
            + #""licenses":[\#(licenses.joined(separator: ","))]}]}]}"#
    }

    private func orders(_ report: JSONValue) -> [String] {
        report["licenses"]?.elements?.compactMap { $0["order_id"]?.string } ?? []
    }

    @Test("all are written and told in the order of the document, and a second run changes nothing")
    func written() throws {
        let file = try console.file("seed.json", document())
        let expected = (1...count).map { "o-\($0)" }

        let tried = try console.json("seed \(file) --dry-run")
        let first = try console.json("seed \(file)")
        let second = try console.json("seed \(file)")

        #expect(tried["created"]?.texts == first["created"]?.texts)
        #expect(orders(tried) == expected && orders(first) == expected && orders(second) == expected)
        #expect(first["licenses"]?.elements?.allSatisfy { $0["key"]?.string != nil } == true)
        #expect(second["created"]?.count == 0 && second["changed"]?.count == 0)
        let ids = { (report: JSONValue) in report["licenses"]?.elements?.compactMap { $0["id"]?.string } ?? [] }
        #expect(ids(first) == ids(second) && Set(ids(first)).count == count)
        try console.json("admin audit verify")
    }

    @Test("a mistake in the last of many names its place, and nothing of the document is kept")
    func mistake() throws {
        let file = try console.file("seed.json", document(lastPlan: "other"))

        let failure = try console.failure("seed \(file)")

        #expect(failure.code == "PLAN_NOT_FOUND")
        #expect(failure.error["pointer"]?.string?.hasPrefix("/vendors/0/products/0/licenses/\(count - 1)") == true)
        #expect(try console.json("admin vendor list")["vendors"]?.count == 0)
    }

    @Test("a run that breaks off keeps what it wrote, and the next goes on with it")
    func broken() throws {
        let file = try console.file("seed.json", document())
        try console.json("admin vendor create --slug other")
        try console.sql(
            """
            CREATE TRIGGER break_off BEFORE INSERT ON licenses WHEN NEW.order_id = 'o-2050'
            BEGIN SELECT raise(ABORT, 'broken off'); END
            """
        )

        let failure = try console.failure("seed \(file)")
        #expect(failure.exit == 1 && failure.error["written"]?.int64 == 2000)
        #expect(failure.error["message"]?.string?.contains("2000 of \(count) new licenses were written") == true)
        let kept = try console.json("admin license list --product acme/editor --limit 1000")
        #expect(kept["licenses"]?.count == 1000 && kept["next"]?.string != nil)
        try console.sql("DROP TRIGGER break_off")
        let report = try console.json("seed \(file)")

        #expect(report["created"]?.count == count - 2000)
        #expect(orders(report).count == count)
    }

    // MARK: What is shown once

    /// Two products: one keeps the keys of its many licenses, one keeps none of its few; credentials of both kinds.
    private func mixed() throws -> String {
        let many = (1...count).map { #"{"order_id":"o-\#($0)","plan":"pro"}"# }.joined(separator: ",")
        let few = (1...3).map { #"{"order_id":"v-\#($0)","plan":"pro"}"# }.joined(separator: ",")
        let catalog = #""features":[{"code":"pro"}],"plans":[{"code":"pro","features":["pro"]}]"#
        return try console.file(
            "mixed.json",
            #"{"vendors":[{"slug":"acme","credentials":[{"name":"office","kind":"sk"}],"products":["#
                + #"{"slug":"vault","settings":{"keep_license_keys":false},\#(catalog),"licenses":[\#(few)]},"#
                + #"{"slug":"editor",\#(catalog),"credentials":[{"name":"app","kind":"pk"}],"licenses":[\#(many)]}]}]}"#
        )
    }

    private func keys(_ report: JSONValue) -> [String] {
        report["licenses"]?.elements?.compactMap { $0["key"]?.string } ?? []
    }

    /// Everything that is shown once is there, told by this report.
    private func expectShown(_ report: JSONValue) throws {
        #expect(report["secrets"]?.elements?.compactMap { $0["name"]?.string } == ["office", "app"])
        #expect(report["secrets"]?.elements?.allSatisfy { $0["token"]?.string != nil } == true)
        #expect(Set(keys(report)).count == count + 3)
        for key in keys(report).prefix(3) {
            #expect(try console.json("admin license show \(key)").at("license.id")?.string != nil)
        }
    }

    @Test("at no moment between two transactions is there anything that is shown once: a run may be killed there")
    func moments() throws {
        let file = try mixed()
        let (moments, found) = (Counter(), Counter())
        var watched = console
        watched.watch = { [console] text in
            guard text.contains("licenses written") else { return }
            moments.add(1)
            let credentials = try? console.json("admin credential list --vendor acme")["credentials"]?.count
            let licenses = try? console.json("admin license list --product acme/vault")["licenses"]?.count
            found.add((credentials ?? 1) + (licenses ?? 1))
        }

        #expect(watched.run("seed \(file)").code == 0)

        #expect(moments.sum == 2 && found.sum == 0)
        #expect(try console.json("admin credential list --vendor acme")["credentials"]?.count == 2)
        #expect(try console.json("admin license list --product acme/vault")["licenses"]?.count == 3)
    }

    @Test("a lock that others hold from one of these moments on costs nobody a token or a key", arguments: [1, 2])
    func locked(moment: Int) throws {
        let file = try mixed()
        let moments = Counter()
        let lock = Guarded<HeldLock?>(nil)
        var watched = console
        watched.watch = { [data = console.data] text in
            guard text.contains("licenses written") else { return }
            moments.add(1)
            guard moments.sum == moment else { return }
            lock.withLock { lock in
                lock = try? HeldLock("\(data)/write.lock")
                #expect(lock != nil)
            }
        }

        let ending = watched.run("seed \(file)")
        lock.withLock { $0?.release() }

        #expect(ending.code == 1 && ending.error.contains("DATABASE_BUSY"))
        #expect(ending.error.contains("\(moment == 1 ? 2000 : count) of \(count + 3) new licenses were written"))
        try expectShown(try console.json("seed \(file)"))
    }

    @Test("many licenses whose keys are shown once are written all or none")
    func manyShownOnce() throws {
        let text = document().replacingOccurrences(
            of: #""name":"Editor","#,
            with: #""settings":{"keep_license_keys":false},"credentials":[{"name":"app","kind":"sk"}],"#
        )
        let file = try console.file("seed.json", text)
        try console.json("admin vendor create --slug other")
        try console.sql(
            """
            CREATE TRIGGER break_off BEFORE INSERT ON licenses WHEN NEW.order_id = 'o-2050'
            BEGIN SELECT raise(ABORT, 'broken off'); END
            """
        )

        let failure = try console.failure("seed \(file)")
        #expect(failure.error["written"] == nil)
        #expect(try console.json("admin vendor list")["vendors"]?.count == 1)
        try console.sql("DROP TRIGGER break_off")
        let report = try console.json("seed \(file)")

        #expect(Set(keys(report)).count == count)
        #expect(report.at("secrets.0.token")?.string != nil)
        #expect(report["notes"]?.texts.contains { $0.contains("this once") } == true)
    }

    @Test("what cannot be told of earlier runs ends a run before it makes anything that is shown once")
    func unreadable() throws {
        let first = document().replacingOccurrences(of: #""name":"Editor","#, with: "")
        try console.json("seed \(try console.file("first.json", first))")
        try console.sql("UPDATE license_keys SET sealed = x'00'")
        let second = document().replacingOccurrences(
            of: #""name":"Editor","#,
            with: #""credentials":[{"name":"app","kind":"sk"}],"#
        )

        #expect(try console.failure("seed \(try console.file("second.json", second))").exit == 1)
        #expect(try console.json("admin credential list --vendor acme")["credentials"]?.count == 0)
    }

    @Test("a document makes no more licenses with keys that are shown once than one transaction may have rows")
    func mostShownOnce() throws {
        try SeedRun.check(shownOnce: SeedRun.mostShownOnce)
        #expect(throws: CommandFailure.self) { try SeedRun.check(shownOnce: SeedRun.mostShownOnce + 1) }
    }
}

@Suite("License files with many licenses") struct ImportPortionTests {
    let console = Console()

    @Test("an import that breaks off between two transactions says how far it came, and a repeat goes on")
    func broken() throws {
        _ = try console.prepared()
        let rows = (1...2100).map { "o-\($0),pro" }
        let file = try console.file("many.csv", (["order_id,plan"] + rows).joined(separator: "\n"))
        let line = "admin license import \(file) --product acme/editor"
        try console.sql(
            """
            CREATE TRIGGER break_off BEFORE INSERT ON licenses WHEN NEW.order_id = 'o-2050'
            BEGIN SELECT raise(ABORT, 'broken off'); END
            """
        )

        let failure = try console.failure(line)
        #expect(failure.exit == 1 && failure.error["written"]?.int64 == 2000)
        #expect(failure.error["message"]?.string?.contains("2000 licenses of the lines before were written") == true)
        try console.sql("DROP TRIGGER break_off")
        let report = try console.json(line)

        #expect(report.at("import.imported")?.int64 == 100 && report.at("import.unchanged")?.int64 == 2000)
    }
}

/// A sum that closures of several threads may add to.
private final class Counter: Sendable {
    private let value = Mutex(0)
    var sum: Int { value.withLock { $0 } }
    func add(_ count: Int) { value.withLock { $0 += count } }
}
