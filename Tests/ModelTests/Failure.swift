import Foundation

extension Scenario {
    /// One that was written by `write(to:)`, or printed by a failure.
    init(readFrom file: URL) throws {
        self = try JSONDecoder().decode(Scenario.self, from: Data(contentsOf: file))
    }

    /// As JSON on one line.
    var json: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }

    func write(to file: URL) throws { try Data(json.utf8).write(to: file) }
}

/// A scenario in which the product and the model disagree, made as small as it goes and kept in a file.
struct Failure {
    let scenario: Scenario
    /// Says what they disagree about, and how to see it again.
    let text: String

    /// Makes it smaller, and writes what remains.
    init(of scenario: Scenario, because error: any Error, in run: Run, writtenTo file: URL) throws {
        var cause = error
        let small = shrunk(scenario) { scenario in
            do {
                try run.play(scenario)
                return false
            } catch {
                return true
            }
        }
        do { try run.play(small) } catch { cause = error }
        try small.write(to: file)
        self.scenario = small
        text = """
            \(cause)
            \(small.steps.count) of \(scenario.steps.count) operations are left; to see it again:
            MODEL_REPLAY=\(file.path) swift test --filter ModelTests/replay
            \(try small.json)
            """
    }
}
