public import Licensing
internal import Storage
internal import SystemPrimitives

/// Contacts that were answered and are not written yet, of all loops: what the writer looks at before it takes a seat or a
/// purchase from the install that has not been seen for longest.
///
/// A job that writes a contact may have to wait, or fail; whoever was answered meanwhile was seen all the same.
public final class LastContacts: Sendable {
    private let byInstall = Guarded<[Install.ID: Timestamp]>([:])
    /// The most installs; of more, the further ones are only as good as written.
    private static let most = 65_536

    /// None yet.
    public init() {}

    /// Notes a contact, to be called before it is answered.
    public func note(_ install: Install.ID, at now: Timestamp) {
        byInstall.withLock { contacts in
            if let known = contacts[install] {
                contacts[install] = max(known, now)
            } else if contacts.count < Self.most {
                contacts[install] = now
            }
        }
    }

    /// Forgets what was written, to be called after the commit.
    public func forget(_ written: Sightings) {
        byInstall.withLock { contacts in
            if contacts.isEmpty { return }
            written.forEach { install, at in
                if let known = contacts[install], known <= at { contacts[install] = nil }
            }
        }
    }

    /// Writes what is known of these installs and not written yet.
    ///
    /// - Returns: Whether there was anything: what was read of them is out of date then.
    /// - Throws: `StorageError`.
    func write(
        of installs: some Sequence<(install: Install.ID, lastSeenAt: Timestamp)>,
        in db: borrowing WriteTransaction
    ) throws -> Bool {
        let known = byInstall.withLock { contacts in
            contacts.isEmpty
                ? []
                : installs.compactMap { install, lastSeenAt in
                    contacts[install].flatMap { $0 > lastSeenAt ? (install, $0) : nil }
                }
        }
        for (install, at) in known { try InstallStore.touch(install, at: at, in: db) }
        return !known.isEmpty
    }
}
