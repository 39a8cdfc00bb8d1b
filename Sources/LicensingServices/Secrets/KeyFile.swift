internal import Licensing
internal import SystemPrimitives

/// The file outside the database that holds the master key: mode 0600, and read by its owner alone.
public struct KeyFile: Hashable, Sendable {
    /// Where it is.
    public let path: String
    /// Whether it may be a link: one that the operator named, as container platforms hand secrets out. In the folder of
    /// the database none is followed.
    let followsLinks: Bool

    /// The file at `path`.
    public init(path: String, followsLinks: Bool = true) {
        self.path = path
        self.followsLinks = followsLinks
    }

    /// `COUNTERSIGN_MASTER_KEY_FILE` where that is set, else `master.key` in the folder of the database.
    ///
    /// - Parameters:
    ///   - configured: What the operator named; `nil` or empty: nothing.
    ///   - folder: The folder of the database.
    public init(configured: String?, folder: String) {
        let named = configured.flatMap { $0.isEmpty ? nil : $0 }
        self.init(path: named ?? "\(folder)/master.key", followsLinks: named != nil)
    }

    /// A name for the new key of one rotation: no other one ever has it.
    func freshNext() -> KeyFile {
        KeyFile(path: "\(path).next-\(String(UInt64.random(in: 1 << 60 ... .max), radix: 16))", followsLinks: false)
    }

    /// The new keys of rotations that are under way, or broke off: one of them may be the one that opens the database.
    var coming: [KeyFile] {
        siblings { $0 == ".next" || $0.hasPrefix(".next-") && !$0.hasSuffix(".\(PartialName.standardEnding)") }
    }

    /// Where rotations put the keys that this one came after, the newest first.
    var former: [KeyFile] { siblings { $0.hasPrefix(".until-") } }

    /// Where a rotation at this moment puts the key that it replaces, and where else when that name is taken.
    func untilNames(_ now: Timestamp) -> [KeyFile] {
        let stamp = now.rfc3339.filter { $0 != "-" && $0 != ":" }
        // The time is in the name, so that names are in its order.
        return (0..<1000).map {
            KeyFile(path: "\(path).until-\(stamp)\($0 == 0 ? "" : "-\($0 + 1)")", followsLinks: false)
        }
    }

    /// Files beside it that have its name and an ending, the greatest ending first.
    private func siblings(_ isMeant: (Substring) -> Bool) -> [KeyFile] {
        let (folder, name) = SmallFile.parts(of: path)
        let names = (try? SmallFile.names(in: folder)) ?? []
        return names.filter { $0.hasPrefix(name) && isMeant($0.dropFirst(name.count)) }.sorted(by: >)
            .map { KeyFile(path: SmallFile.path($0, beside: path), followsLinks: followsLinks) }
    }

    /// Whether it lies in that folder, where whoever copies the database copies it too.
    public func isInside(_ folder: String) -> Bool {
        path.hasPrefix(folder.hasSuffix("/") ? folder : folder + "/")
    }

    /// Reads the key.
    ///
    /// - Returns: `nil` when there is no file.
    /// - Throws: `VaultFault` when others may read or replace it, it cannot be read, or it holds no key.
    public func read() throws(VaultFault) -> MasterKey? {
        if let (folder, facts) = SmallFile.folderOpen(to: 0o002, around: path) {
            throw VaultFault(
                .openToOthers,
                "others can put another key in the place of the master key \(path): they may write to \(folder) "
                    + "(mode \(facts.octalMode)); fix: chmod o-w \(folder), or move the key to a folder of its own and name "
                    + "it by COUNTERSIGN_MASTER_KEY_FILE"
            )
        }
        let bytes: [UInt8]
        let facts: SmallFile.Facts
        do {
            (bytes, facts) = try SmallFile.read(path, upTo: 4096, followsLinks: followsLinks)
        } catch {
            guard followsLinks || !error.isLink else {
                throw VaultFault(
                    .unreadable,
                    "the master key \(path) is a link, and none is followed in the folder of a database; fix: put the file "
                        + "itself there, or name it by COUNTERSIGN_MASTER_KEY_FILE"
                )
            }
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

    /// Why it is worth a word, though it may be used: the group can put another key in its place. Container platforms open
    /// volumes to a group.
    public var warning: String? {
        SmallFile.folderOpen(to: 0o020, around: path).map { folder, facts in
            "the group can put another key in the place of \(path): it may write to \(folder) (mode \(facts.octalMode))"
        }
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

    /// Makes the file with this key, which must be the first of this name.
    ///
    /// - Throws: `VaultFault` where it cannot be written, or is there.
    func make(_ key: MasterKey) throws(VaultFault) {
        let isNew: Bool
        do {
            isNew = try SmallFile.write(key.fileText, to: path, replaces: false)
        } catch {
            throw VaultFault(.unwritable, "the master key cannot be written to \(path): \(error.reason)")
        }
        guard isNew else { throw VaultFault(.unwritable, "there is a file \(path) already: it is not replaced") }
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
