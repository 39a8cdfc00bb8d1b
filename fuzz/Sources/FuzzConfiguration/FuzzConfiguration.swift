import FuzzSupport
import HTTPServer
import StrictJSON

// The other files of this folder are those of the executable, which nothing can import.

/// A configuration that was read is printed as a file that reads the same; JSON is JSON5; a mistake has its line.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = input(start, count)
    // The reader of files refuses what is no UTF-8.
    guard let text = String(validating: bytes, as: UTF8.self) else { return 0 }
    syntax(text, bytes)
    file(text)
    forms(text)
    return 0
}

private func lineCount(_ text: String) -> Int {
    // A line ends in CRLF, CR or LF: counted by each half, a bound is enough.
    text.utf8.count { $0 == 0x0A || $0 == 0x0D } + 1
}

private func syntax(_ text: String, _ bytes: [UInt8]) {
    let lines = lineCount(text)
    do throws(ConfigurationSyntax.Failure) {
        var last = 1
        for member in try ConfigurationSyntax.members(of: text) {
            expect((last...lines).contains(member.line), "a member has no line, or they are not in order")
            last = member.line
        }
    } catch {
        expect((1...lines).contains(error.line), "a mistake is in no line")
        expect(!error.words.isEmpty, "a mistake has no words")
        guard let document = try? JSONDocument(parsing: bytes, maximumDepth: 8), document.root.kind == .object else {
            return
        }
        let isOurs = ["there twice", "an object cannot stand in a list"].contains { error.words.contains($0) }
        expect(isOurs, "an object in JSON is none in JSON5: \(error.words)")
    }
}

private func file(_ text: String) {
    let loaded: LoadedConfiguration
    do throws(ConfigurationError) {
        loaded = try Configuration.load(file: ConfigurationFile(path: "c", text: text))
    } catch {
        expect(!error.problems.isEmpty, "a configuration is refused without a reason")
        for problem in error.problems { expect(!problem.words.isEmpty, "a problem has no words") }
        return
    }
    for printed in [ConfigurationText.printed(loaded), ConfigurationText.json(loaded.configuration)] {
        let again = try? Configuration.load(file: ConfigurationFile(path: "c", text: printed))
        expect(again?.configuration == loaded.configuration, "a configuration reads differently once printed")
    }
    let json = Array(ConfigurationText.json(loaded.configuration).utf8)
    expect((try? JSONDocument(parsing: json)) != nil, "a configuration as JSON is none")
}

private func forms(_ text: String) {
    if let seconds = ISODuration.seconds(text) {
        let again = ISODuration.seconds(ISODuration.text(seconds))
        expect(seconds >= 0 && again == seconds, "a duration reads differently once written")
    }
    if let address = WebAddress(text) {
        let whole = address.origin + address.path
        let again = WebAddress(whole)
        expect(again?.origin == address.origin && again?.path == address.path, "a URL reads differently once written")
        expect(!whole.utf8.contains { $0 <= 0x20 || $0 >= 0x7F }, "a URL has blanks or controls")
    }
    // A value of the environment or of an option takes the same ways as one of a file.
    for setting in ["listen", "limits.body_bytes", "cors.allowed_origins", "trusted_proxies", "base_url"] {
        _ = try? Configuration.load(flags: [Configuration.Flag(setting, [text])])
    }
}
