import FuzzSupport
import Licensing

/// A key that was read reads the same again from its own spelling, however people space and write it; and of a key in the
/// product's own form no other single symbol, and no swap of two neighbors, is a key.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = input(start, count)
    let text = String(decoding: bytes, as: UTF8.self)
    for prefix in ["CS", "ACME", "A1B2C3D4"] {
        guard let prefix = try? KeyPrefix(prefix) else { preconditionFailure("a prefix of the fuzzer is none") }
        if let key = try? LicenseKey(text, prefix: prefix) { check(key, prefix) }
        // The random part of a key is taken from the input, so that keys of the product's own form are not left to luck.
        if let key = try? LicenseKey.make(prefix: prefix, mode: count % 2 == 0 ? .live : .test, entropy: Given(bytes)) {
            expect(key.isProductForm, "a key that was made is of the product's form")
            check(key, prefix)
        }
    }
    return 0
}

private func check(_ key: LicenseKey, _ prefix: KeyPrefix) {
    expect(!key.canonical.isEmpty, "a key has no text")
    for spelling in [key.text, key.canonical] {
        guard let again = try? LicenseKey(spelling, prefix: prefix) else {
            preconditionFailure("a key does not read its own spelling")
        }
        expect(again.canonical.utf8.elementsEqual(key.canonical.utf8), "a key has two canonical forms")
        expect(again.isProductForm == key.isProductForm, "a key changes its form")
    }
    guard key.isProductForm else { return }
    for spelling in [key.text.lowercased(), " \(key.text)\n", key.canonical.map { "\($0)-" }.joined()] {
        let again = try? LicenseKey(spelling, prefix: prefix)
        expect(again == key, "a key is not known in another spelling")
    }
    let symbols = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
    let canonical = Array(key.canonical.utf8)
    // All 16 places in all runs would be most of their time.
    var random = InputRandom(canonical)
    let place = canonical.count - 16 + Int.random(in: 0..<16, using: &random)
    for symbol in symbols where symbol != canonical[place] {
        var other = canonical
        other[place] = symbol
        refuse(other, prefix, "one wrong symbol")
    }
    guard place + 1 < canonical.count, canonical[place] != canonical[place + 1] else { return }
    var other = canonical
    other.swapAt(place, place + 1)
    refuse(other, prefix, "two neighbors swapped")
}

private func refuse(_ text: [UInt8], _ prefix: KeyPrefix, _ slip: String) {
    do throws(LicenseKey.Fault) {
        _ = try LicenseKey(String(decoding: text, as: UTF8.self), prefix: prefix)
    } catch {
        expect(error == .malformed, "\(slip) is told as something else")
        return
    }
    preconditionFailure("\(slip) is taken for a key")
}

/// Gives the bytes of the input, over and over.
private struct Given: Entropy {
    let source: [UInt8]

    init(_ source: [UInt8]) { self.source = source }

    func bytes(_ count: Int) throws -> [UInt8] {
        (0..<count).map { source.isEmpty ? 0 : source[$0 % source.count] }
    }
}
