import Licensing
import Testing

@Suite("Offers and trial tokens") struct OfferTests {
    @Test("an offer is told until its end, which is exclusive, and before its start")
    func told() throws {
        let now = Timestamp.noon
        let offer = Offer(id: try OfferName("x"), kind: .trial, from: now, until: now.adding(seconds: 10))

        #expect(offer.isTold(at: now.adding(seconds: -100)))
        #expect(offer.isTold(at: now.adding(seconds: 9)))
        #expect(!offer.isTold(at: now.adding(seconds: 10)))
        #expect(Offer(id: try OfferName("x"), kind: .trial).isTold(at: .latest))
    }

    @Test("what a store sells needs no price of its own, a trial none at all")
    func price() throws {
        let id = try OfferName("x")

        #expect(throws: Never.self) { try Offer(id: id, kind: .trial).checked() }
        #expect(throws: Never.self) { try Offer(id: id, kind: .purchase, storeProductID: "com.acme.pro").checked() }
        #expect(throws: OfferFault.self) { try Offer(id: id, kind: .subscription).checked() }
        #expect(throws: OfferFault.self) {
            try Offer(id: id, kind: .purchase, priceMilliunits: -1, currency: "USD").checked()
        }
        #expect(throws: OfferFault.self) { try Offer(id: id, kind: .purchase, storeProductID: "com acme").checked() }
        #expect(throws: OfferFault.self) { try Offer(id: id, kind: .trial, url: "https://").checked() }
    }

    @Test("a token is tt_ and 128 bits, read strictly, and never describes itself")
    func token() throws {
        let token = try TrialToken(entropy: FixedEntropy(pattern: [0xA7]))

        #expect(token.text == "tt_" + String(repeating: "a7", count: 16))
        #expect(TrialToken(token.text) == token)
        #expect(!"\(token)".contains("a7"))
        #expect(TrialToken(token.text.uppercased()) == nil)
        #expect(TrialToken(token.text + "0") == nil)
        #expect(TrialToken("tt_" + String(repeating: "g", count: 32)) == nil)
        #expect(TrialToken("") == nil)
    }
}
