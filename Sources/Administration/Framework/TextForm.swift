internal import StrictJSON

/// A report's JSON as people read it: lists as tables, everything else as lines.
enum TextForm {
    static func text(of json: [UInt8]) -> String {
        guard let document = try? JSONDocument(parsing: json), let members = document.root.members else { return "" }
        var blocks: [String] = []
        var lines: [(String, String)] = []
        for (name, value) in members {
            switch value.kind {
            case .array: blocks.append(list(name, value))
            case .object: blocks.append(aligned(flattened(value)))
            case .null: continue
            default: lines.append((name, plain(value)))
            }
        }
        if !lines.isEmpty { blocks.append(aligned(lines)) }
        return blocks.filter { !$0.isEmpty }.joined(separator: "\n\n")
    }

    private static func list(_ name: String, _ list: JSONValue) -> String {
        guard list.count > 0, let elements = list.elements else { return "no \(name)" }
        guard elements.allSatisfy({ $0.kind == .object }) else {
            return "\(name): " + elements.map(plain).joined(separator: ", ")
        }
        let rows = elements.map { Dictionary(flattened($0), uniquingKeysWith: { first, _ in first }) }
        var columns: [String] = []
        for element in elements {
            for (column, _) in flattened(element) where !columns.contains(column) { columns.append(column) }
        }
        let table = [columns] + rows.map { row in columns.map { row[$0] ?? "" } }
        let widths = columns.indices.map { column in table.map { $0[column].count }.max() ?? 0 }
        return table.map { row in
            trimmed(zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }.joined(separator: "  "))
        }.joined(separator: "\n")
    }

    /// The members with those of nested objects, named by their way: `seats.used`.
    private static func flattened(_ object: JSONValue, under prefix: String = "") -> [(String, String)] {
        var pairs: [(String, String)] = []
        guard let members = object.members else { return [] }
        for (name, value) in members {
            if value.kind == .object {
                pairs += flattened(value, under: prefix + name + ".")
            } else {
                pairs.append((prefix + name, plain(value)))
            }
        }
        return pairs
    }

    private static func aligned(_ pairs: [(String, String)]) -> String {
        let width = pairs.map { $0.0.count }.max() ?? 0
        return pairs.map { name, value in
            trimmed(name + String(repeating: " ", count: width - name.count + 2) + value)
        }.joined(separator: "\n")
    }

    private static func plain(_ value: JSONValue) -> String {
        switch value.kind {
        case .null: return "-"
        case .string: return printable(value.string ?? "")
        case .array:
            guard let elements = value.elements, value.count > 0 else { return "-" }
            return elements.map { element in
                element.kind == .object
                    ? flattened(element).map { "\($0)=\($1)" }.joined(separator: " ") : plain(element)
            }.joined(separator: elements.allSatisfy { $0.kind == .object } ? "; " : ",")
        default: return String(decoding: value.source, as: UTF8.self)
        }
    }

    /// Control characters as blanks: a name must not move the cursor of whoever reads it.
    static func printable(_ text: String) -> String {
        var shown = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            let isControl = scalar.properties.generalCategory == .control
            shown.append(isControl ? " " : scalar)
        }
        return String(shown)
    }

    private static func trimmed(_ line: String) -> String {
        var line = line[...]
        while line.last == " " { line.removeLast() }
        return String(line)
    }
}
