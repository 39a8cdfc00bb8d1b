internal import Licensing

/// The columns of a file of licenses: the members of the seed document's licenses, and the customer's in two columns.
enum LicenseTable {
    enum Column: String, CaseIterable {
        case orderID = "order_id"
        case key
        case plan
        case mode
        case seatLimit = "seat_limit"
        case seatPolicy = "seat_policy"
        case startsAt = "starts_at"
        case expiresAt = "expires_at"
        case duration
        case maintenanceUntil = "maintenance_until"
        case offlineLife = "offline_life"
        case environment
        case customerName = "customer_name"
        case customerEmail = "customer_email"
    }

    /// Reads a whole file: every license with its line, and what is wrong, as far as a refusal tells it.
    static func read(
        _ bytes: [UInt8],
        plans: Set<PlanCode>
    ) -> (orders: [(line: Int, order: LicenseOrder)], faults: [LicenseImportFault]) {
        var orders: [(line: Int, order: LicenseOrder)] = []
        var faults: [LicenseImportFault] = []
        var reader = CSVReader(bytes)
        do throws(CSVFault) {
            guard let header = try reader.next() else {
                throw CSVFault(line: 1, reason: "must be a header line: the file is empty")
            }
            let columns = try columns(of: header)
            while faults.count < LicenseImportRefusal.most, let record = try reader.next() {
                let read = order(record, columns, plans: plans)
                faults += read.faults
                if let order = read.order { orders.append((record.line, order)) }
            }
        } catch {
            faults.append(LicenseImportFault(line: error.line, error.reason))
        }
        return (orders, faults)
    }

    /// Reads the header line.
    static func columns(of header: CSVRecord) throws(CSVFault) -> [Column] {
        var columns: [Column] = []
        for name in header.fields {
            guard let column = Column(rawValue: name) else {
                let known = Column.allCases.map(\.rawValue).joined(separator: ", ")
                throw CSVFault(line: header.line, reason: "has the column \"\(name)\", which is none of \(known)")
            }
            guard !columns.contains(column) else {
                throw CSVFault(line: header.line, reason: "has the column \(name) twice")
            }
            columns.append(column)
        }
        guard columns.contains(.plan) else { throw CSVFault(line: header.line, reason: "has no column plan") }
        return columns
    }

    /// Reads one record; an empty field says nothing.
    ///
    /// - Returns: The order, or what is wrong with the record.
    static func order(
        _ record: CSVRecord,
        _ columns: [Column],
        plans: Set<PlanCode>
    ) -> (order: LicenseOrder?, faults: [LicenseImportFault]) {
        guard record.fields.count == columns.count else {
            let counts = "has \(record.fields.count) fields where the header has \(columns.count)"
            return (nil, [.init(line: record.line, counts)])
        }
        var fields = Fields(record: record, columns: columns)
        let plan = fields.read(.plan) { text throws(ValueFault) in
            let code = try PlanCode(text)
            guard plans.contains(code) else { throw ValueFault("is no plan of the product") }
            return code
        }
        if plan == nil && fields.text(.plan) == nil { fields.refuse(.plan, "is required") }
        let mode = fields.read(.mode) { text throws(ValueFault) in
            guard let mode = Mode(rawValue: text) else { throw ValueFault("must be live or test") }
            return mode
        }
        let end = fields.read(.expiresAt, LicenseForms.end)
        let duration = fields.read(.duration, LicenseForms.duration)
        if end != nil && duration != nil { fields.refuse(.duration, "does not go together with expires_at") }
        let seatLimit = fields.read(.seatLimit, LicenseForms.seats)
        let seatPolicy = fields.read(.seatPolicy, LicenseForms.seatPolicy)
        let offlineLife = fields.read(.offlineLife, LicenseForms.offlineLife)
        let environment = fields.read(.environment, LicenseForms.environment)
        let maintenance = fields.read(.maintenanceUntil, LicenseForms.maintenance)
        let orderID = fields.read(.orderID, LicenseForms.orderID)
        let startsAt = fields.read(.startsAt, LicenseForms.start)
        let customerName = fields.read(.customerName, LicenseForms.name)
        let customerEmail = fields.read(.customerEmail) { text throws(ValueFault) in try EmailAddress(text) }
        guard let plan, fields.faults.isEmpty else { return (nil, fields.faults) }
        let order = LicenseOrder(
            plan: plan,
            mode: mode ?? .live,
            orderID: orderID,
            seatLimit: seatLimit?.override,
            seatPolicy: seatPolicy?.override,
            end: duration.map { .duration($0) } ?? end ?? .plan,
            startsAt: startsAt,
            maintenanceUntil: maintenance?.value,
            offlineLife: offlineLife?.override,
            environment: environment?.override,
            customerName: customerName,
            customerEmail: customerEmail,
            importedKey: fields.text(.key)
        )
        return (order, [])
    }
}

/// The fields of one record, by column, and what was found wrong with them.
private struct Fields {
    let line: Int
    private let texts: [LicenseTable.Column: String]
    private(set) var faults: [LicenseImportFault] = []

    init(record: CSVRecord, columns: [LicenseTable.Column]) {
        line = record.line
        var texts: [LicenseTable.Column: String] = [:]
        for (column, text) in zip(columns, record.fields) where !text.isEmpty {
            texts[column] = SpreadsheetText.restored(text)
        }
        self.texts = texts
    }

    func text(_ column: LicenseTable.Column) -> String? { texts[column] }

    mutating func refuse(_ column: LicenseTable.Column, _ reason: String) {
        faults.append(LicenseImportFault(line: line, column: column.rawValue, reason))
    }

    mutating func read<Value>(
        _ column: LicenseTable.Column,
        _ parse: (String) throws(ValueFault) -> Value
    ) -> Value? {
        guard let text = texts[column] else { return nil }
        do throws(ValueFault) {
            return try parse(text)
        } catch {
            refuse(column, error.reason)
            return nil
        }
    }
}
