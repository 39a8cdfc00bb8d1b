#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Files that are read and written whole: keys, requests, documents.
public enum SmallFile {
    /// What the system says about one file.
    public struct Facts: Hashable, Sendable {
        /// The uid it belongs to.
        public let owner: UInt32
        /// Permission bits.
        public let mode: UInt32
        /// Whether it is a file and no folder, pipe or device.
        public let isFile: Bool
        /// Device and inode: the file itself, whatever its name.
        public let identity: [UInt64]

        /// Whether group or others may do anything with it.
        public var isOpenToOthers: Bool { mode & 0o077 != 0 }

        /// The mode as `chmod` writes it, such as `0644`.
        public var octalMode: String { FileMode.text(mode) }

        init(_ facts: stat) {
            owner = UInt32(facts.st_uid)
            mode = UInt32(facts.st_mode) & 0o7777
            isFile = UInt32(facts.st_mode) & 0o170000 == 0o100000
            identity = [UInt64(facts.st_dev), UInt64(facts.st_ino)]
        }
    }

    /// Reads a file to its end, or standard input for `-`; the facts are those of the very file that was read.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - limit: The most bytes; a longer file is thrown as `EFBIG`.
    ///   - followsLinks: Whether the file may be a link to one; else that is thrown as `ELOOP`.
    /// - Throws: `SystemError`; `ENOENT` where there is none.
    public static func read(
        _ path: String,
        upTo limit: Int,
        followsLinks: Bool = true
    ) throws(SystemError) -> (bytes: [UInt8], facts: Facts) {
        let number = path == "-" ? dup(0) : open(path, O_RDONLY | O_CLOEXEC | (followsLinks ? 0 : O_NOFOLLOW))
        guard number >= 0 else { throw .last("open \(path)") }
        let file = Descriptor(taking: number)
        var facts = stat()
        guard fstat(file.number, &facts) == 0 else { throw .last("stat \(path)") }
        var bytes: [UInt8] = []
        var portion = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = portion.withUnsafeMutableBytes { systemRead(file.number, $0.baseAddress, $0.count) }
            if count == 0 { return (bytes, Facts(facts)) }
            guard count > 0 else {
                if errno == EINTR { continue }
                throw .last("read \(path)")
            }
            bytes += portion[..<count]
            guard bytes.count <= limit else { throw SystemError("read \(path)", code: EFBIG) }
        }
    }

    /// What there is at a path; `nil` when there is nothing.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - followsLinks: Whether what a link leads to is meant, and not the link.
    /// - Throws: `SystemError` where the system does not tell.
    public static func facts(_ path: String, followsLinks: Bool = true) throws(SystemError) -> Facts? {
        var facts = stat()
        guard (followsLinks ? stat(path, &facts) : lstat(path, &facts)) == 0 else {
            if errno == ENOENT { return nil }
            throw .last("stat \(path)")
        }
        return Facts(facts)
    }

    /// The folder in which somebody else could put another file in the place of this one, where there is such a folder: his
    /// mode bits let him write to it, and it is not one where only the owner of a file may replace it (sticky, as /tmp),
    /// with a file of this process's user or of root's. The folder of a link counts, and that of what it leads to.
    ///
    /// - Parameters:
    ///   - path: The file, whether or not there is one.
    ///   - bits: Who else, in the bits of a mode: 0o002 for others, 0o020 for the group.
    public static func folderOpen(to bits: UInt32, around path: String) -> (path: String, facts: Facts)? {
        var places = [path]
        if let resolved = realpath(path, nil) {
            places.append(String(cString: resolved))
            free(resolved)
        }
        for place in places {
            let folder = parts(of: place).folder
            guard let facts = try? facts(folder), facts.mode & bits != 0 else { continue }
            if facts.mode & 0o1000 != 0 {
                guard let file = try? Self.facts(place, followsLinks: false) else { continue }
                if file.owner == 0 || file.owner == geteuid() { continue }
            }
            return (folder, facts)
        }
        return nil
    }

    /// The names of what lies in a folder, in no order.
    ///
    /// - Throws: `SystemError`.
    public static func names(in folder: String) throws(SystemError) -> [String] {
        guard let stream = opendir(folder) else { throw .last("open \(folder)") }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: pointer.pointee)) {
                    String(cString: $0)
                }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names
    }

    /// Makes a durable file of mode 0600 with these bytes: under another name first, so that nobody ever sees half of it.
    ///
    /// - Parameter replaces: Whether a file of that name is replaced; else it stays as it is.
    /// - Returns: Whether the file is the new one; `false` when one was there and was not to be replaced.
    /// - Throws: `SystemError`; then nothing was made.
    @discardableResult
    public static func write(
        _ bytes: [UInt8],
        to path: String,
        replaces: Bool
    ) throws(SystemError) -> Bool {
        let partial = PartialName.fresh(for: path)
        let number = open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard number >= 0 else { throw .last("create \(path)") }
        let file = Descriptor(taking: number)
        defer { unlink(partial) }
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { systemWrite(file.number, $0.baseAddress, $0.count) }
            guard count > 0 else {
                if count < 0, errno == EINTR { continue }
                throw .last("write \(path)")
            }
            written += count
        }
        guard fsync(file.number) == 0 else { throw .last("fsync \(path)") }
        if replaces {
            guard systemRename(partial, path) == 0 else { throw .last("rename to \(path)") }
        } else {
            guard systemLink(partial, path) == 0 else {
                if errno == EEXIST { return false }
                throw .last("create \(path)")
            }
        }
        try syncFolder(of: path)
        return true
    }

    /// Gives a file another name in the same folder, durably; a file of that name is replaced.
    ///
    /// - Throws: `SystemError`.
    public static func rename(_ path: String, to name: String) throws(SystemError) {
        guard systemRename(path, name) == 0 else { throw .last("rename \(path)") }
        try syncFolder(of: name)
    }

    /// Gives a file one more name in the same folder, durably; a file of that name stays as it is.
    ///
    /// - Returns: Whether it has that name now; `false` when another file has.
    /// - Throws: `SystemError`.
    public static func link(_ path: String, as name: String) throws(SystemError) -> Bool {
        guard systemLink(path, name) == 0 else {
            if errno == EEXIST { return false }
            throw .last("link \(path)")
        }
        try syncFolder(of: name)
        return true
    }

    /// Removes a file; that there is none is no error.
    ///
    /// - Throws: `SystemError`.
    public static func remove(_ path: String) throws(SystemError) {
        guard unlink(path) == 0 || errno == ENOENT else { throw .last("remove \(path)") }
    }

    /// The folder of a path and the name in it.
    public static func parts(of path: String) -> (folder: String, name: String) {
        switch path.lastIndex(of: "/") {
        case nil: (".", path)
        case let slash?:
            (slash == path.startIndex ? "/" : String(path[..<slash]), String(path[path.index(after: slash)...]))
        }
    }

    /// The path of another name in the folder of a path.
    public static func path(_ name: String, beside path: String) -> String {
        path.lastIndex(of: "/").map { "\(path[...$0])\(name)" } ?? name
    }

    /// Makes the name of a file durable.
    private static func syncFolder(of path: String) throws(SystemError) {
        let folder = parts(of: path).folder
        let number = open(folder, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { throw .last("open \(folder)") }
        let descriptor = Descriptor(taking: number)
        guard fsync(descriptor.number) == 0 else { throw .last("fsync \(folder)") }
    }
}

private func systemRead(_ number: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    read(number, buffer, count)
}

func systemWrite(_ number: Int32, _ buffer: UnsafeRawPointer?, _ count: Int) -> Int {
    write(number, buffer, count)
}

private func systemLink(_ path: String, _ name: String) -> Int32 { link(path, name) }

private func systemRename(_ path: String, _ name: String) -> Int32 { rename(path, name) }
