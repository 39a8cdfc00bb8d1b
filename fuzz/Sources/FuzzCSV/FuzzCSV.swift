import Cryptography
import FuzzSupport
import Licensing
import Storage

@testable import LicensingServices

// libFuzzer calls from one thread.
nonisolated(unsafe) private let office: Office = {
    do {
        return try Office()
    } catch {
        preconditionFailure("the fuzzer has no database: \(error)")
    }
}()

/// A file of licenses is refused with the lines at fault, or it is written; then what an export says of its licenses is
/// read as the same licenses.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = input(start, count)
    records(bytes)
    let text = String(decoding: bytes, as: UTF8.self)
    let neutralized = SpreadsheetText.neutralized(text)
    expect(
        SpreadsheetText.restored(neutralized).utf8.elementsEqual(text.utf8),
        "a text comes back changed from a spreadsheet"
    )
    if let first = neutralized.unicodeScalars.first {
        expect(!"=+-@\t\r\n\u{FF1D}\u{FF0B}\u{FF0D}\u{FF20}".unicodeScalars.contains(first), "a formula stayed one")
    }
    do {
        try office.check(bytes)
    } catch {
        preconditionFailure("reading a file ends otherwise than by a refusal: \(error)")
    }
    return 0
}

/// Records that were read, once written, are read the same.
private func records(_ bytes: [UInt8]) {
    var reader = CSVReader(bytes)
    var writer = CSVWriter()
    // So that a byte order mark in the first field is none.
    writer.record(["header"])
    var fields: [[String]] = [["header"]]
    let lineCount = bytes.count { $0 == UInt8(ascii: "\n") } + 1
    var last = 0
    do throws(CSVFault) {
        while let record = try reader.next() {
            expect(record.line > last && record.line <= lineCount, "a record has no line of its own")
            expect(!record.fields.isEmpty, "a record has no field")
            last = record.line
            fields.append(record.fields)
            writer.record(record.fields)
        }
    } catch {
        expect((1...lineCount).contains(error.line), "a fault lies outside of the text")
        return
    }
    var again = CSVReader(writer.bytes)
    for record in fields {
        let read = (try? again.next())?.fields
        let isSame = read.map { $0.elementsEqual(record) { $0.utf8.elementsEqual($1.utf8) } } ?? false
        expect(isSame, "a record that was written reads differently")
    }
    expect((try? again.next()) == .some(nil), "more is read than was written")
}

/// A database with a vendor, a product and two plans; all that is written is undone.
private final class Office {
    private let service: LicenseService
    private let product: Product
    private let plans: Set<PlanCode>
    private let connection: CommandLineConnection
    private let keys: DataKeys

    private static let now = Timestamp(secondsSinceEpoch: TestRoot.second)

    init() throws {
        let folder = ScratchFolder.make()
        var options = Database.Options(now: { TestRoot.second * 1_000_000 })
        options.synchronous = .off
        connection = try Database(folder: folder, options: options).openForCommandLine(isMade: true)
        let entropy = SystemEntropy()
        let keys = try DataKeys.random()
        self.keys = keys
        service = LicenseService(keys: keys, entropy: entropy)
        let vendor = Vendor(id: try Identifier(at: Self.now, entropy: entropy), slug: try Slug("acme"), name: "Acme")
        let product = Product(
            id: try Identifier(at: Self.now, entropy: entropy),
            vendor: vendor.id,
            slug: try Slug("editor"),
            name: "Editor",
            keyPrefix: try KeyPrefix("ACME")
        )
        self.product = product
        let pro = Plan(
            id: try Identifier(at: Self.now, entropy: entropy),
            product: product.id,
            code: try PlanCode("pro"),
            name: "Pro",
            type: .subscription,
            duration: try CalendarDuration("P1Y"),
            seatLimit: .limited(2)
        )
        let team = Plan(
            id: try Identifier(at: Self.now, entropy: entropy),
            product: product.id,
            code: try PlanCode("team"),
            name: "Team",
            seatLimit: .unlimited
        )
        plans = [pro.code, team.code]
        try connection.write { db in
            try VendorStore.insert(vendor, at: Self.now, in: db)
            try ProductStore.insert(product, at: Self.now, in: db)
            try PlanStore.insert(pro, at: Self.now, in: db)
            try PlanStore.insert(team, at: Self.now, in: db)
        }
    }

    func check(_ bytes: [UInt8]) throws {
        let faults = try faults(of: bytes)
        guard faults.isEmpty else {
            try checkFaults(faults, of: bytes)
            return
        }
        let file = try read(bytes)
        guard let first = try export(file, of: bytes) else { return }
        let again = try read(Array(first.utf8))
        expect(again.count == file.count, "an export has more or fewer licenses than the import")
        let second = try export(again, of: Array(first.utf8))
        expect(second.map(Self.lines) == Self.lines(first), "an export that was read says something else")
    }

    private func read(_ bytes: [UInt8]) throws -> LicenseImport {
        try service.readImport(bytes, for: product, plans: plans, at: Self.now)
    }

    private func faults(of bytes: [UInt8]) throws -> [LicenseImportFault] {
        do {
            _ = try read(bytes)
            return []
        } catch let refusal as LicenseImportRefusal {
            return refusal.faults
        }
    }

    /// Every fault has a line of the text, and they move with it.
    private func checkFaults(_ faults: [LicenseImportFault], of bytes: [UInt8]) throws {
        let lineCount = bytes.count { $0 == UInt8(ascii: "\n") } + 1
        var last = 1
        for fault in faults {
            expect((last...lineCount).contains(fault.line), "a fault has no line, or they are not in order")
            last = fault.line
            expect(fault.column.map { LicenseTable.Column(rawValue: $0) != nil } ?? true, "a fault is of no column")
            expect(!fault.reason.isEmpty, "a fault has no reason")
        }
        var reader = CSVReader(bytes)
        guard let header = try? reader.next(), let columns = try? LicenseTable.columns(of: header),
            let end = bytes.firstIndex(of: UInt8(ascii: "\n")), !bytes[...end].contains(UInt8(ascii: "\"")),
            // A repeated key or order names its other line, in words.
            !faults.contains(where: { $0.reason.contains("of line") })
        else { return }
        let good = columns.map { $0 == .plan ? "pro" : "" }.joined(separator: ",") + "\n"
        let moved = try self.faults(of: bytes[...end] + Array(good.utf8) + bytes[(end + 1)...])
        let isMoved = moved.elementsEqual(faults) { after, before in
            after.line == before.line + 1 && after.column == before.column && after.reason == before.reason
        }
        expect(isMoved, "a good line before the others changes what is said of them")
    }

    /// What an export says once the file is written; `nil` where the write was refused.
    private func export(_ file: LicenseImport, of bytes: [UInt8]) throws -> String? {
        do {
            return try connection.write(isDryRun: true) { db in
                try service.checkImport(file, at: Self.now, in: db)
                var written = 0
                for part in file.portions {
                    let actor = Actor(name: "command-line:fuzz", now: Self.now)
                    written += try service.writeImport(file, part, by: actor, in: db).imported
                }
                expect(written == file.count, "not every license was written")
                let page = try service.list(
                    LicenseFilter(product: product.id),
                    .full,
                    after: nil,
                    limit: 100_000,
                    at: Self.now,
                    in: db
                )
                expect(page.licenses.count == file.count, "not every license is there")
                let part = try service.exported(page.licenses, withKeys: true)
                return String(decoding: service.exportHeader(withKeys: true) + part.csv, as: UTF8.self)
            }
        } catch let refusal as LicenseImportRefusal {
            expect(!refusal.faults.isEmpty, "a refusal has no reason")
            let lineCount = bytes.count { $0 == UInt8(ascii: "\n") } + 1
            expect(refusal.faults.allSatisfy { (2...lineCount).contains($0.line) }, "a fault has no line")
            return nil
        }
    }

    private static func lines(_ text: String) -> [String] { text.split(separator: "\r\n").map(String.init).sorted() }
}
