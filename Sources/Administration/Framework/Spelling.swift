/// Guesses what a mistyped word was meant to be: a command, an option, a setting.
public enum Spelling {
    /// The candidate that needs the fewest changes of single letters, at most a third of them; `nil` where none is near.
    public static func nearest(to word: String, in candidates: [String]) -> String? {
        let scored = candidates.sorted().map { (changes(from: word, to: $0), $0) }
        guard let best = scored.min(by: { $0.0 < $1.0 }), best.0 <= max(2, word.utf8.count / 3) else { return nil }
        return best.1
    }

    /// `; did you mean …?`, or nothing. `prefix` stands before the word.
    public static func hint(_ word: String, in candidates: [String], _ prefix: String = "") -> String {
        nearest(to: word, in: candidates).map { "; did you mean \(prefix)\($0)?" } ?? ""
    }

    /// The Levenshtein distance of the bytes.
    private static func changes(from one: String, to other: String) -> Int {
        let other = Array(other.utf8)
        var row = Array(0...other.count)
        for (index, byte) in one.utf8.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in other.indices {
                let substituted = diagonal + (byte == other[column] ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(substituted, row[column] + 1, row[column + 1] + 1)
            }
        }
        return row[other.count]
    }
}
