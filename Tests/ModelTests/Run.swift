import Foundation
import Synchronization

/// Plays a scenario on the product and on the model side by side.
struct Run {
    /// Where the two first disagree.
    struct Disagreement: Error, CustomStringConvertible {
        var number: Int
        var step: Step?
        var reason: String
        var product: Told?
        var model: Told?

        var description: String {
            var text = "step \(number): \(reason)"
            if let step { text += "\n  in \(step.realm): \(step.operation)" }
            guard let product, let model else { return text }
            let (left, right) = (Mirror(reflecting: product), Mirror(reflecting: model))
            for (told, expected) in zip(left.children, right.children)
            where "\(told.value)" != "\(expected.value)" {
                text += "\n  \(told.label ?? "") of the product: \(told.value)"
                text += "\n  \(told.label ?? "") of the model:   \(expected.value)"
            }
            return text
        }
    }

    let market: Market
    /// What the model takes the setup for: a wrong model is made by telling it something else.
    var belief: @Sendable (Setup) -> Setup = { $0 }

    /// Plays all of it.
    ///
    /// - Returns: What was told at each step.
    /// - Throws: `Disagreement`, and what the product throws that is no refusal.
    @discardableResult
    func play(_ scenario: Scenario) throws -> [Told] {
        var world = World(belief(scenario.setup))
        var town: Town?
        var told: [Told] = []
        var sequence: Int64 = 0
        // A restart is the end of one opening of the files and the start of another.
        while told.count < scenario.steps.count || town == nil {
            let opened = try market.open()
            let current = try town ?? Town(scenario.setup, in: market, opened)
            town = current
            for realm in world.realms {
                let shop = try current.shop(realm)
                shop.sequence = 0
                for install in 0...Generator.installs { try look(install, shop, &world, opened, told.count) }
                guard shop.sequence > sequence else {
                    throw Disagreement(number: told.count, reason: "a start did not raise seq")
                }
            }
            while told.count < scenario.steps.count {
                let step = scenario.steps[told.count]
                if step.operation == .restart {
                    told.append(.skipped)
                    break
                }
                told.append(try perform(step, current, &world, opened, told.count))
            }
            sequence = current.shops.values.map(\.sequence).max() ?? 0
        }
        return told
    }

    private func perform(
        _ step: Step,
        _ town: Town,
        _ world: inout World,
        _ opened: borrowing Opened,
        _ number: Int
    ) throws -> Told {
        let expected = world.perform(step)
        let isLater = town.now != world.now
        town.now = world.now
        let shop = try town.shop(step.realm)
        let told = try shop.perform(step.operation, opened)
        guard told == expected else {
            throw Disagreement(
                number: number,
                step: step,
                reason: "they disagree at \(world.now)",
                product: told,
                model: expected
            )
        }
        // Where nobody called, or somebody else may be hit, an install looks what it has now.
        let onlooker = number % Generator.installs
        if told.paper == nil || isLater { try look(onlooker, shop, &world, opened, number, after: step) }
        // And the same install in another realm, which must have noticed nothing.
        let other = try town.shop(world.realms[number % world.realms.count])
        if other.realm != step.realm {
            try look(step.operation.install ?? onlooker, other, &world, opened, number, after: step)
        }
        guard shop.sequence != .max, other.sequence != .max else {
            throw Disagreement(number: number, step: step, reason: "seq went back")
        }
        try told.checkInvariants(of: step, number)
        return told
    }

    private func look(
        _ install: Int,
        _ shop: Shop,
        _ world: inout World,
        _ opened: borrowing Opened,
        _ number: Int,
        after step: Step? = nil
    ) throws {
        var (told, expected) = (Told("install \(install)"), Told("install \(install)"))
        told.paper = try shop.look(install, opened)
        expected.paper = world.paper(install, in: shop.realm)
        guard told == expected else {
            throw Disagreement(
                number: number,
                step: step,
                reason: "install \(install) of \(shop.realm) has something else at \(world.now)",
                product: told,
                model: expected
            )
        }
    }
}

extension Told {
    /// What must hold whatever the rules in detail say.
    func checkInvariants(of step: Step, _ number: Int) throws {
        func require(_ holds: Bool, _ reason: String) throws {
            guard !holds else { return }
            throw Run.Disagreement(number: number, step: step, reason: reason)
        }
        if let paper {
            for grant in paper.grants {
                try require(grant.starts <= paper.issued, "a grant that has not started")
                try require(paper.issued < grant.until, "a grant without a proof")
                try require(grant.ends.map { grant.until <= $0 } ?? true, "a proof beyond the right")
                try require(grant.until <= paper.expires, "a proof beyond the bundle")
            }
            try require(paper.refresh <= paper.expires, "to be refreshed when it is over")
        }
        if let meters {
            for meter in meters where code == "ALLOWED" {
                if case .consume(_, _, _, nil) = step.operation {
                    try require(meter.limit.map { meter.used <= $0 } ?? true, "counted over the limit")
                }
                try require(meter.used >= 0, "a count below zero")
            }
        }
    }
}
