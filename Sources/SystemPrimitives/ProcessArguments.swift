#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// The words that the process was started with, which every user of the machine can read in the list of processes.
public enum ProcessArguments {
    /// The words after the program's name. Those after the first are overwritten, unless the first is `shown`: they may be
    /// license keys, ids of installs and names of people.
    public static func take(showing shown: String) -> [String] {
        let words = Array(CommandLine.arguments.dropFirst())
        guard let first = words.first, first != shown else { return words }
        let places = UnsafeBufferPointer(start: CommandLine.unsafeArgv, count: Int(CommandLine.argc))
        for place in places.dropFirst(2) {
            guard let place else { continue }
            memset(place, 0, strlen(place))
        }
        return words
    }
}
