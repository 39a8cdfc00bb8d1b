internal import Storage
internal import StrictJSON

/// This program's version.
public enum ProgramVersion {
    /// Semantic version, as in `CHANGELOG.md`.
    public static let text = "0.1.0"
}

/// `version`.
enum VersionCommand {
    static let all = [
        Command("version", .reads, "prints the version, as --version does", example: "version") { _, _ in
            Report(text: "countersign \(ProgramVersion.text) (SQLite \(SQLiteLibrary.version))") { writer in
                writer.member("version", ProgramVersion.text)
                writer.member("sqlite", SQLiteLibrary.version)
            }
        },
        // Listed and explained like any other; the parser answers it.
        Command("help", .reads, "explains commands", example: "help admin license issue") { _, _ in
            .printed(exitCode: 0)
        },
    ]
}
