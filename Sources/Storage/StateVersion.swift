/// The range of `state.version`: the microseconds of a clock, or a little more.
enum StateVersion {
    /// Up to the end of the year 9999, and as much again for a version that grew by one for each commit since.
    static let range: ClosedRange<Int64> = 0...507_000_000_000_000_000

    /// Refuses a database whose version is damaged: it could not be raised, and clients believe no lower one.
    ///
    /// - Throws: `corrupt`.
    static func require(_ version: Int64, in file: String) throws(StorageError) {
        guard range.contains(version) else {
            throw StorageError(.corrupt, "\(file) is damaged: its state version is \(version); restore a backup")
        }
    }
}
