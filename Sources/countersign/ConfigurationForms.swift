import HTTPServer

/// Blanks around the items of a list.
enum Blanks {
    /// `text` without spaces and tabs at its ends.
    static func trimmed(_ text: Substring) -> String {
        var text = text
        while text.first == " " || text.first == "\t" {
            text.removeFirst()
        }
        while text.last == " " || text.last == "\t" {
            text.removeLast()
        }
        return String(text)
    }
}

/// Lengths of time of fixed length, as ISO 8601 writes them: `P1DT2H3M4S`. Months and years have no fixed length.
enum ISODuration {
    /// Its seconds, or `nil` where it is none.
    static func seconds(_ text: String) -> Int? {
        var rest = text[...]
        guard rest.popFirst() == "P" else { return nil }
        var units: [(Character, Int)] = [("D", 86_400), ("H", 3_600), ("M", 60), ("S", 1)]
        var total = 0
        var isTime = false
        var isEmpty = true
        while !rest.isEmpty {
            if rest.first == "T" {
                guard !isTime, rest.count > 1 else { return nil }
                isTime = true
                rest.removeFirst()
                units.removeAll { $0.0 == "D" }
            }
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            guard digits.count <= 9, let count = Digits.value(digits) else { return nil }
            rest.removeFirst(digits.count)
            guard let unit = rest.popFirst(), let place = units.firstIndex(where: { $0.0 == unit }),
                isTime == (unit != "D")
            else { return nil }
            total += count * units[place].1
            units.removeSubrange(...place)
            isEmpty = false
        }
        return isEmpty ? nil : total
    }

    /// The shortest form of `seconds`.
    static func text(_ seconds: Int) -> String {
        let days = seconds / 86_400
        var time = ""
        for (letter, length, larger) in [("H", 3_600, 86_400), ("M", 60, 3_600), ("S", 1, 60)] {
            let count = seconds % larger / length
            if count > 0 {
                time += "\(count)\(letter)"
            }
        }
        if days == 0 && time.isEmpty { return "PT0S" }
        return "P" + (days > 0 ? "\(days)D" : "") + (time.isEmpty ? "" : "T" + time)
    }
}

/// An http or https URL of scheme, host, perhaps a port and a path, and nothing else.
struct WebAddress {
    /// Scheme, host and port, in lower case; a scheme's own port is left out, as browsers do.
    let origin: String
    /// Empty, or beginning and not ending with a slash.
    let path: String

    init?(_ text: String) {
        guard let mark = text.firstRange(of: "://") else { return nil }
        let scheme = text[..<mark.lowerBound].lowercased()
        let rest = text[mark.upperBound...]
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        guard scheme == "http" || scheme == "https", let authority = Self.authority(rest[..<slash].lowercased(), scheme)
        else { return nil }

        var path = rest[slash...]
        while path.last == "/" {
            path.removeLast()
        }
        let isPlain = path.utf8.allSatisfy {
            $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#")
        }
        guard isPlain else { return nil }
        origin = scheme + "://" + authority
        self.path = String(path)
    }

    /// Host and port as they are kept, or `nil` where they are none.
    private static func authority(_ text: String, _ scheme: String) -> String? {
        let end = text.hasPrefix("[") ? text.firstIndex(of: "]").map(text.index(after:)) : text.firstIndex(of: ":")
        let host = text[..<(end ?? text.endIndex)]
        let port = text[host.endIndex...]
        if host.hasPrefix("[") {
            guard host.hasSuffix("]"), PeerAddress(parsing: String(host)) != nil else {
                return nil
            }
        } else {
            let isName = host.utf8.allSatisfy {
                (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D || $0 == 0x2E
            }
            guard !host.isEmpty, isName else { return nil }
        }
        guard !port.isEmpty else { return String(host) }
        guard port.first == ":", let number = Digits.value(port.dropFirst()), (1...65_535).contains(number)
        else { return nil }
        return number == (scheme == "http" ? 80 : 443) ? String(host) : "\(host):\(number)"
    }
}

/// Whole numbers written in ASCII digits alone: no sign, no blanks.
enum Digits {
    /// The number, or `nil` where it is none or passes Int64.
    static func value(_ text: some StringProtocol) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int(text)
    }
}
