internal import Glibc
public import Licensing

/// Readings of the kernel's clocks.
public enum SystemTime {
    /// The wall clock, in microseconds since 1970.
    public static func microseconds() -> Int64 { read(CLOCK_REALTIME) }

    /// The wall clock in whole seconds.
    public static func timestamp() -> Timestamp { reading().wall }

    /// Wall clock and boot-time clock, taken together. The kernel answers both without a system call.
    public static func reading() -> ClockGuard.Reading {
        // In this order: should the machine be put to sleep in between, the wall clock does not seem to have jumped.
        let wall = read(CLOCK_REALTIME)
        return ClockGuard.Reading(wallMicroseconds: wall, bootMicroseconds: read(CLOCK_BOOTTIME))
    }

    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        // Cannot fail for clocks the kernel has always had (clock_gettime(2)).
        _ = unsafe clock_gettime(clock, &time)
        // No clock can be set so far that this is not exact: the kernel counts nanoseconds in 64 bits.
        return Int64(time.tv_sec) &* 1_000_000 &+ Int64(time.tv_nsec) / 1000
    }
}
