import Foundation
import Testing

@testable import Administration

@Suite("Demonstration") struct DemonstrationTests {
    @Test("the document of the demonstration is the one that stands in config")
    func document() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = try String(contentsOf: root.appending(path: "config/demo.seed.json"), encoding: .utf8)

        #expect(Demonstration.document == file)
    }
}
