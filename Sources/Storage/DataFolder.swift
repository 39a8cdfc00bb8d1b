internal import CSystem
internal import SystemPrimitives

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// What the system says about one path.
struct FileFacts {
    let owner: uid_t
    let group: gid_t
    /// Permission bits only.
    let mode: UInt32
    let isFolder: Bool
    let isFile: Bool
    let isLink: Bool
    let size: Int64
    /// Device and inode: the file itself, whatever its name.
    let identity: [UInt64]

    /// `nil` when there is nothing at this path.
    ///
    /// - Parameter followsLinks: whether what a link leads to is meant, and not the link.
    init?(_ path: String, followsLinks: Bool = true) throws(StorageError) {
        var facts = stat()
        guard (followsLinks ? stat(path, &facts) : lstat(path, &facts)) == 0 else {
            let code = errno
            if code == ENOENT { return nil }
            guard code == EACCES else { throw .system("stat \(path)") }
            throw Self.closed(path)
        }
        owner = facts.st_uid
        group = facts.st_gid
        mode = UInt32(facts.st_mode) & 0o7777
        isFolder = UInt32(facts.st_mode) & 0o170000 == 0o040000
        isFile = UInt32(facts.st_mode) & 0o170000 == 0o100000
        isLink = UInt32(facts.st_mode) & 0o170000 == 0o120000
        size = Int64(facts.st_size)
        identity = [UInt64(facts.st_dev), UInt64(facts.st_ino)]
    }

    /// The same for a file in the database's folder, where no link is followed: whoever may write there would have another
    /// user's file made, read or overwritten by a command of that user's.
    static func own(_ path: String) throws(StorageError) -> FileFacts? {
        guard let facts = try FileFacts(path, followsLinks: false) else { return nil }
        guard !facts.isLink else { throw link(path) }
        return facts
    }

    static func link(_ path: String) -> StorageError {
        StorageError(
            .access,
            code: ELOOP,
            "\(path) is a link, and none is followed in the folder of a database; fix: put the file itself there, or name "
                + "its folder with --data"
        )
    }

    /// Why nothing is known of what lies in a folder that this process may not enter.
    private static func closed(_ path: String) -> StorageError {
        let folder = Database.parent(of: path)
        let own = geteuid()
        var facts = stat()
        let owner = stat(folder, &facts) == 0 ? "belongs to uid \(facts.st_uid)" : "is not to be seen either"
        return StorageError(
            .access,
            code: EACCES,
            "cannot look into \(folder): it \(owner), this process runs as uid \(own); "
                + "fix: run as its owner, or as root: chown -R \(own) \(folder)"
        )
    }
}

extension Database {
    /// Before anything is written: this process owns the database and may write all its files, and others may write none.
    ///
    /// A folder that is not there is made, mode 0700, when `isMade` says so.
    ///
    /// - Throws: `access`, one line that names path, owner, own uid and the fix.
    func checkFolder(isMade: Bool) throws(StorageError) {
        let own = geteuid()
        if isMade, try FileFacts(folder) == nil {
            guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw refusedToMakeFolder(own) }
        }
        guard let facts = try FileFacts(folder) else {
            throw StorageError(.access, code: ENOENT, "there is no folder \(folder) (uid \(own))")
        }
        guard facts.isFolder else { throw StorageError(.access, code: ENOTDIR, "\(folder) is not a folder") }
        if let database = try? FileFacts.own(path) { try requireOwner(path, database, facts.owner, own) }
        try requireAccess(folder, R_OK | W_OK | X_OK, facts.owner, own)
        for file in files {
            guard let found = try FileFacts.own(file) else { continue }
            try requireOwner(file, found, facts.owner, own)
            try requireAccess(file, R_OK | W_OK, found.owner, own)
        }
        try requireClosed()
    }

    /// Refuses a folder or a file that others may write to. Who may write to the folder replaces the database and its key
    /// together, or puts a journal beside it that SQLite takes for its own, also where the folder is sticky; who may write to
    /// a lock's file keeps everybody else from writing.
    ///
    /// The group is not looked at: container platforms open volumes to one.
    private func requireClosed() throws(StorageError) {
        let open = try ownFiles().filter(\.isWritableByOthers)
        if open.isEmpty { return }
        throw StorageError(
            .access,
            "others may write to \(open.map(\.text).joined(separator: ", ")); fix: chmod o= "
                + open.map(\.path).joined(separator: " ")
                // A volume may be mounted so, and be another's.
                + (open[0].path == folder
                    ? ", or name a folder in it with --data: one that is not there is made with mode 0700" : "")
        )
    }

    private func requireOwner(
        _ path: String,
        _ facts: FileFacts,
        _ folderOwner: uid_t,
        _ own: uid_t
    ) throws(StorageError) {
        guard facts.owner != own else { return }
        let other = folderOwner == own ? "" : "run as uid \(facts.owner), or: "
        throw StorageError(
            .access,
            code: EACCES,
            "\(path) belongs to uid \(facts.owner), this process runs as uid \(own); "
                + "fix: \(other)chown -R \(own) \(folder)"
        )
    }

    private func requireAccess(_ path: String, _ mode: Int32, _ owner: uid_t, _ own: uid_t) throws(StorageError) {
        guard access(path, mode) != 0 else { return }
        let code = errno
        let reason = SystemError("access", code: code).reason
        let fix =
            code == EROFS
            ? "mount it read-write"
            : owner == own ? "chmod -R u+rwX \(folder)" : "chown -R \(own) \(folder)"
        throw StorageError(
            .access,
            code: code,
            "cannot write \(path): \(reason); it belongs to uid \(owner), this process runs as uid \(own); fix: \(fix)"
        )
    }

    private func refusedToMakeFolder(_ own: uid_t) -> StorageError {
        let code = errno
        let parent = Database.parent(of: folder)
        let owner = (try? FileFacts(parent))?.owner
        let fix: String
        switch code {
        case ENOENT: fix = "mkdir -p \(parent)"
        case EROFS: fix = "mount it read-write, or name another folder"
        default: fix = "as root: install -d -m 700 -o \(own) \(folder)"
        }
        return StorageError(
            .access,
            code: code,
            "cannot make the folder \(folder): \(SystemError("mkdir", code: code).reason); "
                + "\(parent) belongs to \(owner.map { "uid \($0)" } ?? "nobody (it is not there)"), "
                + "this process runs as uid \(own); fix: \(fix)"
        )
    }

    /// Why a file outside the database's folder, such as a backup, cannot be read or made: which folder is in the way,
    /// whose it is, and who tries, which is the owner of the database also where root called.
    ///
    /// - Parameters:
    ///   - file: What was to be read or made.
    ///   - isMade: Whether it was to be made.
    ///   - code: What the system answered.
    public static func refusal(of file: String, isMade: Bool, code: Int32) -> StorageError {
        let own = geteuid()
        let place = absolute(parent(of: file))
        var words = "cannot \(isMade ? "make" : "read") \(file): \(SystemError("open", code: code).reason)"
        switch code {
        case EACCES, EPERM:
            let owner = (try? FileFacts(place)).flatMap { $0 }.map { "uid \($0.owner)" } ?? "somebody else"
            words += "; its folder \(place) belongs to \(owner), this process runs as uid \(own)"
            if own != 0 { words += ", the database's owner, also where root calls it" }
            words +=
                isMade
                ? "; fix: name a file in a folder that uid \(own) may write, as root made by: "
                    + "install -d -m 700 -o \(own) FOLDER"
                : "; fix: give uid \(own) a copy, as root: install -m 600 -o \(own) \(file) FOLDER"
        case ENOENT where isMade: words += "; fix: mkdir -p \(place)"
        case EROFS: words += "; fix: mount \(place) read-write, or name another folder"
        default: words += " (as uid \(own))"
        }
        return StorageError(StorageError.Category(errno: code), code: code, words)
    }

    private static func absolute(_ folder: String) -> String {
        guard !folder.hasPrefix("/"), let current = getcwd(nil, 0) else { return folder }
        defer { free(current) }
        let base = String(cString: current)
        return folder == "." ? base : "\(base)/\(folder)"
    }

    /// The folder that holds `path`.
    static func parent(of path: String) -> String {
        var path = path[...]
        while path.count > 1, path.last == "/" { path.removeLast() }
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Root becomes the owner of the folder, or of the database in a folder of root's: a file that root made beside the
    /// database would lock the server out. Does nothing for any other user, or where root is the owner.
    ///
    /// The folder comes first: its owner can put there what he likes, and must not choose whom root becomes.
    ///
    /// To be called once, early in the process, before anything is opened; it cannot be undone.
    ///
    /// - Returns: the uid this process has now, when that changed.
    /// - Throws: `access`.
    @discardableResult
    public func becomeOwner() throws(StorageError) -> UInt32? {
        guard geteuid() == 0, let place = try FileFacts(folder) else { return nil }
        if let link = try FileFacts(folder, followsLinks: false), link.isLink, link.owner != 0,
            link.owner != place.owner
        {
            throw StorageError(
                .access,
                code: ELOOP,
                "\(folder) is a link that belongs to uid \(link.owner), and leads to a folder of uid \(place.owner): "
                    + "name the folder itself with --data"
            )
        }
        let facts = try place.owner == 0 ? FileFacts.own(path) ?? place : place
        guard facts.owner != 0 else { return nil }
        guard cs_become(facts.owner, facts.group) == 0 else { throw .system("become uid \(facts.owner)") }
        return UInt32(facts.owner)
    }

    /// Makes the names in a folder durable.
    static func syncFolder(_ path: String) throws(StorageError) {
        let number = systemOpen(path, O_RDONLY | O_CLOEXEC, 0)
        guard number >= 0 else { throw .system("open \(path)") }
        let folder = Descriptor(taking: number)
        guard fsync(folder.number) == 0 else { throw .system("fsync \(path)") }
    }
}
