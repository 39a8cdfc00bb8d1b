internal import Cryptography
internal import Licensing
package import Storage
internal import SystemPrimitives

/// A new master key on its way. File and database cannot change in one step, so a kill after each leaves what opens:
///
/// 1. The new key is durable beside the old one, under a name of its own. The old key opens the database.
/// 2. The old key gets a second name, by which old backups open. No file of that name is ever replaced. That this can be done
///    proves that the last step can: a file that is a mount of its own has no second name in the folder.
/// 3. The data keys are wrapped by the new key, if they are still wrapped as they were. From here on the new file opens the
///    database, and every opening looks for it, and finishes what is left, under the lock.
/// 4. The new key takes the old one's place, in one step.
///
/// All of it runs under `keys.lock`, so there is one rotation at a time. No key is ever removed, but the new one when it is
/// certain that the data keys were not wrapped by it.
package struct VaultRotation: Sendable {
    /// What has just been done; for tests, which end the process there.
    package enum Step: String, Sendable, CaseIterable {
        case newKeyWritten
        case oldKeyKept
        case keysWrapped
        case newKeyInPlace
    }

    private let file: KeyFile
    private let next: KeyFile
    private let master: MasterKey
    private let former: DataKeyStore.Wrapped
    private let wrapped: DataKeyStore.Wrapped
    private let audit: AuditTrail
    private let actor: Actor

    /// Makes a new key ready, and the data keys wrapped by it; nothing is written yet.
    package init<DB: Queries & ~Copyable>(of vault: Vault, by actor: Actor, in db: borrowing DB) throws {
        let found = try Vault.unwrap(vault.file, of: "the database", in: db)
        guard found.source == vault.file else {
            // What an earlier rotation left could not be put in place: this one must not bury it.
            throw VaultFault(
                .unwritable,
                "the master key is \(found.source.path), and cannot be put in the place of \(vault.file.path): see who may "
                    + "write that folder"
            )
        }
        file = vault.file
        next = vault.file.freshNext()
        master = try MasterKey.random()
        former = try DataKeyStore.wrapped(in: db)
        wrapped = try DataKeyStore.Wrapped(vault.keys, under: master)
        audit = AuditTrail(keys: vault.keys)
        self.actor = actor
    }

    /// Writes the new key beside the old one.
    package func writeKey() throws(VaultFault) { try next.make(master) }

    /// Wraps the data keys by the new key, if they are still as they were.
    ///
    /// - Throws: `busy` where they are not.
    package func wrap(in db: borrowing WriteTransaction) throws {
        try DataKeyStore.replace(former, by: wrapped, at: actor.now, in: db)
        try audit.record(AuditedChange(vendor: nil, action: "master-key.rotate", target: "server"), by: actor, in: db)
    }

    /// Gives the old key a second name.
    ///
    /// - Returns: That name.
    package func keepOldKey() throws(VaultFault) -> String {
        do {
            return try file.keep(at: actor.now)
        } catch {
            throw VaultFault(
                .unwritable,
                "the master key \(file.path) cannot be replaced where it is (\(error.description)); nothing was done; fix: "
                    + "name a copy in a folder that this process may write by COUNTERSIGN_MASTER_KEY_FILE, and no file that is "
                    + "mounted by itself"
            )
        }
    }

    /// Removes the new key, which wraps nothing, and the second name of the old one, which has its first still.
    package func abandon(keptAs old: String?) {
        try? SmallFile.remove(next.path)
        guard let old, old != file.path, let kept = try? SmallFile.facts(old),
            kept.identity == (try? SmallFile.facts(file.path))?.identity
        else { return }
        try? SmallFile.remove(old)
    }

    /// Puts the new key in its place.
    package func finish() throws(VaultFault) { try file.put(next, at: actor.now) }

    /// Where the old key would be kept.
    package var oldPath: String { (file.untilNames(actor.now).first ?? file).path }
}

extension Vault {
    /// Makes a new master key and wraps the data keys by it, while no other process does.
    ///
    /// - Parameters:
    ///   - connection: To the database.
    ///   - database: The same.
    ///   - actor: Who asks for it.
    ///   - isDryRun: Whether no file is written, and the transaction undone.
    ///   - reached: Told after each step; for tests.
    /// - Returns: Where the old key is kept.
    /// - Throws: `StorageError` (`busy` where another process is at it for long), `VaultFault`, `CryptographyError`. The
    ///   database opens afterwards, by the old key or the new one.
    @discardableResult
    package func rotate(
        _ connection: borrowing CommandLineConnection,
        of database: Database,
        by actor: Actor,
        isDryRun: Bool = false,
        reached: (VaultRotation.Step) -> Void = { _ in }
    ) throws -> String {
        let old = try database.holdingKeys(waits: true) { () throws -> String in
            for file in PartialName.all(for: file.path) { try SmallFile.remove(file) }
            let rotation = try connection.snapshot { db in try VaultRotation(of: self, by: actor, in: db) }
            guard !isDryRun else {
                try connection.write(isDryRun: true) { db in try rotation.wrap(in: db) }
                return rotation.oldPath
            }
            var old: String?
            do {
                try rotation.writeKey()
                reached(.newKeyWritten)
                old = try rotation.keepOldKey()
                reached(.oldKeyKept)
                try connection.write { db in try rotation.wrap(in: db) }
            } catch {
                // Of a COMMIT that failed nobody knows whether it counts: then both keys stay.
                if (error as? StorageError)?.category != .unknownOutcome { rotation.abandon(keptAs: old) }
                throw error
            }
            reached(.keysWrapped)
            try rotation.finish()
            reached(.newKeyInPlace)
            return old ?? rotation.oldPath
        }
        guard let old else { preconditionFailure("whoever waits gets the lock or throws") }
        return old
    }
}

extension KeyFile {
    /// Puts the file of a new key in the place of this one, which is kept under another name first. Under `keys.lock`.
    ///
    /// - Throws: `VaultFault`; the new key is then where it was, and opens the database from there.
    func put(_ next: KeyFile, at now: Timestamp) throws(VaultFault) {
        do {
            _ = try keep(at: now)
            try SmallFile.rename(next.path, to: path)
        } catch {
            throw VaultFault(
                .unwritable,
                "the new master key is \(next.path), and opens the database from there; it could not be put in place: "
                    + "\(error.description)"
            )
        }
    }

    /// Gives the key in this file a second name, unless it has one already since a rotation that broke off.
    ///
    /// - Returns: That name.
    func keep(at now: Timestamp) throws(SystemError) -> String {
        guard let own = try SmallFile.facts(path) else { return path }
        for other in former where try SmallFile.facts(other.path)?.identity == own.identity { return other.path }
        for name in untilNames(now) where try SmallFile.link(path, as: name.path) { return name.path }
        throw SystemError("link \(path)", code: SystemError.alreadyThere)
    }
}
