/// Reads the text of a configuration file: JSON5 (https://spec.json5.org), an object of objects, lists and values.
///
/// Unlike a decoder it keeps the line of each member and refuses a member that is there twice, so that a mistake can be
/// found by who made it.
struct ConfigurationSyntax {
    /// One value with the names that lead to it, joined by dots.
    struct Member: Equatable {
        let path: String
        let value: ConfigurationInput
        let line: Int
    }

    /// Why the text is no JSON5.
    struct Failure: Error, Equatable {
        let words: String
        let line: Int
    }

    private let scalars: [Unicode.Scalar]
    private var position = 0
    private var line = 1
    private var members: [Member] = []

    /// Objects and lists in each other; settings need four.
    private static let maximumDepth = 16

    private init(_ text: String) {
        scalars = Array(text.unicodeScalars)
    }

    /// The members of the object that `text` is, in order.
    ///
    /// - Throws: `Failure` with the line of the first mistake.
    static func members(of text: String) throws(Failure) -> [Member] {
        var syntax = ConfigurationSyntax(text)
        try syntax.skipBlanks()
        guard syntax.peek() == "{" else { throw syntax.failure("the file must be an object: { … }") }
        try syntax.object(under: "", depth: 1)
        try syntax.skipBlanks()
        guard syntax.peek() == nil else { throw syntax.failure("text after the end of the object") }
        return syntax.members
    }

    private func peek(_ ahead: Int = 0) -> Unicode.Scalar? {
        position + ahead < scalars.count ? scalars[position + ahead] : nil
    }

    @discardableResult
    private mutating func next() -> Unicode.Scalar? {
        guard let scalar = peek() else { return nil }
        position += 1
        if scalar == "\n" || scalar == "\r" && peek() != "\n" {
            line += 1
        }
        return scalar
    }

    private func failure(_ words: String) -> Failure {
        Failure(words: words, line: line)
    }

    private func unexpected(_ wanted: String) -> Failure {
        guard let scalar = peek() else { return failure("the file ends where \(wanted) should follow") }
        return failure("'\(scalar)' stands where \(wanted) should follow")
    }

    /// Skips white space and comments.
    private mutating func skipBlanks() throws(Failure) {
        while let scalar = peek() {
            if scalar.properties.isWhitespace || scalar == "\u{FEFF}" {
                next()
            } else if scalar == "/" && peek(1) == "/" {
                while let scalar = peek(), scalar != "\n", scalar != "\r" {
                    next()
                }
            } else if scalar == "/" && peek(1) == "*" {
                let start = line
                next()
                next()
                while !(peek() == "*" && peek(1) == "/") {
                    guard next() != nil else { throw Failure(words: "a comment that does not end", line: start) }
                }
                next()
                next()
            } else {
                return
            }
        }
    }

    private mutating func object(under prefix: String, depth: Int) throws(Failure) {
        guard depth <= Self.maximumDepth else { throw failure("too many objects in each other") }
        next()
        try skipBlanks()
        while peek() != "}" {
            let start = line
            let name = try self.name()
            let path = prefix.isEmpty ? name : prefix + "." + name
            try skipBlanks()
            guard peek() == ":" else { throw unexpected("':' after \(path)") }
            next()
            try skipBlanks()
            if peek() == "{" {
                try object(under: path, depth: depth + 1)
            } else {
                let value = try self.value(depth: depth + 1)
                if let first = members.first(where: { $0.path == path }) {
                    throw Failure(words: "\(path) is there twice, first in line \(first.line)", line: start)
                }
                members.append(Member(path: path, value: value, line: start))
            }
            try separator(before: "}")
        }
        next()
    }

    private mutating func list(depth: Int) throws(Failure) -> ConfigurationInput {
        guard depth <= Self.maximumDepth else { throw failure("too many lists in each other") }
        next()
        var items: [ConfigurationInput] = []
        try skipBlanks()
        while peek() != "]" {
            items.append(try value(depth: depth + 1))
            try separator(before: "]")
        }
        next()
        return .list(items)
    }

    /// A comma, which may be left out before `end`.
    private mutating func separator(before end: Unicode.Scalar) throws(Failure) {
        try skipBlanks()
        if peek() == "," {
            next()
            try skipBlanks()
        } else if peek() != end {
            throw unexpected("',' or '\(end)'")
        }
    }

    private mutating func value(depth: Int) throws(Failure) -> ConfigurationInput {
        switch peek() {
        case "\"", "'": return .text(try string())
        case "[": return try list(depth: depth)
        case "{": throw failure("an object cannot stand in a list")
        default:
            let start = position
            while let scalar = peek(), Self.isOfWord(scalar) || scalar == "+" || scalar == "-" || scalar == "." {
                next()
            }
            var word = ""
            word.unicodeScalars.append(contentsOf: scalars[start..<position])
            switch word {
            case "": throw unexpected("a value")
            case "null": return .null
            case "true": return .bool(true)
            case "false": return .bool(false)
            default:
                guard let first = word.utf8.first, (0x30...0x39).contains(first) || "+-.".utf8.contains(first) else {
                    throw failure("'\(word)' must stand in quotation marks")
                }
                return .number(Self.decimal(word))
            }
        }
    }

    /// A hexadecimal number as a decimal one, anything else as it stands: no setting takes a fraction or a sign.
    private static func decimal(_ word: String) -> String {
        guard word.hasPrefix("0x") || word.hasPrefix("0X"), let value = UInt64(word.dropFirst(2), radix: 16) else {
            return word
        }
        return String(value)
    }

    private static func isOfWord(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isAlphabetic || scalar.properties.numericType != nil || scalar == "_" || scalar == "$"
    }

    /// A member's name, quoted or a plain word.
    private mutating func name() throws(Failure) -> String {
        if peek() == "\"" || peek() == "'" { return try string() }
        var name = ""
        while let scalar = peek(), Self.isOfWord(scalar) {
            name.unicodeScalars.append(scalar)
            next()
        }
        guard !name.isEmpty else { throw unexpected("a name or '}'") }
        return name
    }

    private mutating func string() throws(Failure) -> String {
        let start = line
        let quote = next()
        var text = ""
        while true {
            guard let scalar = peek() else { throw Failure(words: "a string that does not end", line: start) }
            guard scalar != "\n", scalar != "\r" else { throw failure("a string that does not end on its line") }
            next()
            if scalar == quote { return text }
            guard scalar == "\\" else {
                text.unicodeScalars.append(scalar)
                continue
            }
            if let scalar = try escaped() {
                text.unicodeScalars.append(scalar)
            }
        }
    }

    /// What follows a backslash; `nil` for a line that goes on.
    private mutating func escaped() throws(Failure) -> Unicode.Scalar? {
        guard let scalar = next() else { throw failure("a string that does not end") }
        switch scalar {
        case "b": return "\u{8}"
        case "f": return "\u{C}"
        case "n": return "\n"
        case "r": return "\r"
        case "t": return "\t"
        case "v": return "\u{B}"
        case "0": return "\0"
        case "x": return try scalarOfDigits(2)
        case "u": return try scalarOfDigits(4)
        case "\n", "\u{2028}", "\u{2029}": return nil
        case "\r":
            if peek() == "\n" {
                next()
            }
            return nil
        default: return scalar
        }
    }

    private mutating func scalarOfDigits(_ count: Int) throws(Failure) -> Unicode.Scalar {
        let first = try hexadecimal(count)
        if let scalar = Unicode.Scalar(first) { return scalar }
        // The first half of a surrogate pair; the second must follow.
        guard first < 0xDC00, next() == "\\", next() == "u" else { throw failure("half a surrogate pair") }
        let second = try hexadecimal(4)
        guard (0xDC00...0xDFFF).contains(second),
            let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
        else { throw failure("half a surrogate pair") }
        return scalar
    }

    private mutating func hexadecimal(_ count: Int) throws(Failure) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<count {
            guard let scalar = next(), let digit = Character(scalar).hexDigitValue, scalar.isASCII else {
                throw failure("an escape needs \(count) hexadecimal digits")
            }
            value = value << 4 | UInt32(digit)
        }
        return value
    }
}
