import CountersignAPI
import LicensingServices
import Storage

/// What the writer tidies up when nothing waits.
enum Housekeeping {
    /// The writer's settings: idle work removes what is over, a portion at a time.
    static var writerSettings: APIWriter.Settings {
        var settings = APIWriter.Settings()
        settings.idle = { db in try RetentionService.removeExpired(at: SystemTime.timestamp(), in: db) }
        return settings
    }
}
