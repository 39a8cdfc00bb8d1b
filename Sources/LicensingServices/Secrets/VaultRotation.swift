internal import Cryptography
public import Licensing
public import Storage
internal import SystemPrimitives

/// A new master key on its way: file and database cannot change in one step, so each step is safe to break off after.
///
/// 1. `writeFile`: the new key is durable beside the old one, as `….next`.
/// 2. `write`: the data keys are wrapped by the new key. From here on the old file does not open the database; what opening
///    then says names the other file.
/// 3. `finish`: the old file gets another name, the new one its place.
public struct VaultRotation: Sendable {
    let file: KeyFile
    let next: KeyFile
    let master: MasterKey
    let wrapped: DataKeyStore.Wrapped
    let audit: AuditTrail

    /// What the old key's file will be called.
    public let oldPath: String

    /// Writes the new key beside the old one.
    ///
    /// - Throws: `VaultFault`.
    public func writeFile() throws(VaultFault) { try next.replace(by: master) }

    /// Wraps the data keys by the new key.
    ///
    /// - Throws: `StorageError`.
    public func write(by actor: Actor, in db: borrowing WriteTransaction) throws {
        try DataKeyStore.write(wrapped, at: actor.now, in: db)
        try audit.record(AuditedChange(vendor: nil, action: "master-key.rotate", target: "server"), by: actor, in: db)
    }

    /// Puts the new file in its place.
    ///
    /// - Returns: What the old key's file is called now.
    /// - Throws: `VaultFault`; the message says what is still to be done by hand.
    public func finish() throws(VaultFault) -> String {
        do {
            try SmallFile.rename(file.path, to: oldPath)
            try SmallFile.rename(next.path, to: file.path)
        } catch {
            throw VaultFault(
                .unwritable,
                "the new master key is in \(next.path) and could not be put in place: \(error.description); fix: "
                    + "mv \(next.path) \(file.path)"
            )
        }
        return oldPath
    }
}

extension Vault {
    /// Makes a new master key ready, and the data keys wrapped by it.
    ///
    /// - Throws: `CryptographyError` without randomness.
    public func prepareRotation(at now: Timestamp) throws -> VaultRotation {
        let master = try MasterKey.random()
        let stamp = now.rfc3339.filter { $0 != "-" && $0 != ":" }
        return VaultRotation(
            file: file,
            next: file.next,
            master: master,
            wrapped: try DataKeyStore.Wrapped(keys, under: master),
            audit: AuditTrail(keys: keys),
            oldPath: "\(file.path).until-\(stamp)"
        )
    }
}
