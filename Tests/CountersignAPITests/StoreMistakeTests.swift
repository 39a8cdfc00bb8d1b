import AppStore
import LicensingServices
import StoreTestSupport
import Testing

@Suite("Purchases that are shown by mistake") struct StoreMistakeTests {
    @Test("no connection at all is a matter of configuration")
    func noConnection() throws {
        var api = try TestAPI.open()

        let answer = try api.verify(unlock())

        #expect(answer.status == 400)
        #expect(answer.code == "VALIDATION")
        #expect(answer.pointers == ["/store"])
        #expect(answer.verdict == "unknown")
        #expect(try api.install(1) != nil)
    }

    enum Mistake: String, CaseIterable, Sendable {
        case otherApp, otherEnvironment, otherRoot, slowClock, switchedOff, reviewOff, productionUnderTest
    }

    @Test("a mistake of the operator is never a rejection, and changes nothing", arguments: Mistake.allCases)
    func mistakes(mistake: Mistake) throws {
        var api = try TestAPI.open()
        var transaction = unlock()
        var token = api.catalog.appToken
        switch mistake {
        case .otherApp: try api.connect(bundleID: "com.example.other")
        case .otherEnvironment: try api.connect(.sandbox)
        case .otherRoot: try api.connect { $0.rootDigests = [] }
        case .slowClock:
            try api.connect()
            transaction = unlock(signed: 301)
        case .switchedOff: try api.connect { $0.isEnabled = false }
        case .reviewOff:
            try api.connect(.sandbox) { $0.allowsReview = false }
            transaction = transaction.inSandbox()
        case .productionUnderTest:
            try api.connect()
            token = api.catalog.testToken
        }

        for transaction in [transaction, transaction.with("revocationDate", startMilliseconds - 60_000)] {
            let answer = try api.verify(transaction, token: token)

            #expect(answer.status == (mistake == .switchedOff ? 503 : 400))
            #expect(answer.code == (mistake == .switchedOff ? "UNAVAILABLE" : "STORE_UNVERIFIED"))
            #expect(answer.verdict == "unknown")
        }
        #expect(try api.count("SELECT count(*) FROM purchases") == 0)
        #expect(try api.count("SELECT count(*) FROM purchase_links") == 0)
        #expect(try api.count("SELECT count(*) FROM installs") == 1)
    }

    @Test("what is not genuine is told apart from what is, before and behind the worker")
    func notGenuine() throws {
        var api = try TestAPI.open()
        try api.connect()
        let jws = try api.store.sign(unlock())
        var forged = jws
        forged[forged.count - 20] ^= 1

        for (text, install) in [(Array("a.b.c".utf8), 1), (forged, 2), (jws + [0x2E], 3)] {
            let answer = api.verify(jws: text, install)
            #expect(answer.status == 400)
            #expect(answer.code == "STORE_UNVERIFIED")
            #expect(try api.install(install) != nil)
        }
        let huge = api.verify(jws: Array(repeating: UInt8(ascii: "a"), count: 64 * 1024 + 1))
        #expect(huge.code == "STORE_UNVERIFIED")
        #expect(try api.count("SELECT count(*) FROM store_documents") == 0)
    }

    @Test(
        "members that are missing or wrong are named",
        arguments: [
            (#""store":"apple""#, ["/signed_transaction"]),
            (#""store":"apple","signed_transaction":"""#, ["/signed_transaction"]),
            (#""store":"apple","signed_transaction":[]"#, ["/signed_transaction"]),
            (#""store":"google","signed_transaction":"a.b.c""#, ["/store"]),
            (#""signed_transaction":"a.b.c""#, ["/store"]),
            (#""store":"apple","signed_transaction":7"#, ["/signed_transaction"]),
        ]
    )
    func members(body: String, pointers: [String]) throws {
        var api = try TestAPI.open()
        try api.connect()

        let answer = api.post("/v1/store/verify", #"{"install_id":"\#(installID(1))",\#(body)}"#)

        #expect(answer.code == "VALIDATION")
        #expect(answer.pointers.prefix(1) == pointers.prefix(1))
    }

    @Test("a product's purchases are nobody else's")
    func strangers() throws {
        var api = try TestAPI.open()
        try api.connect()
        #expect(try api.verify(unlock()).status == 200)

        let answer = try api.verify(unlock(), token: api.catalog.viewerToken)

        #expect(answer.pointers == ["/store"])
    }
}
