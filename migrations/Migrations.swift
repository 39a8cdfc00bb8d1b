/// One step of the schema's history: SQL that runs once, in one transaction, and never changes afterwards.
///
/// To add one: write `NNNN_verb_noun.sql` beside this file, name it in the `resources` of the target in
/// `Package.swift`, and append it to `Migration.all`. SwiftPM embeds `0002_create_x.sql` as
/// `PackageResources._002_create_x_sql`: a leading digit becomes an underscore.
public struct Migration: Hashable, Sendable {
    /// The file's name without `.sql`; it starts with the four digits of its number.
    public let name: String

    /// The statements, as UTF-8.
    public let sql: [UInt8]

    /// A migration of this name with these statements.
    public init(name: String, sql: [UInt8]) {
        self.name = name
        self.sql = sql
    }

    /// Every migration this binary knows, oldest first. Append-only.
    public static let all: [Migration] = [
        Migration(name: "0001_create_state", sql: PackageResources._001_create_state_sql),
        Migration(name: "0002_create_catalog", sql: PackageResources._002_create_catalog_sql),
        Migration(name: "0003_create_licenses", sql: PackageResources._003_create_licenses_sql),
        Migration(name: "0004_create_credentials", sql: PackageResources._004_create_credentials_sql),
        Migration(name: "0005_create_trials", sql: PackageResources._005_create_trials_sql),
        Migration(name: "0006_create_meters", sql: PackageResources._006_create_meters_sql),
        Migration(name: "0007_create_store_purchases", sql: PackageResources._007_create_store_purchases_sql),
        Migration(name: "0008_create_gifts_and_tiers", sql: PackageResources._008_create_gifts_and_tiers_sql),
        Migration(name: "0009_create_quota", sql: PackageResources._009_create_quota_sql),
        Migration(
            name: "0010_create_trial_fingerprints",
            sql: PackageResources._010_create_trial_fingerprints_sql
        ),
        Migration(name: "0011_create_seat_indexes", sql: PackageResources._011_create_seat_indexes_sql),
        Migration(name: "0012_count_seats", sql: PackageResources._012_count_seats_sql),
        Migration(
            name: "0013_create_notification_index",
            sql: PackageResources._013_create_notification_index_sql
        ),
        Migration(name: "0014_read_known_codes", sql: PackageResources._014_read_known_codes_sql),
    ]
}
