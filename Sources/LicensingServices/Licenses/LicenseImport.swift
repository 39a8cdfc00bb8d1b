public import Licensing
public import Storage

/// One thing that is wrong with a file of licenses.
public struct LicenseImportFault: Hashable, Sendable {
    /// The line on which the record begins, from 1 on.
    public let line: Int
    /// The column at fault; `nil`: the line as a whole.
    public let column: String?
    /// A short sentence; never the value.
    public let reason: String

    init(line: Int, column: String? = nil, _ reason: String) {
        self.line = line
        self.column = column
        self.reason = reason
    }
}

/// Everything that is wrong with a file of licenses: nothing of it was written.
public struct LicenseImportRefusal: Error, Hashable, Sendable {
    /// The most faults that are told of one file.
    static let most = 1000

    /// In the order of their lines; at least one. Of a file with more than can be told the last one says so.
    public let faults: [LicenseImportFault]

    init(_ faults: [LicenseImportFault]) {
        let told = faults.sorted { $0.line < $1.line }.prefix(Self.most)
        guard faults.count >= Self.most, let last = told.last else {
            self.faults = Array(told)
            return
        }
        let end = "has fault \(Self.most); what is behind it was not looked at"
        self.faults = told + [LicenseImportFault(line: last.line, end)]
    }
}

/// A file of licenses, read and checked, with every key digested and sealed: ready to be written.
public struct LicenseImport: Sendable {
    struct Row: Sendable {
        let line: Int
        var draft: LicenseDraft
    }

    /// The product they are for.
    public let product: Product
    let rows: [Row]

    /// How many licenses the file names.
    public var count: Int { rows.count }

    /// The most licenses that one transaction writes.
    static let portion = 50_000

    /// How many one transaction writes where every line has a key or an order, so that a repeat goes on after a break:
    /// few, so that a server beside it hardly waits, and nobody who waits for the server is told to come back.
    static let shortPortion = 2000

    /// The parts that are each written in one transaction.
    public var portions: [Range<Int>] {
        let isRepeatable = rows.allSatisfy { $0.draft.order.importedKey != nil || $0.draft.order.orderID != nil }
        let portion = isRepeatable ? Self.shortPortion : Self.portion
        return stride(from: 0, to: rows.count, by: portion).map { $0..<min($0 + portion, rows.count) }
    }

    /// What writing a part did.
    public struct Outcome: Hashable, Sendable {
        /// Licenses that were written.
        public var imported = 0
        /// Licenses that were there, from an import before this one.
        public var unchanged = 0
        /// The first license that was written.
        public var first: License.ID?
        /// The last license that was written.
        public var last: License.ID?

        /// Nothing done.
        public init() {}

        /// Adds what a later part did.
        public mutating func add(_ other: Outcome) {
            imported += other.imported
            unchanged += other.unchanged
            first = first ?? other.first
            last = other.last ?? last
        }
    }
}

extension LicenseService {
    // MARK: - Reading

    /// Reads a whole file of licenses and makes every one ready; nothing is written, and no question asked but for plans.
    ///
    /// - Parameters:
    ///   - bytes: CSV with a header line.
    ///   - plans: Codes of the product's plans.
    ///   - progress: Told now and then how many lines are ready.
    /// - Throws: `LicenseImportRefusal` with everything that is wrong; `CryptographyError`.
    public func readImport(
        _ bytes: [UInt8],
        for product: Product,
        plans: Set<PlanCode>,
        at now: Timestamp,
        progress: (Int) -> Void = { _ in }
    ) throws -> LicenseImport {
        var (orders, faults) = LicenseTable.read(bytes, plans: plans)
        var rows: [LicenseImport.Row] = []
        rows.reserveCapacity(orders.count)
        var keyLines: [Digest256: Int] = [:]
        // By bytes, as the database tells them apart: texts of other bytes may be equal (Unicode, canonical equivalence).
        var orderLines: [[UInt8]: Int] = [:]
        let drafter = LicenseDrafter(keys: keys, entropy: entropy)
        for (line, order) in orders where faults.count < LicenseImportRefusal.most {
            func refuse(_ column: String?, _ reason: String) {
                faults.append(LicenseImportFault(line: line, column: column, reason))
            }
            if order.importedKey == nil && !product.settings.keepLicenseKeys {
                refuse("key", "is required: the product keeps no keys, so that one made here would be lost")
                continue
            }
            if order.importedKey == nil && order.orderID == nil && orders.count > LicenseImport.portion {
                // Several transactions: a repeat after a break must know what is there.
                refuse(nil, "needs a key or an order_id in a file of more than \(LicenseImport.portion) licenses")
                continue
            }
            let draft: LicenseDraft
            do {
                draft = try drafter.license(order, for: product, at: now)
            } catch let refusal as Refusal {
                refuse(refusal.member, refusal.message)
                continue
            }
            if order.importedKey != nil, let other = keyLines.updateValue(line, forKey: draft.key.digest) {
                refuse("key", "is the key of line \(other), too")
            }
            if let id = order.orderID {
                let bytes = Array((order.mode.rawValue + id).utf8)
                if let other = orderLines.updateValue(line, forKey: bytes) {
                    refuse("order_id", "is the order of line \(other), too")
                }
            }
            rows.append(LicenseImport.Row(line: line, draft: draft))
            if rows.count % 1000 == 0 { progress(rows.count) }
        }
        orders = []
        guard faults.isEmpty else { throw LicenseImportRefusal(faults) }
        // Ids in the order of the lines: licenses are listed as they stood in the file, and while the write lock is held
        // most indexes grow at one place instead of everywhere.
        let ids = rows.map(\.draft.id).sorted()
        let customers = rows.map(\.draft.customer).sorted()
        for index in rows.indices {
            rows[index].draft.id = ids[index]
            rows[index].draft.customer = customers[index]
        }
        return LicenseImport(product: product, rows: rows)
    }

    /// Looks every license of a file up: one that is there with other parameters is refused before anything is written.
    ///
    /// - Throws: `LicenseImportRefusal`, `StorageError`.
    public func checkImport<DB: Queries & ~Copyable>(
        _ file: LicenseImport,
        at now: Timestamp,
        in db: borrowing DB
    ) throws {
        var plans = KnownPlans(of: file.product.id)
        var faults: [LicenseImportFault] = []
        for row in file.rows where faults.count < LicenseImportRefusal.most {
            do {
                guard try known(row.draft, of: file.product, &plans, in: db) == nil else { continue }
                _ = try license(row.draft, for: nil, of: file.product, at: now, &plans, in: db)
            } catch let refusal as Refusal {
                faults.append(.init(line: row.line, column: refusal.member, refusal.message))
            }
        }
        guard faults.isEmpty else { throw LicenseImportRefusal(faults) }
    }

    // MARK: - Writing

    /// Writes a part of a file in the caller's transaction, with one audit row for all of it.
    ///
    /// What is there from an import before is left as it is, so that a repeat after a break goes on.
    ///
    /// - Throws: `LicenseImportRefusal` where another change came between the check and this; `StorageError`.
    public func writeImport(
        _ file: LicenseImport,
        _ part: Range<Int>,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> LicenseImport.Outcome {
        var outcome = LicenseImport.Outcome()
        var plans = KnownPlans(of: file.product.id)
        var keyed: [(key: LicenseKeyDraft, license: License.ID)] = []
        for row in file.rows[part] {
            do {
                if try known(row.draft, of: file.product, &plans, in: db) != nil {
                    outcome.unchanged += 1
                    continue
                }
                let customer = try customer(of: row.draft, vendor: file.product.vendor, at: actor.now, in: db)
                let license = try license(
                    row.draft,
                    for: customer?.id,
                    of: file.product,
                    at: actor.now,
                    &plans,
                    in: db
                )
                try LicenseStore.insert(license, orderDigest: row.draft.orderDigest, in: db)
                keyed.append((row.draft.key, license.id))
                outcome.imported += 1
                outcome.first = outcome.first ?? license.id
                outcome.last = license.id
            } catch let refusal as Refusal {
                throw LicenseImportRefusal([.init(line: row.line, column: refusal.member, refusal.message)])
            }
        }
        // By digest, as they lie: each page of the table is looked for once.
        keyed.sort { $0.key.digest.word0 < $1.key.digest.word0 }
        for (key, license) in keyed { try insert(key, of: license, at: actor.now, in: db) }
        guard outcome.imported > 0, let first = outcome.first, let last = outcome.last else { return outcome }
        try audit.record(
            AuditedChange(
                vendor: file.product.vendor,
                action: "license.import",
                target: file.product.id.text,
                after: "{\"count\":\(outcome.imported),\"first\":\"\(first)\",\"last\":\"\(last)\"}"
            ),
            by: actor,
            in: db
        )
        return outcome
    }
}
