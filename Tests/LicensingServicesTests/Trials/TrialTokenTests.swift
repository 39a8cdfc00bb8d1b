import Licensing
import Storage
import Testing

@testable import LicensingServices

@Suite("Tokens and administration of trials") struct TrialTokenTests {
    typealias Shop = TrialShop

    @Test("the token is told to the install that started the trial, the same each time, and to no other")
    func token() throws {
        let shop = try TrialShop([.trialDuration: "P14D"])
        try shop.contact("a", "laptop")
        #expect(try shop.token("a") == nil)

        try shop.ask("a", "laptop")
        let token = try #require(try shop.token("a"))
        try shop.ask("a", "laptop", at: Shop.day(1))
        try shop.ask("b", "laptop", at: Shop.day(1))

        #expect(token.utf8.count == 35)
        #expect(try shop.token("a") == token)
        #expect(try shop.token("b") == nil)
    }

    @Test("a token stands for its trial within its product and mode, and any other text for none")
    func tokenStands() throws {
        let shop = try TrialShop([.trialDuration: "P14D"])
        try shop.ask("a")
        let token = try #require(try shop.token("a"))
        func standing(_ text: String, _ mode: Mode = .live, at now: Timestamp = Shop.noon) throws -> OutcomeCode? {
            let caller = try shop.caller(mode)
            return try shop.read { db in
                try shop.trials.standing(ofToken: text, for: caller, at: now, in: db)?.status.code
            }
        }

        #expect(try standing(token) == .trialActive)
        #expect(try standing(token, at: Shop.day(14)) == .trialExpired)
        #expect(try standing(token, .test) == nil)
        #expect(try standing("") == nil)
        #expect(try standing(String(token.dropLast()) + (token.hasSuffix("0") ? "1" : "0")) == nil)
    }

    @Test("tokens lie in the database as digest and sealed, never as they are")
    func tokenAtRest() throws {
        let shop = try TrialShop([.trialDuration: "P14D"])
        try shop.ask("a")
        let token = try #require(try shop.token("a"))

        let kept = try shop.read { db in
            try db.first("SELECT token_digest, token_sealed FROM trials", { row in try row.blob() + row.blob() })
        }

        let bytes = try #require(kept)
        #expect(bytes.count > 64)
        #expect(!bytes.indices.contains { bytes[$0...].starts(with: token.utf8) })
    }

    @Test("an extension moves the trial of every install of the machine, and never shortens")
    func extend() throws {
        let shop = try TrialShop([.trialDuration: "P14D"])
        try shop.contact("a", "laptop")
        try shop.contact("b", "laptop", at: Shop.day(1))
        func extend(until end: Timestamp) throws {
            let digest = try shop.claim("b").digest
            let product = try shop.row()
            _ = try shop.write { db in
                let trial = try TrialService.trial(ofInstall: digest, product: product, mode: .live, in: db)
                return try shop.trials.extend(trial, of: product, until: end, by: shop.actor(day: 15), in: db)
            }
        }

        try extend(until: Shop.day(20))
        try extend(until: Shop.day(20))

        #expect(try shop.status("a", at: Shop.day(20, second: -1)).code == .trialActive)
        #expect(try shop.status("b", at: Shop.day(20)).code == .trialExpired)
        #expect(try shop.audited().filter { $0 == "trial.extend" }.count == 1)
        #expect(throws: Refusal.self) { try extend(until: Shop.day(19)) }
        #expect(throws: Refusal.self) { try extend(until: Shop.day(15)) }
        try shop.set([.trialDuration: "P7D"], day: 16)
        #expect(try shop.status("a", at: Shop.day(19)).endsAt == Shop.day(20))
    }

    @Test("an issued trial begins at once and belongs to no install")
    func issue() throws {
        let shop = try TrialShop([.trialDuration: "P14D"])
        let product = try shop.row()
        let draft = try shop.trials.draft(for: product, mode: .test, until: nil, at: Shop.noon)

        try shop.write { db in try shop.trials.issue(draft, of: product, by: shop.actor(), in: db) }

        let caller = try shop.caller(.test)
        let standing = try shop.read { db in
            try shop.trials.standing(ofToken: draft.token.text, for: caller, at: Shop.day(13), in: db)
        }
        #expect(standing?.status.endsAt == Shop.day(14))
        #expect(standing?.trial?.install == nil)
        #expect(try shop.audited().last == "trial.issue")
        try shop.set([.trialDuration: "0"])
        let off = try shop.row()
        #expect(throws: Refusal.self) { try shop.trials.draft(for: off, mode: .live, until: nil, at: Shop.noon) }
        #expect(throws: Refusal.self) {
            try shop.trials.draft(for: off, mode: .live, until: Shop.noon, at: Shop.noon)
        }
    }
}
