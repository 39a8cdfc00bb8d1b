import Testing

@testable import LicensingServices

@Suite("CSV") struct CSVTests {
    @Test(
        "a record that was written is read the same, also at the end and where it is one empty field",
        arguments: [[""], ["", ""], ["a", ""], ["\n"], ["\r\n", ""], ["\"", ","]]
    )
    func roundTrip(fields: [String]) throws {
        var writer = CSVWriter()
        writer.record(["header"])
        writer.record(fields)

        var reader = CSVReader(writer.bytes)

        #expect(try reader.next()?.fields == ["header"])
        #expect(try reader.next()?.fields == fields)
        #expect(try reader.next() == nil)
    }
}
