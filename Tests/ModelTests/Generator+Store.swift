// The App Store.
extension Generator {
    mutating func store() -> StoreSpec? {
        guard random.once(in: 2) else { return nil }
        return StoreSpec(
            production: random.once(in: 8) ? nil : connection(),
            sandbox: random.once(in: 5) ? nil : connection(),
            tiers: (0..<random.below(3)).map { _ in
                TierSpec(
                    threshold: random.pick([5000, 12_000, 25_000]),
                    features: [random.below(4)],
                    lasting: random.pick([nil, .days(20), Span(months: 1)])
                )
            }
        )
    }

    private mutating func connection() -> ConnectionSpec {
        var map: [String: [Int]] = [:]
        for name in Article.names where !random.once(in: 6) { map[name] = features() }
        return ConnectionSpec(
            leeway: random.pick([0, 7200]),
            map: map,
            season: map["season"] == nil ? nil : random.pick([nil, .days(30), Span(months: 3)])
        )
    }

    mutating func storeOperation() -> Operation {
        switch random.below(20) {
        case 0..<13: .present(document(), install: random.below(Generator.installs), fingerprint: fingerprint())
        case 13..<17: notification()
        case 17..<19: .connect(isSandbox: random.once(in: 2), connectionEdit())
        default: audience()
        }
    }

    private mutating func notification() -> Operation {
        .notify(
            name: random.below(60),
            isSandbox: isSandbox(),
            random.once(in: 4) ? nil : document(),
            random.once(in: 2) ? nil : renewal()
        )
    }

    /// Sandbox in test mode most of the time, production in live mode.
    private mutating func isSandbox() -> Bool { random.once(in: 4) != realm.isTest }

    private mutating func document() -> DocumentSpec {
        random.once(in: 3) ? .again(random.below(12), isRevoked: random.once(in: 3)) : .new(copy())
    }

    private mutating func copy() -> CopySpec {
        CopySpec(
            article: random.below(Article.all.count),
            period: random.below(3),
            isSandbox: isSandbox(),
            transaction: random.once(in: 3) ? 1 : 0,
            bought: random.pick([0, 60, 3 * Self.day, 29 * Self.day, -120]),
            lasting: random.pick([60, 3600, 30 * Self.day]),
            signed: random.pick([0, 0, 0, 60, 3600, -200, -301]),
            isRevoked: random.once(in: 6),
            isUpgraded: random.once(in: 12),
            isShared: random.once(in: 6)
        )
    }

    private mutating func renewal() -> RenewalSpec {
        RenewalSpec(
            article: 1 + random.below(2),
            signed: random.pick([0, 0, 60, 3600]),
            renews: random.pick([nil, true, true, false]),
            hasIntent: random.once(in: 5),
            isRetried: random.once(in: 4),
            grace: random.once(in: 3) ? random.pick([60, 3600, 6 * Self.day]) : nil
        )
    }

    /// More installs than may share a purchase show it, and one of them again when they may have been forgotten.
    private mutating func audience() -> Operation {
        let (copy, pause) = (copy(), random.pick([1, 3600, 2 * Self.day, 7 * Self.day]))
        var operations: [Operation] = []
        for install in 0..<12 {
            if install > 9 { operations.append(.wait(pause)) }
            operations.append(.present(.new(copy), install: install, fingerprint: nil))
        }
        return begin(operations)
    }

    private mutating func connectionEdit() -> ConnectionEdit {
        switch random.below(6) {
        case 0: .enabled(!random.once(in: 3))
        case 1: .review(random.once(in: 2))
        case 2: .leeway(random.pick([0, 60, 7200]))
        case 3: .season(random.pick([nil, .days(7), Span(months: 1)]))
        default: .map(random.pick(Article.names), random.once(in: 4) ? nil : features())
        }
    }
}
