import Foundation
import Testing

/// Random operations on the product and on a model of its rules, which must tell the same.
///
/// `MODEL_SEED` chooses another seed, `MODEL_OPERATIONS` how many operations are done in all, and `MODEL_REPLAY` names a file
/// with a scenario that a failure printed.
@Suite("Model") struct ModelTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let seed = environment["MODEL_SEED"].flatMap { UInt64($0) } ?? 20_261_130
    private static let operations = environment["MODEL_OPERATIONS"].flatMap { Int($0) } ?? 20_000
    private static let parts = 8
    private static let length = 500

    /// Where the operations run: minutes on one of the few threads that tests share would keep all other tests waiting.
    private static let threads = {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 2
        return queue
    }()

    /// The scenario of a number. Seeds are drawn too: streams that begin near each other would be much the same.
    private static func scenario(_ number: Int) -> Scenario {
        var numbered = Randomness(seed: seed)
        let start = numbered.next()
        var seeds = Randomness(seed: start ^ UInt64(number))
        var generator = Generator(seed: seeds.next())
        return generator.scenario(length)
    }

    @Test("random operations are answered as the rules say", arguments: 0..<parts)
    func random(part: Int) async throws {
        let failure = try await withCheckedThrowingContinuation { continuation in
            Self.threads.addOperation { continuation.resume(with: Result { try Self.play(part: part) }) }
        }
        if let failure { Issue.record("seed \(Self.seed): \(failure)") }
    }

    /// What is told of the first scenario of the part that is not answered as the rules say.
    private static func play(part: Int) throws -> String? {
        let market = try Market()
        let run = Run(market: market)
        let count = (operations / parts + length - 1) / length
        for number in 0..<count {
            let scenario = Self.scenario(part * count + number)
            do {
                try run.play(scenario)
            } catch {
                let folder = FileManager.default.temporaryDirectory
                let file = folder.appendingPathComponent("model-scenario-\(part)-\(UUID().uuidString).json")
                return try Failure(of: scenario, because: error, in: run, writtenTo: file).text
            }
        }
        return nil
    }

    @Test("a scenario of a file is answered as the rules say", .enabled(if: environment["MODEL_REPLAY"] != nil))
    func replay() throws {
        let path = try #require(Self.environment["MODEL_REPLAY"])
        try Run(market: Market()).play(Scenario(readFrom: URL(fileURLWithPath: path)))
    }
}
