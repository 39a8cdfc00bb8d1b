import Licensing
import Testing

@testable import LicensingServices

@Suite("Machines with one fingerprint") struct CloneTests {
    @Test(
        "an install that was replaced twice is known as a clone by both fingerprints, whatever the clock does meanwhile",
        arguments: [0, 1, -1] as [Int64]
    )
    func replacedTwice(step: Int64) throws {
        let office = try LicenseOffice()
        let key = try #require(try office.issue(office.order(seatLimit: .unlimited)).key).text
        var now = LicenseOffice.noon
        func activate(_ install: String, _ fingerprint: String) throws -> Activation.ID {
            now = now.adding(seconds: step)
            let install = "the-install-of-\(install)"
            let decision = try office.activate(key, on: install, fingerprint: fingerprint, at: now)
            return try #require(decision?.value).id
        }

        let old = try activate("ann", "fingerprint-one")
        let takenOver = try activate("bob", "fingerprint-one")
        let own = try activate("ann", "fingerprint-two")
        let takenAgain = try activate("cid", "fingerprint-two")
        let third = try activate("ann", "fingerprint-two")
        let newcomer = try activate("dan", "fingerprint-two")
        let kept = try activate("cid", "fingerprint-two")

        #expect(takenOver == old && takenAgain == own && kept == own)
        #expect(Set([old, own, third, newcomer]).count == 4)
    }
}
