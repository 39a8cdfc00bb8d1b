import HTTPServer

/// How values of one kind are read from what was written, and written again.
struct SettingType<Value: Equatable & Sendable>: Sendable {
    /// What may be written, for the documentation: `bytes, 1024 to 16777216`.
    let words: String
    let read: @Sendable (ConfigurationInput) throws(SettingProblem) -> Value
    let write: @Sendable (Value) -> ConfigurationInput
}

extension SettingType where Value == Int {
    /// A whole number.
    ///
    /// - Parameters:
    ///   - unit: in the plural; `""` where there is none.
    ///   - zero: what 0 means, where it may be given although it lies outside `range`.
    static func integer(_ range: ClosedRange<Int>, _ unit: String = "", zero: String? = nil) -> SettingType {
        let what = unit.isEmpty ? "whole number" : unit
        let ends = "\(range.lowerBound) to \(range.upperBound)"
        let words = "\(what), \(ends)" + (zero.map { "; 0: \($0)" } ?? "")
        return SettingType(
            words: words,
            read: { (input) throws(SettingProblem) in
                let number: Int? =
                    switch input {
                    case .number(let text), .text(let text): Digits.value(text)
                    default: nil
                    }
                guard let number else { throw SettingProblem("\(input.shown) is not a whole number (\(words))") }
                guard range.contains(number) || zero != nil && number == 0 else {
                    throw SettingProblem("\(number) is outside its range (\(words))")
                }
                return number
            },
            write: { .number(String($0)) }
        )
    }

    /// A length of time: ISO 8601 in days, hours, minutes and seconds, or a whole number of seconds.
    static func duration(_ range: ClosedRange<Int>) -> SettingType {
        let words = "duration, \(ISODuration.text(range.lowerBound)) to \(ISODuration.text(range.upperBound))"
        return SettingType(
            words: words,
            read: { (input) throws(SettingProblem) in
                let seconds: Int? =
                    switch input {
                    case .number(let text), .text(let text): Digits.value(text) ?? ISODuration.seconds(text)
                    default: nil
                    }
                guard let seconds else {
                    throw SettingProblem("\(input.shown) is not a duration such as PT10S or a number of seconds")
                }
                guard range.contains(seconds) else {
                    throw SettingProblem("\(input.shown) is outside its range (\(words))")
                }
                return seconds
            },
            write: { .text(ISODuration.text($0)) }
        )
    }
}

extension SettingType where Value == String {
    /// Text that `check` accepts; what it returns is kept.
    static func text(
        _ words: String,
        _ check: @escaping @Sendable (String) throws(SettingProblem) -> String
    ) -> SettingType {
        SettingType(
            words: words,
            read: { (input) throws(SettingProblem) in
                guard case .text(let text) = input else { throw SettingProblem("\(input.shown) is not text") }
                return try check(text)
            },
            write: { .text($0) }
        )
    }

    /// A path, absolute or from the working directory.
    static let path = text("path") { (text) throws(SettingProblem) in
        guard !text.isEmpty, !text.utf8.contains(0) else { throw SettingProblem("'\(text)' is not a path") }
        return text
    }

    /// An origin as a browser sends it: scheme, host and perhaps a port (RFC 6454 §6.2).
    static let origin = text("origin such as https://app.example.com") { (text) throws(SettingProblem) in
        guard text != "*" else { throw SettingProblem("'*' is not allowed: name each origin") }
        guard let url = WebAddress(text), url.path.isEmpty else {
            throw SettingProblem("'\(text)' is not an origin such as https://app.example.com")
        }
        return url.origin
    }

    /// An address that clients begin with.
    static let webAddress = text("URL such as https://licenses.example.com") { (text) throws(SettingProblem) in
        guard let url = WebAddress(text) else {
            throw SettingProblem("'\(text)' is not an http or https URL without user, query and fragment")
        }
        return url.origin + url.path
    }

    /// The name of a header field (RFC 9110 §5.6.2).
    static let fieldName = text("header name") { (text) throws(SettingProblem) in
        let symbols = "!#$%&'*+-.^_`|~"
        let isToken = text.unicodeScalars.allSatisfy {
            $0.isASCII
                && ($0.properties.isAlphabetic || ("0"..."9").contains($0) || symbols.unicodeScalars.contains($0))
        }
        guard !text.isEmpty, isToken, text != "*" else { throw SettingProblem("'\(text)' is not a header name") }
        return text
    }

    /// SHA-256 in hexadecimal, colons allowed; kept in lower case without them.
    static let fingerprint = text("SHA-256 in hexadecimal") { (text) throws(SettingProblem) in
        let digits = text.lowercased().filter { $0 != ":" }
        guard digits.utf8.count == 64, digits.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
            throw SettingProblem("'\(text)' is not a SHA-256 of 64 hexadecimal digits")
        }
        return digits
    }
}

extension SettingType where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    /// One of the words of an enumeration.
    static func choice(_ type: Value.Type = Value.self) -> SettingType {
        let words = Value.allCases.map(\.rawValue).joined(separator: ", ")
        return SettingType(
            words: "one of \(words)",
            read: { (input) throws(SettingProblem) in
                guard case .text(let text) = input, let value = Value(rawValue: text) else {
                    throw SettingProblem("\(input.shown) is not one of \(words)")
                }
                return value
            },
            write: { .text($0.rawValue) }
        )
    }
}

extension SettingType where Value == ListenAddress {
    /// An address to listen on.
    static let listenAddress = SettingType(
        words: "address:port",
        read: { (input) throws(SettingProblem) in
            guard case .text(let text) = input, let address = ListenAddress(parsing: text) else {
                let forms = "127.0.0.1:8080, [::1]:8080, localhost:8080 or *:8080"
                throw SettingProblem("\(input.shown) is not an address with a port, such as \(forms)")
            }
            return address
        },
        write: { .text($0.description) }
    )
}

extension SettingType where Value == NetworkPrefix {
    /// A block of addresses; bits beyond its prefix are refused: who writes `10.1.2.3/8` may have meant one machine or
    /// sixteen million.
    static let addressBlock = SettingType(
        words: "address block such as 10.0.0.0/8",
        read: { (input) throws(SettingProblem) in
            guard case .text(let text) = input, let block = NetworkPrefix(parsing: text) else {
                let form = "10.0.0.0/8 or fd00::/8 (no bits beyond the prefix)"
                throw SettingProblem("\(input.shown) is not an address block such as \(form)")
            }
            return block
        },
        write: { .text($0.description) }
    )
}

extension SettingType {
    /// A list; in the environment and in flags its items are separated by commas.
    static func list<Item>(
        of item: SettingType<Item>,
        atLeast least: Int = 0,
        atMost most: Int = 10_000
    ) -> SettingType where Value == [Item] {
        SettingType(
            words: "list of: \(item.words)",
            read: { (input) throws(SettingProblem) in
                var items: [ConfigurationInput]
                switch input {
                case .list(let list): items = list
                case .text(let text):
                    items = text.split(separator: ",", omittingEmptySubsequences: false).map {
                        .text(Blanks.trimmed($0))
                    }
                    if Blanks.trimmed(text[...]).isEmpty {
                        items = []
                    }
                default: throw SettingProblem("\(input.shown) is not a list")
                }
                guard items.count >= least else { throw SettingProblem("is empty") }
                guard items.count <= most else { throw SettingProblem("has \(items.count) items, \(most) at most") }
                var values: [Item] = []
                for input in items {
                    let value = try item.read(input)
                    guard !values.contains(value) else { throw SettingProblem("\(input.shown) is there twice") }
                    values.append(value)
                }
                return values
            },
            write: { .list($0.map(item.write)) }
        )
    }

    /// A value that may be left out: empty text is none.
    static func optional<Wrapped>(_ type: SettingType<Wrapped>) -> SettingType where Value == Wrapped? {
        SettingType(
            words: "\(type.words); empty: none",
            read: { (input) throws(SettingProblem) in input == .text("") ? nil : try type.read(input) },
            write: { $0.map(type.write) ?? .text("") }
        )
    }
}
