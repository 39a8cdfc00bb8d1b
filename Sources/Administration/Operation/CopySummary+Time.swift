internal import Licensing
internal import Storage

extension CopySummary {
    /// When something was last committed to it, as RFC 3339.
    var commitTime: String { Timestamp(secondsSinceEpoch: committedAt).rfc3339 }
}
