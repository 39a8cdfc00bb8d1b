internal import Glibc
public import Licensing

/// Readings of the kernel's clocks.
public enum SystemTime {
    /// The wall clock, in microseconds since 1970.
    public static func microseconds() -> Int64 {
        let time = read(CLOCK_REALTIME)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }

    /// The wall clock in whole seconds.
    public static func timestamp() -> Timestamp { Timestamp(secondsSinceEpoch: Int64(read(CLOCK_REALTIME).tv_sec)) }

    /// Wall clock and boot-time clock, taken together.
    public static func reading() -> ClockGuard.Reading {
        ClockGuard.Reading(wall: timestamp(), boot: Int64(read(CLOCK_BOOTTIME).tv_sec))
    }

    private static func read(_ clock: clockid_t) -> timespec {
        var time = timespec()
        // Cannot fail for clocks the kernel has always had (clock_gettime(2)).
        _ = unsafe clock_gettime(clock, &time)
        return time
    }
}
