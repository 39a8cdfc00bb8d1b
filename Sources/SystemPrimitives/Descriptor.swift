#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Sole owner of one file descriptor; the end of the value's life closes it.
public struct Descriptor: ~Copyable, Sendable {
    /// The number, valid as long as the owner lives: not to be kept or closed.
    public let number: Int32

    /// Takes over `number`, which nobody else may close.
    public init(taking number: Int32) {
        self.number = number
    }

    deinit {
        _ = close(number)
    }

    /// Gives up ownership: the caller must close the number returned.
    public consuming func release() -> Int32 {
        let number = number
        discard self
        return number
    }
}
