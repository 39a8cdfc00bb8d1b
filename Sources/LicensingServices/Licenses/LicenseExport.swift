internal import Licensing

extension LicenseService {
    /// A part of an export: records as CSV, and where to go on.
    public struct ExportPart: Sendable {
        /// Records, each ended by CRLF. With keys these are secrets.
        public let csv: [UInt8]
        /// How many.
        public let count: Int
        /// How many of them are suspended or revoked, which no column says.
        public let heldBack: Int
        /// How many have no key that could be told.
        public let keyless: Int
    }

    /// The header line of an export; the same columns as an import takes.
    public func exportHeader(withKeys: Bool) -> [UInt8] {
        var writer = CSVWriter()
        writer.record(LicenseTable.exported(withKeys: withKeys).map(\.rawValue))
        return writer.bytes
    }

    /// Licenses as records of an export; asks the database nothing.
    ///
    /// - Parameter withKeys: Whether the keys are told, where the product keeps them; asks for facts in full.
    /// - Throws: `CryptographyError` where a key was not sealed by this database's keys.
    public func exported(_ licenses: [LicenseFacts], withKeys: Bool) throws -> ExportPart {
        let columns = LicenseTable.exported(withKeys: withKeys)
        var writer = CSVWriter()
        var keyless = 0
        for facts in licenses {
            let key = withKeys ? try key(of: facts) : nil
            if withKeys && key == nil { keyless += 1 }
            writer.record(
                columns.map { column in
                    SpreadsheetText.neutralized(LicenseTable.text(of: facts, column, key: key) ?? "")
                }
            )
        }
        return ExportPart(
            csv: writer.bytes,
            count: licenses.count,
            heldBack: licenses.count { $0.license.standing != .active },
            keyless: keyless
        )
    }
}

extension LicenseTable {
    static func exported(withKeys: Bool) -> [Column] { Column.allCases.filter { withKeys || $0 != .key } }

    /// What a column says about a license, so that an import of it makes an equal one; `nil`: it follows the plan.
    static func text(of facts: LicenseFacts, _ column: Column, key: String?) -> String? {
        let license = facts.license
        switch column {
        case .orderID: return license.orderID
        case .key: return key
        case .plan: return license.plan.code.text
        case .mode: return license.mode.rawValue
        case .seatLimit: return license.overrides.seatLimit?.text
        case .seatPolicy: return license.overrides.seatPolicy?.rawValue
        case .startsAt: return license.startsAt?.rfc3339
        case .expiresAt:
            switch license.term {
            case .unending: return "never"
            case .ending(let end, _, _): return end.rfc3339
            case .pending: return nil
            }
        case .duration: return license.term.pendingDuration?.iso8601
        case .maintenanceUntil: return license.maintenanceUntil?.rfc3339
        case .offlineLife: return license.overrides.offlineLife?.iso8601
        case .environment: return license.overrides.environment.map { String(decoding: $0.json, as: UTF8.self) }
        case .customerName: return facts.customer?.name
        case .customerEmail: return facts.customer?.email
        }
    }
}
