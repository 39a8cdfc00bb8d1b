internal import SystemPrimitives

/// The file outside the database that holds the master key: mode 0600, and read by its owner alone.
public struct KeyFile: Hashable, Sendable {
    /// Where it is.
    public let path: String

    /// The file at `path`.
    public init(path: String) { self.path = path }

    /// `COUNTERSIGN_MASTER_KEY_FILE` where that is set, else `master.key` in the folder of the database.
    ///
    /// - Parameters:
    ///   - configured: What the operator named; `nil` or empty: nothing.
    ///   - folder: The folder of the database.
    public init(configured: String?, folder: String) {
        path = configured.flatMap { $0.isEmpty ? nil : $0 } ?? "\(folder)/master.key"
    }

    /// Where a rotation puts the new key first.
    var next: KeyFile { KeyFile(path: path + ".next") }

    /// Where rotations put the keys that this one came after, the newest first.
    var former: [KeyFile] {
        let slash = path.lastIndex(of: "/")
        let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let name = slash.map { path[path.index(after: $0)...] } ?? path[...]
        let names = (try? SmallFile.names(in: folder)) ?? []
        // The time is in the name.
        return names.filter { $0.hasPrefix("\(name).until-") }.sorted(by: >)
            .map { KeyFile(path: slash == nil ? $0 : "\(folder == "/" ? "" : folder)/\($0)") }
    }

    /// Whether it lies in that folder, where whoever copies the database copies it too.
    public func isInside(_ folder: String) -> Bool {
        path.hasPrefix(folder.hasSuffix("/") ? folder : folder + "/")
    }

    /// Reads the key.
    ///
    /// - Returns: `nil` when there is no file.
    /// - Throws: `VaultFault` when others may read it, it cannot be read, or it holds no key.
    public func read() throws(VaultFault) -> MasterKey? {
        let bytes: [UInt8]
        let facts: SmallFile.Facts
        do {
            (bytes, facts) = try SmallFile.read(path, upTo: 4096)
        } catch {
            guard let found = try? SmallFile.facts(path) else {
                if error.isAbsence { return nil }
                throw VaultFault(.unreadable, "the master key \(path) cannot be read: \(error.reason)")
            }
            throw VaultFault(
                .unreadable,
                "the master key \(path) cannot be read: \(error.reason); it belongs to uid \(found.owner) "
                    + "(mode \(found.octalMode)); fix: make it readable for the user this process runs as, and for "
                    + "nobody else"
            )
        }
        guard !facts.isOpenToOthers else {
            throw VaultFault(
                .openToOthers,
                "the master key \(path) can be used by others (mode \(facts.octalMode)); fix: chmod 600 \(path)"
            )
        }
        guard let key = MasterKey(fileText: bytes) else {
            throw VaultFault(
                .malformed,
                "\(path) holds no master key (one line of 43 characters of base64url); put the right file there, or "
                    + "name it by COUNTERSIGN_MASTER_KEY_FILE"
            )
        }
        return key
    }

    /// Makes the file with a fresh key.
    ///
    /// - Returns: The key; `nil` when there is a file already.
    /// - Throws: `VaultFault` where it cannot be written, `CryptographyError` without randomness.
    func make() throws -> MasterKey? {
        let key = try MasterKey.random()
        do {
            return try SmallFile.write(key.fileText, to: path, replaces: false) ? key : nil
        } catch {
            throw VaultFault(.unwritable, "the master key cannot be written to \(path): \(error.reason)")
        }
    }

    /// Puts `key` in the place of the one in the file.
    ///
    /// - Throws: `VaultFault` where it cannot be written; the old one is there still.
    public func replace(by key: MasterKey) throws(VaultFault) {
        do {
            try SmallFile.write(key.fileText, to: path, replaces: true)
        } catch {
            throw VaultFault(.unwritable, "the master key cannot be written to \(path): \(error.reason)")
        }
    }
}

extension SmallFile.Facts {
    /// The mode as `chmod` writes it, such as `0644`.
    fileprivate var octalMode: String {
        let digits = String(mode, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}

/// Why the master key, or what it opens, could not be had; one line that names what and how to mend it.
public struct VaultFault: Error, Hashable, Sendable, CustomStringConvertible {
    /// What went wrong, for programs.
    public enum Reason: String, Hashable, Sendable {
        /// There is no key file.
        case missing
        /// The key file cannot be read.
        case unreadable
        /// The key file may be read by others.
        case openToOthers
        /// The key file holds something else.
        case malformed
        /// The key belongs to another database.
        case anotherDatabases
        /// The key file cannot be written.
        case unwritable
        /// The database has rows and no data keys: it is damaged.
        case noDataKeys
        /// The folder has a key and no database.
        case databaseLost
    }

    /// What went wrong, for programs.
    public let reason: Reason
    /// What went wrong and how to mend it, for people; never a secret.
    public let message: String

    /// A fault.
    public init(_ reason: Reason, _ message: String) {
        self.reason = reason
        self.message = message
    }

    /// The message.
    public var description: String { message }
}
