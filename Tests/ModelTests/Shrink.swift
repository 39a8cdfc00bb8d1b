/// Makes a failing scenario smaller while it still fails: delta debugging (Zeller, Hildebrandt, 2002).
func shrunk(_ scenario: Scenario, attempts: Int = 600, fails: (Scenario) -> Bool) -> Scenario {
    var best = scenario
    var left = attempts
    func tries(_ steps: [Step]) -> Bool {
        guard left > 0 else { return false }
        left -= 1
        return fails(Scenario(setup: best.setup, steps: steps))
    }
    var size = max(1, best.steps.count / 2)
    while left > 0 {
        var isSmaller = false
        // From the end: what came last is most often of no account.
        var end = best.steps.count
        while end > 0 {
            let start = max(0, end - size)
            var steps = best.steps
            steps.removeSubrange(start..<min(end, steps.count))
            if tries(steps) {
                best.steps = steps
                isSmaller = true
            }
            end = start
        }
        if size == 1 && !isSmaller { break }
        if !isSmaller || size > best.steps.count { size = max(1, size / 2) }
    }
    return best
}
