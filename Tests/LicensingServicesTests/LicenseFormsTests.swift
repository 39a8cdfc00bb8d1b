import Licensing
import StrictJSON
import Testing

@testable import LicensingServices

@Suite("How licenses are described") struct LicenseFormsTests {
    private func refusal(_ body: () throws -> Void) -> String? {
        do { try body() } catch { return (error as? ValueFault)?.reason }
        return nil
    }

    @Test(
        "a number of seats is taken or refused alike, in the same words, as text and as JSON",
        arguments: [
            ("0", true), ("1", true), ("2147483647", true), ("2147483648", false), ("9223372036854775808", false),
            ("-1", false), ("1.0", false), ("1e3", false),
        ]
    )
    func seats(number: String, isTaken: Bool) throws {
        let value = try JSONDocument(parsing: Array(number.utf8)).root

        let (text, json) = (
            refusal { _ = try LicenseForms.seats(number) }, refusal { _ = try LicenseForms.seats(value) }
        )

        #expect((text == nil) == isTaken)
        #expect(text == json)
        if isTaken { #expect(try LicenseForms.seats(number) == LicenseForms.seats(value)) }
    }

    @Test("the words for seats are taken alike, as text and as JSON", arguments: ["unlimited", "plan"])
    func words(word: String) throws {
        let value = try JSONDocument(parsing: Array("\"\(word)\"".utf8)).root

        #expect(try LicenseForms.seats(word) == LicenseForms.seats(value))
    }

    @Test("one call issues up to a thousand licenses", arguments: [(0, false), (1, true), (1000, true), (1001, false)])
    func count(number: Int64, isTaken: Bool) {
        #expect((refusal { _ = try LicenseForms.count(number) } == nil) == isTaken)
    }
}
