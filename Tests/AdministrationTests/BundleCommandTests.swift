import Foundation
import StrictJSON
import Testing

@Suite("Offline activation and bundles") struct BundleCommandTests {
    let console = Console()
    private let install = "0b9f1e52-6c1d-4a54-9d7b-3f1a2b4c5d6e"

    /// A license, its request file, and the bundle that answers it.
    private func activated() throws -> (key: String, request: String, bundle: String) {
        _ = try console.prepared()
        let issued = try console.json("admin license issue --product acme/editor --plan pro --seats 1")
        let key = try #require(issued.at("licenses.0.key")?.string)
        let request = try console.file(
            "request.json",
            #"{"license_key":"\#(key)","install_id":"\#(install)","nonce":"n-1","device":{"name":"Lab"}}"#
        )
        let answer = try console.json("admin offline activate \(request)")
        return (key, request, try #require(answer["bundle"]?.string))
    }

    private func pin() throws -> String {
        try #require(try console.json("admin product setup acme/editor").at("setup.pins.0.spki")?.string)
    }

    @Test("the response to a request file is a bundle that an app verifies, with its nonce")
    func activation() throws {
        let (_, request, bundle) = try activated()

        let verified = try console.json(
            "bundle verify \(bundle) --spki \(try pin()) --issuer countersign:acme --audience editor --mode live "
                + "--install-id \(install)"
        )

        #expect(verified["verified"]?.bool == true)
        #expect(verified["features"]?.texts == ["export", "pro_unlock"])
        #expect(verified.at("payload.nonce")?.string == "n-1")
        // What is carried back is the bundle and nothing else; a second time is the same seat.
        let again = console.run("admin offline activate \(request)")
        #expect(again.out.split(separator: ".").count == 3)
        #expect(again.out.filter { $0 == "\n" }.count == 1)
        let inspected = try console.json("bundle inspect \(bundle)")
        #expect(inspected.at("header.alg")?.string == "ES256")
        #expect(inspected.at("payload.aud")?.string == "editor")
        #expect(inspected["verified"]?.bool == false)
    }

    @Test("a dry run activates nothing")
    func dryRun() throws {
        _ = try console.prepared()
        let issued = try console.json("admin license issue --product acme/editor --plan pro --seats 1")
        let (id, key) = (issued.at("licenses.0.id")?.string ?? "", issued.at("licenses.0.key")?.string ?? "")
        let request = try console.file(
            "request.json",
            #"{"license_key":"\#(key)","install_id":"\#(install)","nonce":"n"}"#
        )

        let would = try console.json("admin offline activate \(request) --dry-run")

        #expect(would["bundle"]?.isNull == true)
        #expect(try console.json("admin license show \(id)").at("license.seats.used")?.int64 == 0)
    }

    @Test("a refusal has the code that an app would get")
    func refusals() throws {
        let (key, _, _) = try activated()
        let other = try console.file(
            "other.json",
            #"{"license_key":"\#(key)","install_id":"another-install-of-mine","nonce":"n"}"#
        )
        #expect(try console.failure("admin offline activate \(other)").code == "NO_SEATS_AVAILABLE")

        for (text, code) in [
            (#"{"license_key":"\#(key)","install_id":"\#(install)"}"#, "VALIDATION"),
            (#"{"license_key":"\#(key)","install_id":"short","nonce":"n"}"#, "VALIDATION"),
            (#"{"license_key":"ZZZZ-NOBODY-HAS-THIS","install_id":"\#(install)","nonce":"n"}"#, "LICENSE_NOT_FOUND"),
            ("{", "MALFORMED_JSON"), ("[]", "VALIDATION"),
        ] {
            let file = try console.file("bad.json", text)
            #expect(try console.failure("admin offline activate \(file)").code == code, "\(text)")
        }
    }

    @Test("what is not verified exits 1 with the reason")
    func notVerified() throws {
        let (_, _, bundle) = try activated()
        try console.json("admin vendor create --slug other")
        let pin = try pin()
        let stranger = try #require(
            try console.json("admin keys list --vendor other --mode live").at("keys.0.spki")?.string
        )
        let parts = bundle.split(separator: ".")
        let forged = "\(parts[0]).\(parts[1]).\(String(repeating: "A", count: 86))"
        let right = "--issuer countersign:acme --audience editor"

        for (token, options, reason) in [
            (bundle, "--spki \(stranger) \(right)", "unknown_key"),
            (forged, "--spki \(pin) \(right)", "bad_signature"),
            (bundle, "--spki \(pin) --issuer countersign:other --audience editor", "wrong_issuer"),
            (bundle, "--spki \(pin) --issuer countersign:acme --audience viewer", "wrong_audience"),
            (bundle, "--spki \(pin) \(right) --mode test", "wrong_mode"),
            (bundle, "--spki \(pin) \(right) --install-id another-install-of-mine", "wrong_subject"),
            ("hello", "--spki \(pin) \(right)", "not_compact"),
        ] {
            let failure = try console.failure("bundle verify \(token) \(options)")
            #expect(failure.exit == 1)
            #expect(failure.code == "NOT_VERIFIED")
            #expect(failure.error["reason"]?.string == reason)
        }
        // One of several pins is enough, and so is standard input with a line feed behind.
        var reading = console
        reading.input = Array("\(bundle)\n".utf8)
        try reading.json("bundle verify - --spki \(stranger) --spki \(pin) \(right)")
    }
}
