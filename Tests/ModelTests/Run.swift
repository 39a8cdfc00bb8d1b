import Foundation
import Synchronization

/// Plays a scenario on the product and on the model side by side.
struct Run {
    /// Where the two first disagree.
    struct Disagreement: Error, CustomStringConvertible {
        var step: Int
        var operation: Operation?
        var reason: String
        var product: Told?
        var model: Told?

        var description: String {
            var text = "step \(step): \(reason)"
            if let operation { text += "\n  operation: \(operation)" }
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
    /// - Returns: What was told of each operation.
    /// - Throws: `Disagreement`, and what the product throws that is no refusal.
    @discardableResult
    func play(_ scenario: Scenario) throws -> [Told] {
        var model = Model(belief(scenario.setup))
        var told: [Told] = []
        var shop: Shop?
        var step = 0
        var sequence: Int64 = 0
        // A restart is the end of one opening of the files and the start of another.
        while step < scenario.operations.count || shop == nil {
            let opened = try market.open()
            let current = try shop ?? Shop(scenario.setup, in: market, opened)
            shop = current
            current.sequence = 0
            for number in 0...Generator.installs { try look(number, current, &model, opened, step) }
            guard current.sequence > sequence else {
                throw Disagreement(step: step, reason: "a start did not raise seq")
            }
            while step < scenario.operations.count {
                let operation = scenario.operations[step]
                step += 1
                if operation == .restart { break }
                told.append(try perform(operation, current, &model, opened, step - 1))
            }
            sequence = current.sequence
        }
        return told
    }

    private func perform(
        _ operation: Operation,
        _ shop: Shop,
        _ model: inout Model,
        _ opened: borrowing Opened,
        _ step: Int
    ) throws -> Told {
        let expected = model.perform(operation)
        let isLater = shop.now != model.now
        shop.now = model.now
        market.microseconds.withLock { $0 = model.now * 1_000_000 }
        let told = try shop.perform(operation, opened)
        guard told == expected else {
            throw Disagreement(
                step: step,
                operation: operation,
                reason: "they disagree at \(model.now)",
                product: told,
                model: expected
            )
        }
        // Where nobody called, or somebody else may be hit, an install looks what it has now.
        if told.paper == nil || isLater { try look(step % Generator.installs, shop, &model, opened, step, after: operation) }
        guard shop.sequence != .max else {
            throw Disagreement(step: step, operation: operation, reason: "seq went back")
        }
        try model.checkInvariants(after: operation, told, step)
        return told
    }

    private func look(
        _ install: Int,
        _ shop: Shop,
        _ model: inout Model,
        _ opened: borrowing Opened,
        _ step: Int,
        after operation: Operation? = nil
    ) throws {
        var (told, expected) = (Told("install \(install)"), Told("install \(install)"))
        told.paper = try shop.look(install, opened)
        expected.paper = model.paper(install)
        guard told == expected else {
            throw Disagreement(
                step: step,
                operation: operation,
                reason: "install \(install) has something else at \(model.now)",
                product: told,
                model: expected
            )
        }
    }
}

extension Model {
    /// What must hold whatever the rules in detail say.
    func checkInvariants(after operation: Operation, _ told: Told, _ step: Int) throws {
        func require(_ holds: Bool, _ reason: String) throws {
            guard !holds else { return }
            throw Run.Disagreement(step: step, operation: operation, reason: reason, product: nil, model: nil)
        }
        if let paper = told.paper {
            for grant in paper.grants {
                try require(grant.starts <= paper.issued, "a grant that has not started")
                try require(paper.issued < grant.until, "a grant without a proof")
                try require(grant.ends.map { grant.until <= $0 } ?? true, "a proof beyond the right")
                try require(grant.until <= paper.expires, "a proof beyond the bundle")
            }
            try require(paper.refresh <= paper.expires, "to be refreshed when it is over")
        }
        if let meters = told.meters {
            for meter in meters where told.code == "ALLOWED" {
                if case .consume(_, _, _, nil) = operation {
                    try require(meter.limit.map { meter.used <= $0 } ?? true, "counted over the limit")
                }
                try require(meter.used >= 0, "a count below zero")
            }
        }
    }
}
