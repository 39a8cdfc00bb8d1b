internal import CSystem

/// Files with a process's memory, made when it crashes: they would hold the master key and whatever it unlocks.
public enum CoreDumps {
    /// Forbids them for this process and those it starts. On Linux the process also stops being dumpable (prctl(2),
    /// PR_SET_DUMPABLE): a core that is piped to a program is forbidden too, and only root may attach a debugger.
    ///
    /// Answers whether all of it was done; nothing depends on it, so that a system that refuses still serves.
    @discardableResult
    public static func forbid() -> Bool { cs_forbid_core_dumps() == 0 }
}
