/// How much a log line matters, least first.
public enum LogLevel: String, Sendable, Comparable, CaseIterable {
    /// For whoever looks for a fault; off unless asked for.
    case debug
    /// What the server does, request by request.
    case info
    /// Something an operator should look at, while the server goes on.
    case warning
    /// Something failed that should not.
    case error

    /// The place in the order, from 0.
    var rank: Int {
        switch self {
        case .debug: 0
        case .info: 1
        case .warning: 2
        case .error: 3
        }
    }

    /// Whether `left` matters less.
    public static func < (left: LogLevel, right: LogLevel) -> Bool { left.rank < right.rank }
}

/// How a log line is written.
public enum LogFormat: String, Sendable, CaseIterable {
    /// One JSON object a line.
    case json
    /// Words for a person at a terminal.
    case text
}
