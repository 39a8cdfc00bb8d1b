internal import LicensingServices
internal import Storage
internal import StrictJSON
internal import SystemPrimitives

/// `admin master-key …`.
enum MasterKeyCommands {
    static let all = [rotate, export]

    private static let rotate = Command(
        "admin master-key rotate",
        .writes,
        "makes a new master key and wraps the data keys by it; a running server goes on",
        example: "admin master-key rotate"
    ) { _, context in
        let work = try context.open()
        let old = try work.vault.rotate(
            work.connection,
            of: context.database,
            by: work.actor,
            isDryRun: work.isDryRun
        )
        let note =
            "the old key is kept as \(old): backups made before open with it alone; copy the new one to where you keep "
            + "the old"
        let file = work.vault.file.path
        return work.report("master_key", notes: work.isDryRun ? [] : [note]) { writer in
            writer.object { writer in
                writer.member("file", file)
                writer.member("old_file", old)
            }
        }
    }

    private static let file = Parameter<String>.argument("FILE", "a new file, mode 0600; - prints it") { $0 }

    private static let export = Command(
        "admin master-key export",
        .writes,
        "writes the master key to a file for safe keeping, elsewhere than the backups",
        [file.specification],
        example: "admin master-key export /media/usb/countersign-master.key"
    ) { call, context in
        let target = try call.required(file)
        // Opening proves that it is this database's.
        let work = try context.open()
        if target != "-" { try context.requireElsewhere(target) }
        guard let key = try work.vault.file.read() else {
            throw VaultFault(.missing, "there is no master key \(work.vault.file.path)")
        }
        guard target != "-" || context.isDryRun else {
            let text = String(decoding: key.fileText.dropLast(), as: UTF8.self)
            return Report(text: text) { writer in
                writer.name("master_key")
                writer.object { writer in writer.member("key", text) }
            }
        }
        if target != "-" {
            // A dry run makes the file, but without the key in it, and takes it away again.
            let bytes = context.isDryRun ? Array("dry run\n".utf8) : key.fileText
            let isNew: Bool
            do throws(SystemError) {
                for file in PartialName.all(for: target) where !context.isDryRun { try SmallFile.remove(file) }
                isNew = try SmallFile.write(bytes, to: target, replaces: false)
            } catch {
                throw Database.refusal(of: target, isMade: true, code: error.code)
            }
            guard isNew else { throw CommandFailure(code: "ALREADY_EXISTS", "\(target) is there already") }
            if context.isDryRun { try SmallFile.remove(target) }
        }
        return Report(isConfirmation: true) { writer in
            writer.name("master_key")
            writer.object { writer in writer.member("file", target) }
            if context.isDryRun { writer.member("dry_run", true) }
        }
    }
}
