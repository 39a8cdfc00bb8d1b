import Licensing

/// A key that was read reads the same again from its own spelling; so do ids, instants and durations.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let text = String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    for prefix in ["CS", "ACME", "A1B2C3D4"] {
        guard let prefix = try? KeyPrefix(prefix), let key = try? LicenseKey(text, prefix: prefix) else { continue }
        guard let again = try? LicenseKey(key.text, prefix: prefix) else {
            preconditionFailure("a key does not read its own spelling")
        }
        precondition(again.canonical == key.canonical, "a key has two canonical forms")
    }
    if let install = try? InstallID(text) {
        precondition((try? InstallID(install.folded))?.folded == install.folded, "an install id folds twice")
    }
    for role in [Timestamp.Role.instant, .start, .end] {
        guard let instant = try? Timestamp(text, as: role) else { continue }
        precondition((try? Timestamp(instant.rfc3339, as: .instant)) == instant, "an instant does not read itself")
    }
    if let duration = try? CalendarDuration(text) {
        precondition((try? CalendarDuration(duration.iso8601)) == duration, "a duration does not read itself")
    }
    return 0
}
