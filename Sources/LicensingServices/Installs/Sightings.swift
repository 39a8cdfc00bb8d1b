public import Licensing
public import Storage

/// What reads learned of installs since the last flush: when they were seen, and what they told of their devices.
///
/// Kept in memory by each loop and written in portions. A seat or a purchase whose install has not been seen for the offline
/// life may go to another one, so what is kept here may make a last contact look a little earlier than it was, and no more:
/// see ``mustBeWrittenNow(_:seenAt:)``.
public struct Sightings: Sendable {
    /// One install as it was last seen.
    private struct Sighting: Sendable {
        var device: DeviceInfo
        var at: Timestamp
    }

    private var byInstall: [Install.ID: Sighting] = [:]
    /// The most installs that are remembered between two flushes; of more, the further ones are not.
    public static let most = 16_384
    /// How many installs are written by one job: other writes come between two of them.
    public static let mostInPortion = 128
    /// A quarter of the shortest offline life there is, in seconds.
    public static let mostLagSeconds: Int64 = 900

    /// Whether that the install is seen `now` is to be handed to the writer before it is answered: what is written of it is
    /// older than a flush may lose.
    public static func mustBeWrittenNow(_ install: Install, seenAt now: Timestamp) -> Bool {
        now.seconds(since: install.lastSeenAt) >= mostLagSeconds
    }

    /// Nothing seen yet.
    public init() {}

    /// One contact of one install.
    public init(_ install: Install.ID, _ device: DeviceInfo, at now: Timestamp) {
        note(install, device, at: now)
    }

    /// Whether there is nothing to write.
    public var isEmpty: Bool { byInstall.isEmpty }

    /// Remembers that an install was seen.
    ///
    /// - Parameter device: what it told of its device.
    public mutating func note(_ install: Install.ID, _ device: DeviceInfo, at now: Timestamp) {
        guard let known = byInstall[install] else {
            if byInstall.count < Self.most { byInstall[install] = Sighting(device: device, at: now) }
            return
        }
        // What the later contact tells counts.
        let isLater = now >= known.at
        byInstall[install] = Sighting(
            device: isLater ? known.device.updated(by: device) : device.updated(by: known.device),
            at: max(now, known.at)
        )
    }

    /// Each install, and when it was seen.
    func forEach(_ body: (Install.ID, Timestamp) -> Void) {
        for (id, sighting) in byInstall { body(id, sighting.at) }
    }

    /// Takes back what could not be written.
    public mutating func add(_ others: Sightings) {
        for (id, sighting) in others.byInstall { note(id, sighting.device, at: sighting.at) }
    }

    /// Takes out what is remembered, in portions for a job each.
    public mutating func takePortions() -> [Sightings] {
        var portions: [Sightings] = []
        for (id, sighting) in byInstall {
            if (portions.last?.byInstall.count ?? Self.mostInPortion) == Self.mostInPortion {
                portions.append(Sightings())
            }
            portions[portions.count - 1].byInstall[id] = sighting
        }
        byInstall.removeAll(keepingCapacity: true)
        return portions
    }

    /// Writes what was remembered: last seen, of installs and the seats they hold, and what they told of their devices. What
    /// was written of an install since it was seen, or in the same second, stays.
    ///
    /// - Throws: `StorageError`.
    public func write(in db: borrowing WriteTransaction) throws {
        for (id, sighting) in byInstall {
            guard var install = try InstallStore.find(id, in: db) else { continue }
            if install.lastSeenAt < sighting.at {
                install.device = install.device.updated(by: sighting.device)
                install.lastSeenAt = sighting.at
                try InstallStore.refresh(install, in: db)
            }
            try InstallStore.touch(id, at: sighting.at, in: db)
        }
    }
}
