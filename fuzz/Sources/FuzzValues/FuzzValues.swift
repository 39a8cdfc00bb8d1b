import FuzzSupport
import LicensingServices

@testable import Licensing

/// Names, instants and durations read the same again from what is written of them, and their quick ways over ASCII say
/// what the ways over Unicode say.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = input(start, count)
    let text = String(decoding: bytes, as: UTF8.self)
    secrets(text)
    names(text)
    instants(text)
    durations(text)
    calendar(bytes)
    return 0
}

private func secrets(_ text: String) {
    for shortest in [8, InstallID.shortest] {
        guard let id = try? InstallID(text, shortest: shortest) else { continue }
        let again = try? InstallID(id.folded, shortest: shortest)
        expect(again?.folded.utf8.elementsEqual(id.folded.utf8) == true, "an install id folds twice")
        expect((shortest...200).contains(id.folded.utf8.count), "an install id is longer or shorter than it may be")
    }
    if let print = try? DeviceFingerprint(text) {
        expect((try? DeviceFingerprint(print.folded)) == print, "a fingerprint folds twice")
    }
    if let token = TrialToken(text) { expect(token.text.utf8.elementsEqual(text.utf8), "a token changed") }
    guard text.utf8.allSatisfy({ $0 < 0x80 }) else { return }
    let bytes = Array(text.utf8)
    expect(
        LicenseKey.cleanedASCII(bytes).elementsEqual(LicenseKey.cleanedUnicode(text).utf8),
        "the quick way cleans a key otherwise"
    )
    if bytes.count <= 4096 {
        let quick = try? SecretName.foldASCII(bytes, shortest: 8)
        expect(quick == (try? SecretName.foldUnicode(text, shortest: 8)), "the quick way folds a name otherwise")
    }
}

private func names(_ text: String) {
    if let slug = try? Slug(text) { expect(slug.text.utf8.elementsEqual(text.utf8), "a slug changed") }
    if let code = try? FeatureCode(text) { expect(code.text.utf8.elementsEqual(text.utf8), "a code changed") }
    if let code = try? PlanCode(text) { expect(code.text.utf8.elementsEqual(text.utf8), "a code changed") }
    if let prefix = try? KeyPrefix(text) { expect(prefix.text.utf8.elementsEqual(text.utf8), "a prefix changed") }
    if let id = License.ID(text) { expect(id.text.utf8.elementsEqual(text.utf8), "an id has two spellings") }
    if let email = try? EmailAddress(text) {
        let again = try? EmailAddress(email.text)
        expect(again?.text.utf8.elementsEqual(email.text.utf8) == true, "an address folds twice")
    }
    if let period = try? MeterPeriod(text) { expect((try? MeterPeriod(period.text)) == period, "a period changed") }
    if let seats = try? SeatLimit(text) { expect((try? SeatLimit(seats.text)) == seats, "a seat limit changed") }
    for (read, place) in [(LicenseForms.name, "name"), (LicenseForms.orderID, "order id")] {
        guard let name = try? read(text) else { continue }
        expect((try? read(name))?.utf8.elementsEqual(name.utf8) == true, "a \(place) is read otherwise the second time")
    }
}

private func instants(_ text: String) {
    for role in [Timestamp.Role.instant, .start, .end] {
        guard let instant = try? Timestamp(text, as: role) else { continue }
        expect(instant >= .earliest && instant <= .latest, "an instant lies outside the calendar")
        expect((try? Timestamp(instant.rfc3339, as: .instant)) == instant, "an instant does not read itself")
    }
}

private func durations(_ text: String) {
    guard let duration = try? CalendarDuration(text) else { return }
    expect((try? CalendarDuration(duration.iso8601)) == duration, "a duration does not read itself")
    expect(duration.shortestSeconds <= duration.longestSeconds, "a duration is shorter at its longest")
    expect(!duration.canBeShorter(than: duration), "a duration is shorter than itself")
    for seconds: Int64 in [0, 951_782_400, 1_709_164_800, 4_102_444_799, 253_402_300_799] {
        let instant = Timestamp(secondsSinceEpoch: seconds)
        let later = instant.adding(duration)
        expect(later >= instant && later <= .latest, "a duration leads back, or out of the calendar")
        let earlier = instant.subtracting(duration)
        expect(earlier <= instant && earlier >= .earliest, "a duration leads forward, or out of the calendar")
        guard later < .latest else { continue }
        let length = later.seconds(since: instant)
        expect(length >= duration.shortestSeconds, "a duration is shorter than its shortest")
        expect(length <= duration.longestSeconds, "a duration is longer than its longest")
    }
}

/// The first eight bytes as seconds, the next as months.
private func calendar(_ bytes: [UInt8]) {
    guard bytes.count >= 9 else { return }
    let raw = bytes[..<8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let any = Timestamp(secondsSinceEpoch: Int64(bitPattern: raw))
    _ = any.rfc3339
    _ = any.adding(seconds: Int64(bitPattern: raw &* 0x9E37_79B9))
    _ = any.seconds(since: Timestamp(secondsSinceEpoch: Int64(bitPattern: ~raw)))
    let instant = Timestamp(secondsSinceEpoch: Int64(raw % 253_402_300_800))
    expect((try? Timestamp(instant.rfc3339, as: .instant)) == instant, "an instant does not read itself")
    expect(instant.startOfYear <= instant.startOfMonth, "a year begins after its month")
    expect(instant.startOfMonth <= instant.startOfDay && instant.startOfDay <= instant, "a day begins before its month")
    let months = Int64(Int8(bitPattern: bytes[8]))
    let moved = instant.adding(months: months)
    if moved > .earliest && moved < .latest {
        let (before, after) = (instant.civil, moved.civil)
        let count = (after.year - before.year) * 12 + after.month - before.month
        expect(count == months, "months are counted wrong")
        expect(after.day <= before.day && after.secondOfDay == before.secondOfDay, "a month moves the day or the time")
    }
}
