import AppStore
import Licensing
import LicensingServices
import Storage
import StoreTestSupport
import StrictJSON
import Testing

@testable import CountersignAPI

/// What an install presented is read for each of its answers: no more of it than may give something.
@Suite("What is read of what an install presented") struct StoreLinksTests {
    private func read(_ api: borrowing TestAPI) throws -> (granting: [String], ofTip: [String]) {
        let install = try #require(try api.install(1)).id
        return try api.writer.write { db in
            (
                try PurchaseLinkStore.granting(to: install, in: db).map(\.originalTransactionID),
                try PurchaseLinkStore.all(of: install, to: "tip", in: db).map(\.originalTransactionID)
            )
        }
    }

    @Test("what was used up or is not in the map is not read, and is as soon as the map has it")
    func granting() throws {
        var api = try TestAPI.open()
        let connection = try api.connect()
        for number in 0..<5 {
            _ = try api.verify(unlock("10\(number)").with("type", "Consumable").with("productId", "tokens"))
            _ = try api.verify(unlock("20\(number)").with("productId", "tip"))
        }
        #expect(try api.verify(unlock("300")).status == 200)
        let before = try read(api)

        let pro = try FeatureCode("pro")
        try api.edit(connection) { $0.mappings = [.init(id: "tip", features: [pro])] }
        let after = try read(api)

        let tips = (0..<5).map { "20\($0)" }
        #expect(before.granting == ["300"])
        #expect(Set(after.granting).isSuperset(of: tips) && after.granting.allSatisfy { !$0.hasPrefix("10") })
        #expect(before.ofTip == tips && after.ofTip == tips)
    }
}
