/// The names of files that are made beside their target and renamed once they are whole.
///
/// Each is new: in a container every process may have the same id, so that a name made of that would meet the one that a
/// killed process left.
public enum PartialName {
    /// What is left of a name of `SmallFile.write`, and of a backup.
    public static let standardEnding = "partial"

    /// A name that nothing has.
    public static func fresh(for target: String, ending: String = standardEnding) -> String {
        "\(target).\(String(UInt64.random(in: 1 << 60 ... .max), radix: 16)).\(ending)"
    }

    /// Whether `name` is one that `fresh` made for `target`, or an earlier version, which put the process's id there.
    public static func isOne(_ name: String, for target: String, ending: String = standardEnding) -> Bool {
        guard name.hasPrefix("\(target)."), name.hasSuffix(".\(ending)") else { return false }
        let middle = name.utf8.dropFirst(target.utf8.count + 1).dropLast(ending.utf8.count + 1)
        return (1...16).contains(middle.count) && middle.allSatisfy { isHexadecimal($0) }
    }

    /// The paths of all that are there for the target, in no order: left by a process that was killed, or being written.
    public static func all(for target: String, ending: String = standardEnding) -> [String] {
        let (folder, name) = SmallFile.parts(of: target)
        let names = (try? SmallFile.names(in: folder)) ?? []
        return names.filter { isOne($0, for: name, ending: ending) }.map { SmallFile.path($0, beside: target) }
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
    }
}
