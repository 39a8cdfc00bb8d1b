/// Permission bits, for people.
public enum FileMode {
    /// As `chmod` writes them, such as `0644`.
    public static func text(_ mode: UInt32) -> String {
        let digits = String(mode, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
