internal import Licensing
internal import LicensingServices
internal import Storage
internal import StrictJSON

extension LicenseCommands {
    /// The most bytes of an imported file.
    private static let longestFile = 512 << 20

    static let importFile = Command(
        "admin license import",
        .writes,
        "imports licenses from a CSV file: all of it, or nothing where a line is refused",
        [LicenseParameters.file.specification, CommonParameters.product.specification],
        example: "admin license import licenses.csv --product acme/editor --dry-run"
    ) { invocation, context in
        let path = try invocation.required(LicenseParameters.file)
        let name = try invocation.required(CommonParameters.product)
        // Before the database is opened: root becomes its owner then, and may no longer read what root could.
        let bytes = try context.surroundings.readFile(path, longestFile)
        let workspace = try context.open()
        let service = LicenseService(keys: workspace.keys, entropy: workspace.entropy)
        let (product, plans) = try workspace.read { db in
            let product = try CatalogFinder.product(name.product, of: name.vendor, in: db).product
            return (product, try LicenseService.planCodes(of: product, in: db))
        }
        defer { context.progress(nil) }
        var outcome = LicenseImport.Outcome()
        var file: LicenseImport?
        do {
            let read = try service.readImport(bytes, for: product, plans: plans, at: workspace.now) { count in
                context.progress("\(count) licenses checked")
            }
            file = read
            try workspace.read { db in try service.checkImport(read, at: workspace.now, in: db) }
            for part in read.portions {
                context.progress("\(part.lowerBound) of \(read.count) licenses written")
                outcome.add(
                    try workspace.write { db in try service.writeImport(read, part, by: workspace.actor, in: db) }
                )
            }
        } catch let refusal as LicenseImportRefusal {
            throw failure(refusal, after: context.isDryRun ? 0 : outcome.imported)
        } catch  where outcome.imported > 0 && !context.isDryRun {
            throw CommandFailure(error).after(
                outcome.imported,
                "\(outcome.imported) licenses of the lines before were written"
            )
        }
        let count = file?.count ?? 0
        return Report { writer in
            writer.name("import")
            writer.object { writer in
                writer.member("rows", count)
                writer.member("imported", outcome.imported)
                writer.member("unchanged", outcome.unchanged)
                writer.member("first_id", orNull: context.isDryRun ? nil : outcome.first?.text)
                writer.member("last_id", orNull: context.isDryRun ? nil : outcome.last?.text)
            }
            if context.isDryRun { writer.member("dry_run", true) }
        }
    }

    /// Every fault of a file, by line.
    private static func failure(_ refusal: LicenseImportRefusal, after written: Int) -> CommandFailure {
        var writer = JSONWriter()
        writer.array { writer in
            for fault in refusal.faults {
                writer.object { writer in
                    writer.member("line", fault.line)
                    writer.member("column", orNull: fault.column)
                    writer.member("detail", fault.reason)
                }
            }
        }
        let lines = refusal.faults.map { fault in
            "line \(fault.line): \(fault.column.map { "\($0) " } ?? "")\(fault.reason)"
        }
        let count = refusal.faults.count == 1 ? "1 fault" : "\(refusal.faults.count) faults"
        let done = written == 0 ? "nothing was written" : "\(written) licenses of the lines before were written"
        return CommandFailure(
            code: "VALIDATION",
            "\(count) in the file, the first in line \(refusal.faults.first?.line ?? 0); \(done)",
            members: [("errors", writer.finish())],
            text: lines.map(TextForm.printable).joined(separator: "\n")
        )
    }

    static let export = Command(
        "admin license export",
        .reads,
        "writes licenses as CSV, in the columns that import takes",
        [CommonParameters.product.specification] + filters + [LicenseParameters.withKeys.specification],
        example: "admin license export --product acme/editor > licenses.csv"
    ) { invocation, context in
        let name = try invocation.required(CommonParameters.product)
        let withKeys = invocation.isSet(LicenseParameters.withKeys)
        var filter = try filter(of: invocation)
        let workspace = try context.open()
        let service = LicenseService(keys: workspace.keys, entropy: workspace.entropy)
        filter.product = try workspace.read { db in
            try CatalogFinder.product(name.product, of: name.vendor, in: db).product.id
        }
        var (kept, count, heldBack, keyless) = ([UInt8](), 0, 0, 0)
        // For people as it comes, a page at a time; for programs as one member of one object.
        func put(_ bytes: [UInt8]) throws {
            if context.options.isJSON { kept += bytes } else { try context.surroundings.output.standard(bytes) }
        }
        try put(service.exportHeader(withKeys: withKeys))
        var cursor: License.ID?
        repeat {
            let page = try workspace.read { db in
                try service.list(
                    filter,
                    withKeys ? .full : .summary,
                    after: cursor,
                    limit: 1000,
                    at: workspace.now,
                    in: db
                )
            }
            let part = try service.exported(page.licenses, withKeys: withKeys)
            try put(part.csv)
            count += part.count
            heldBack += part.heldBack
            keyless += part.keyless
            cursor = page.next
        } while cursor != nil
        var notes: [String] = []
        if heldBack > 0 {
            notes.append(
                "\(heldBack) of these are suspended or revoked, which no column says: import makes them active"
            )
        }
        if keyless > 0 { notes.append("\(keyless) have no key here: the product did not keep it") }
        guard context.options.isJSON else {
            if !context.options.isQuiet {
                for note in notes { try context.surroundings.output.error(Array("note: \(note)\n".utf8)) }
            }
            return .printed(exitCode: 0)
        }
        return Report(notes: notes) { writer in
            writer.name("export")
            writer.object { writer in
                writer.member("count", count)
                writer.member("csv", String(decoding: kept, as: UTF8.self))
            }
        }
    }
}
