import CFailingMemory
import Cryptography
import Foundation
import Testing

/// What OpenSSL says when its memory runs out differs from allocation to allocation, and often reads like bad input: each
/// of them fails once here, alone and with all that follow. In a process of its own, since memory is taken from somewhere
/// else only before OpenSSL has any.
@Suite("Checks for which there is no memory") struct LackOfMemoryTests {
    @Test("a key, a signature and a sealed value are what they are, or nothing is known of them")
    func checks() async {
        await #expect(processExitsWith: .success) {
            try #require(failing_memory_install() == 1)
            try #require(OpenSSLMemory.watch())
            let message: [UInt8] = [1, 2, 3]
            let key = try P256.SigningKey.generate()
            let signature = try P256.Signer.open(key).sign(message)
            let edwards = try Ed25519.SigningKey.generate()
            let other = try edwards.sign(message)
            let secret = try SecretBytes.random(count: 32)
            let sealed = try AESGCM.seal(message, key: secret, associatedData: [7])
            let spki = key.publicKey.spki
            let offCurve = spki.dropLast() + [spki[90] ^ 1]

            let walks = [
                Walk { try P256.PublicKey(spki: spki) == key.publicKey ? "it" : "another" },
                Walk { try P256.PublicKey(spki: Array(offCurve)) == key.publicKey ? "it" : "another" },
                Walk { try P256.SigningKey(pkcs8: key.pkcs8).publicKey == key.publicKey ? "it" : "another" },
                Walk { try key.publicKey.isValid(signature, for: message) ? "valid" : "not" },
                Walk { try key.publicKey.isValid(signature, for: [4]) ? "valid" : "not" },
                Walk { try edwards.publicKey.isValid(other, for: message) ? "valid" : "not" },
                Walk { try edwards.publicKey.isValid(other, for: [4]) ? "valid" : "not" },
                Walk { try AESGCM.open(sealed, key: secret, associatedData: [7]).copy() == message ? "it" : "another" },
                Walk { try AESGCM.open(sealed, key: secret, associatedData: [8]).copy() == message ? "it" : "another" },
            ]

            let wanted = ["it", "malformedKey", "it", "valid", "not", "valid", "not", "it", "authenticationFailed"]
            for (walk, wanted) in zip(walks, wanted) {
                #expect(walk.result() == wanted)
                #expect(walk.faults(beside: wanted) == [])
            }
        }
    }

    @Test("a digest needs no memory that could be lacking")
    func digests() async {
        await #expect(processExitsWith: .success) {
            try #require(failing_memory_install() == 1)
            failing_memory_fail(1, 1)
            // FIPS 180-4, example of one block.
            #expect(
                SHA256.digest(of: Array("abc".utf8))
                    == bytes(hex: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
            )
            let key = SecretBytes(Array(repeating: 0x0B, count: 20))
            #expect(HMACSHA256.authenticationCode(for: Array("Hi There".utf8), key: key).first == 0xB0)
            #expect(failing_memory_count() == 0)
        }
    }
}

/// One check, of which every allocation fails once.
struct Walk {
    private let check: () throws -> String

    init(_ check: @escaping () throws -> String) { self.check = check }

    /// What the check finds; `trouble` where nothing.
    func result() -> String {
        do {
            return try check()
        } catch let error as CryptographyError {
            return Self.name(error)
        } catch {
            return "\(error)"
        }
    }

    private static func name(_ error: CryptographyError) -> String {
        switch error {
        case .malformedKey: "malformedKey"
        case .unsupportedKey: "unsupportedKey"
        case .mismatchedKey: "mismatchedKey"
        case .authenticationFailed: "authenticationFailed"
        case .library: "trouble"
        }
    }

    /// What was found, beside `wanted` and trouble, while one allocation failed, or all from one on.
    func faults(beside wanted: String) -> [String] {
        failing_memory_fail(0, 0)
        _ = result()
        let count = failing_memory_count()
        // One in so many; the environment variable `MEMORY_WALK` says `all` for each.
        let step = ProcessInfo.processInfo.environment["MEMORY_WALK"] == "all" ? 1 : 11
        var faults: [String] = []
        if count == 0 { faults.append("nothing is allocated") }
        for lasting: CInt in [0, 1] {
            var troubled = 0
            for number in stride(from: 1, through: count, by: step) {
                failing_memory_fail(number, lasting)
                let found = result()
                failing_memory_fail(0, 0)
                if found == "trouble" { troubled += 1 }
                if found != wanted && found != "trouble" { faults.append("\(number) of \(count): \(found)") }
            }
            if troubled < Int(count) / step { faults.append("only \(troubled) of \(count) were noticed") }
            // And nothing is left of it.
            if result() != wanted { faults.append("afterwards: \(result())") }
        }
        return faults
    }
}
