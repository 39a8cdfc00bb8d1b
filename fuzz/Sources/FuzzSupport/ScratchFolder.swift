#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Folders for databases; scripts/fuzz names one in memory that goes away with the run.
public enum ScratchFolder {
    /// A new folder, whose files the caller removes by `remove(_:)`.
    public static func make() -> String {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/countersign-fuzz.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { preconditionFailure("there is no folder for a database in \(parent)") }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Removes the folder and the files in it.
    public static func remove(_ folder: String) {
        if let listing = opendir(folder) {
            while let entry = readdir(listing) {
                let name = withUnsafePointer(to: entry.pointee.d_name) { pointer in
                    pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
                if name != "." && name != ".." { unlink("\(folder)/\(name)") }
            }
            closedir(listing)
        }
        rmdir(folder)
    }
}
