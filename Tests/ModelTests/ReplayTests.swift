import Foundation
import Testing

/// What a failure of the model leaves must be the scenario that failed, and as small as it goes.
@Suite("Replay of the model") struct ReplayTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("replay-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false) }

    private func file(_ body: (URL) throws -> Void) throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder.appendingPathComponent("scenario.json"))
    }

    private static func scenario(_ seed: Int, _ length: Int) -> Scenario {
        var generator = Generator(seed: UInt64(seed))
        return generator.scenario(length)
    }

    @Test("a scenario is read as it was written, and plays as it did", arguments: 0..<6)
    func writtenAndRead(seed: Int) throws {
        try file { file in
            let scenario = Self.scenario(seed, 300)
            let run = Run(market: try Market())
            let told = try run.play(scenario)

            try scenario.write(to: file)
            let read = try Scenario(readFrom: file)

            #expect(read == scenario)
            #expect(try run.play(read) == told)
            #expect(told.count == scenario.steps.count && Set(told).count > 50, "what was played told next to nothing")
        }
    }

    /// Models that take the setup for something else, each in one thing.
    enum Mistake: CaseIterable {
        case seats, grace, features, trial, meter

        @Sendable func belief(_ setup: Setup) -> Setup {
            var setup = setup
            setup.products = setup.products.map { belief($0) }
            return setup
        }

        private func belief(_ product: ProductSpec) -> ProductSpec {
            var product = product
            for place in product.plans.indices {
                switch self {
                case .seats:
                    if case .limited(let count) = product.plans[place].seats {
                        product.plans[place].seats = .limited(count + 1)
                    }
                case .grace: product.plans[place].grace += 1
                case .features: product.plans[place].features.removeAll { $0 == 0 }
                case .trial, .meter: break
                }
            }
            if self == .trial { product.settings.trial?.seconds += 1 }
            if self == .meter { for place in product.meters.indices { product.meters[place].scope = "install" } }
            return product
        }
    }

    @Test("what a wrong model fails by is told, and made as small as it goes", arguments: Mistake.allCases)
    func shrunkAndTold(mistake: Mistake) throws {
        try file { file in
            let right = Run(market: try Market())
            let wrong = Run(market: right.market, belief: mistake.belief)
            func failure(_ scenario: Scenario) throws -> (any Error)? {
                do {
                    try wrong.play(scenario)
                    return nil
                } catch let error as Run.Disagreement {
                    return error
                }
            }
            let scenario = try #require(try (0..<20).map { Self.scenario($0, 120) }.first { try failure($0) != nil })
            let error = try #require(try failure(scenario))

            let told = try Failure(of: scenario, because: error, in: wrong, writtenTo: file)

            let small = try Scenario(readFrom: file)
            #expect(small == told.scenario && small.setup == scenario.setup)
            #expect(small.steps.count < scenario.steps.count)
            let cause = try #require(try failure(small))
            #expect(throws: Never.self) { try right.play(small) }
            for place in small.steps.indices {
                var smaller = small
                smaller.steps.remove(at: place)
                #expect(try failure(smaller) == nil, "\(small.steps[place]) could be left out")
            }
            for part in ["\(cause)", "MODEL_REPLAY=\(file.path) ", try small.json] { #expect(told.text.contains(part)) }
        }
    }

    private static func waiting(_ seconds: Int) -> Step { Step(operation: .wait(Int64(seconds))) }

    @Test("shrinking leaves what a failure needs, in its order, and nothing else", arguments: [1, 2, 3, 7, 40, 120])
    func needed(distance: Int) throws {
        let scenario = Scenario(setup: Self.scenario(1, 0).setup, steps: (0..<120).map { Self.waiting($0) })
        let needed = stride(from: 119, through: 0, by: -distance).prefix(3).reversed().map { Self.waiting($0) }

        let small = shrunk(scenario) { scenario in scenario.steps.filter { needed.contains($0) } == needed }

        #expect(small.setup == scenario.setup && small.steps == needed)
    }

    @Test("shrinking that runs out of attempts leaves something that fails", arguments: [0, 1, 10, 50])
    func exhausted(attempts: Int) {
        let scenario = Scenario(setup: Self.scenario(1, 0).setup, steps: (0..<120).map { Self.waiting($0) })
        var tried = 0
        func fails(_ scenario: Scenario) -> Bool {
            [3, 64, 65].allSatisfy { scenario.steps.contains(Self.waiting($0)) }
        }

        let small = shrunk(scenario, attempts: attempts) { scenario in
            tried += 1
            return fails(scenario)
        }

        #expect(fails(small) && tried <= attempts)
        #expect((small.steps.count < 120) == (attempts >= 10))
    }
}
