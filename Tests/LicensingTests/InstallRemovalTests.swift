import Licensing
import Testing

@Suite("Removal of installs") struct InstallRemovalTests {
    let now = Timestamp.noon

    @Test("an install that nothing ties is removed after 90 days unseen")
    func removal() throws {
        let digest = try #require(Digest256.number(1))
        let install = Install(
            id: .number(1),
            product: .number(1),
            mode: .live,
            digest: digest,
            firstContactAt: now,
            lastSeenAt: now
        )
        var ties = Install.Ties(
            hasSeat: false,
            hasPurchase: false,
            hasGift: false,
            hasUsage: false,
            hasTrialWithEnd: false
        )

        #expect(!install.isRemovable(given: ties, at: now.adding(days: 90).adding(seconds: -1)))
        #expect(install.isRemovable(given: ties, at: now.adding(days: 90)))
        ties.hasTrialWithEnd = true
        #expect(!install.isRemovable(given: ties, at: now.adding(days: 900)))
    }
}
