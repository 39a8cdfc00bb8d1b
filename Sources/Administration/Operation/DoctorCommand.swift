internal import Licensing
internal import LicensingServices
internal import Storage
internal import StrictJSON

/// `doctor`: looks at everything and changes nothing.
enum DoctorCommand {
    static let all = [command]

    private static let command = Command(
        "doctor",
        .reads,
        "examines files, file system, database, keys, migrations and clock",
        example: "doctor --data /var/lib/countersign"
    ) { _, context in
        try context.requireDatabase()
        try context.database.becomeOwner()
        var doctor = Doctor(context)
        try doctor.examine()
        return try doctor.report()
    }
}

/// Collects findings.
private struct Doctor {
    private enum Status: String, Comparable {
        case good = "ok"
        case warning
        case error

        static func < (one: Status, other: Status) -> Bool { one.weight < other.weight }

        private var weight: Int {
            switch self {
            case .good: 0
            case .warning: 1
            case .error: 2
            }
        }
    }

    private let context: CommandContext
    private var findings: [(check: String, status: Status, detail: String)] = []

    init(_ context: CommandContext) { self.context = context }

    private mutating func note(_ check: String, _ status: Status, _ detail: String) {
        findings.append((check, status, detail))
    }

    /// Notes an error where `body` throws.
    private mutating func attempt(_ check: String, _ body: (inout Doctor) throws -> Void) {
        do {
            try body(&self)
        } catch {
            note(check, .error, CommandFailure(error).message)
        }
    }

    mutating func examine() throws {
        let examination = try context.database.examine(keys: context.keyPaths)
        look(at: examination)
        lookAtKeyFile()
        lookAtLibrary()
        attempt("migrations") { doctor in
            let status = try doctor.context.database.migrationStatus()
            let pending = status.pending.joined(separator: ", ")
            doctor.note(
                "migrations",
                status.pending.isEmpty ? .good : .warning,
                status.pending.isEmpty ? "\(status.applied.count) applied" : "still to run: \(pending)"
            )
        }
        attempt("integrity") { doctor in
            let integrity = try doctor.context.database.integrity()
            let found = integrity.findings
            let isWhole = integrity.areConstraintsChecked
            let unchecked =
                "CHECK constraints were not checked, which takes a file that this process may write to; ask as its owner"
            doctor.note(
                "integrity",
                !found.isEmpty ? .error : isWhole ? .good : .warning,
                (found.first.map { "\(found.count) findings: \($0); restore a backup" } ?? "sound")
                    + (isWhole ? "" : ", but \(unchecked)")
            )
        }
        attempt("clock") { doctor in try doctor.lookAtClock() }
        attempt("keys") { doctor in try doctor.lookAtKeys() }
    }

    private mutating func look(at examination: Examination) {
        for file in examination.files {
            if file.owner != examination.ownUser {
                note(
                    "files",
                    .error,
                    "\(file.path) belongs to uid \(file.owner), this process runs as uid \(examination.ownUser); fix: "
                        + "chown \(examination.ownUser) \(file.path)"
                )
            } else if file.isWritableByOthers {
                note(
                    "files",
                    .error,
                    "others may write to \(file.text), and nothing starts on it; fix: chmod o= \(file.path)"
                )
            } else if file.isOpenToOthers {
                note(
                    "files",
                    .warning,
                    "group or others can use \(file.text); fix: chmod go= \(file.path)"
                )
            }
        }
        if !findings.contains(where: { $0.check == "files" }) {
            note("files", .good, "owner uid \(examination.ownUser), closed to others")
        }
        let leftovers = examination.leftovers.joined(separator: ", ")
        note(
            "leftovers",
            leftovers.isEmpty ? .good : .warning,
            leftovers.isEmpty
                ? "none"
                : "\(leftovers): left by a process that was killed, unless one writes there now; the next backup, restore or "
                    + "rotation to the same place removes them"
        )
        let mebibytes = examination.freeBytes >> 20
        note("space", mebibytes < 64 ? .error : mebibytes < 1024 ? .warning : .good, "\(mebibytes) MiB free")
        note(
            "file_system",
            examination.isNetworkFileSystem ? .warning : .good,
            examination.isNetworkFileSystem
                ? "\(examination.fileSystem): SQLite is not safe on a file system that other machines share"
                : examination.fileSystem
        )
        note("server", .good, examination.servedBy.map { "runs as pid \($0)" } ?? "none runs")
    }

    private mutating func lookAtKeyFile() {
        let file = context.keyFile
        do {
            guard try file.read() != nil else {
                note("master_key", .error, "there is no \(file.path), without which the database does not open")
                return
            }
        } catch {
            note("master_key", .error, error.message)
            return
        }
        let isBeside = file.isInside(context.settings.data)
        let warning = isBeside ? nil : file.warning
        note(
            "master_key",
            isBeside || warning != nil ? .warning : .good,
            isBeside
                ? "\(file.path) lies in the folder of the database: who copies the folder has both; name another place by "
                    + "COUNTERSIGN_MASTER_KEY_FILE"
                : warning ?? file.path
        )
    }

    private mutating func lookAtLibrary() {
        let version = SQLiteLibrary.version
        note(
            "sqlite",
            SQLiteLibrary.hasWALResetBug ? .warning : .good,
            SQLiteLibrary.hasWALResetBug
                ? "\(version) can corrupt a database when one program checkpoints while another commits "
                    + "(sqlite.org/wal.html#walresetbug); countersign keeps the two apart, another program would not: never "
                    + "open the database with one"
                : version
        )
    }

    private mutating func lookAtClock() throws {
        let (mark, lastCommit) = try context.database.openReader().snapshot { db in
            (try ServedClock.mark(in: db), Timestamp(secondsSinceEpoch: try db.committedAt()))
        }
        if mark == .test {
            note("clock", .warning, "this database was served with --test-clock: it is for trials alone")
            return
        }
        let known = lastCommit > .earliest ? lastCommit : nil
        let watch = ClockGuard(startingAt: SystemTime.reading(), lastCommit: known, isAccepted: false)
        note("clock", watch.doubt == nil ? .good : .error, watch.doubt?.text ?? SystemTime.timestamp().rfc3339)
    }

    private mutating func lookAtKeys() throws {
        let (database, file) = (context.database, context.keyFile)
        let (keys, faults) = try database.openReader().snapshot { db in
            let keys = try Vault.keys(file, of: database, in: db)
            return (keys, try SigningKeyService(keys: keys, entropy: context.surroundings.entropy).selfTest(in: db))
        }
        note(
            "keys",
            faults.isEmpty ? .good : .error,
            faults.isEmpty ? "all sign and verify" : faults.joined(separator: "; ")
        )
        switch try database.openReader().snapshot({ db in try AuditTrail(keys: keys).verify(in: db) }) {
        case .sound(let rows, _): note("audit", .good, "\(rows) rows, unbroken")
        case .broken(let position, let why): note("audit", .error, "breaks at row \(position): \(why)")
        }
    }

    // MARK: Report

    /// - Throws: `CommandFailure` (`UNHEALTHY`) where an error was found.
    func report() throws -> Report {
        let worst = findings.map(\.status).max() ?? .good
        func write(_ writer: inout JSONWriter) {
            writer.array { writer in
                for finding in findings {
                    writer.object { writer in
                        writer.member("check", finding.check)
                        writer.member("status", finding.status.rawValue)
                        writer.member("detail", finding.detail)
                    }
                }
            }
        }
        guard worst == .error else {
            return Report { writer in
                writer.name("checks")
                write(&writer)
                writer.member("status", worst.rawValue)
            }
        }
        var list = JSONWriter()
        write(&list)
        let checks = list.finish()
        var whole = JSONWriter()
        whole.object { writer in
            writer.name("checks")
            writer.value(json: checks)
        }
        let errors = findings.filter { $0.status == .error }
        throw CommandFailure(
            code: "UNHEALTHY",
            errors.map { "\($0.check): \($0.detail)" }.joined(separator: "; "),
            members: [("checks", checks)],
            text: TextForm.text(of: whole.finish())
        )
    }
}
