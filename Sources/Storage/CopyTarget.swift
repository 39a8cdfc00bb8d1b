internal import SystemPrimitives

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

// Where a copy may go, and what copies leave that were killed.

extension Database {
    /// The ending of a backup on its way into the place of the database.
    static let restoringEnding = "restoring"

    /// Refuses a target that is a file of this database, or would become one: by the file itself, whatever it is called,
    /// and by its name in the folder, also while there is none.
    ///
    /// - Parameters:
    ///   - target: where somebody wants to write.
    ///   - keys: where the master key is; its older and newer ones lie beside it.
    /// - Throws: `access`.
    public func requireElsewhere(_ target: String, sparing keys: [String]) throws(StorageError) {
        let own = files + [path + "-journal"]
        let found = try Database.facts(of: target, isMade: true)
        for file in own + keys {
            guard let found, try FileFacts(file)?.identity == found.identity else { continue }
            throw StorageError(.access, "\(target) is \(file), which belongs to the database itself; name another file")
        }
        let (folder, name) = SmallFile.parts(of: Database.trimmed(target))
        guard let place = try? FileFacts(folder)?.identity else { return }
        for file in own + keys {
            let (otherFolder, otherName) = SmallFile.parts(of: file)
            guard try FileFacts(otherFolder)?.identity == place else { continue }
            let isOurs =
                name == otherName
                // A key's partial, next and former files.
                || keys.contains(file) && name.hasPrefix("\(otherName).")
                || file == path && PartialName.isOne(name, for: otherName, ending: Self.restoringEnding)
            guard !isOurs else {
                throw StorageError(
                    .access,
                    "\(target) has the name of a file of the database itself; name another file, or another folder"
                )
            }
        }
    }

    /// Refuses to replace a file that is neither empty nor a copy that `backUp` made.
    ///
    /// - Throws: `access`.
    static func requireReplaceable(_ target: String) throws(StorageError) {
        guard let facts = try facts(of: target, isMade: true) else { return }
        guard facts.isFile else { throw StorageError(.access, "\(target) is not a file") }
        guard facts.size > 0 else { return }
        func refuse(_ what: String) -> StorageError {
            StorageError(.access, "\(target) is there already and is \(what): it is not replaced; name another file")
        }
        let header = try header(of: target)
        // https://sqlite.org/fileformat.html#the_database_header
        guard header.count == 100, header.starts(with: Array("SQLite format 3\0".utf8)),
            header[68..<72].reduce(0, { $0 << 8 | Int64($1) }) == applicationID
        else { throw refuse("no backup of Countersign") }
        // A copy is complete by itself, a database that anything opened has a write-ahead log.
        guard header[18] == 1, header[19] == 1 else { throw refuse("a database in use, and no backup") }
        let (_, name) = SmallFile.parts(of: target)
        if name == "countersign.db", try FileFacts(SmallFile.path("write.lock", beside: target)) != nil {
            throw refuse("the database of another folder")
        }
    }

    /// The first bytes of a file, at most as many as a database's header has.
    private static func header(of file: String) throws(StorageError) -> [UInt8] {
        let number = systemOpen(file, O_RDONLY | O_CLOEXEC | O_NOCTTY, 0)
        guard number >= 0 else { throw refusal(of: file, isMade: false, code: errno) }
        let input = Descriptor(taking: number)
        var bytes = [UInt8](repeating: 0, count: 100)
        let count = pread(input.number, &bytes, bytes.count, 0)
        guard count >= 0 else { throw .system("read \(file)") }
        return Array(bytes[..<count])
    }

    private static func trimmed(_ path: String) -> String {
        var path = path
        while path.count > 1, path.last == "/" { path.removeLast() }
        return path
    }

    // MARK: Leftovers

    /// Removes what restores left that were killed. Only under `serve.lock` and `write.lock`, as every restore is.
    ///
    /// - Parameter source: what is being restored, which stays.
    func removeStaleRestores(sparing source: FileFacts) throws(StorageError) {
        for file in PartialName.all(for: path, ending: Self.restoringEnding) {
            guard try FileFacts.own(file)?.identity != source.identity else { continue }
            Database.removeWithLogs(file)
        }
    }

    /// What lies in the folder, or beside the master key, and is on its way to another name or was left there.
    func leftovers(sparing keys: [String]) -> [String] {
        let restores = PartialName.all(for: path, ending: Self.restoringEnding)
        let names = (try? SmallFile.names(in: folder)) ?? []
        let partial = names.filter { $0.hasSuffix(".\(PartialName.standardEnding)") }.map { "\(folder)/\($0)" }
        let beside = keys.flatMap { PartialName.all(for: $0) }
        return Set(restores + partial + beside).sorted()
    }
}
