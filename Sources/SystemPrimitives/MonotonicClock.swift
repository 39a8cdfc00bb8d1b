#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The clock that never jumps, for time-outs and durations; it says nothing about the date.
public enum MonotonicClock {
    /// Nanoseconds since an unnamed moment before the process started.
    public static func nanoseconds() -> UInt64 {
        var time = timespec()
        _ = clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }
}
