#ifndef CFAULTYVFS_H
#define CFAULTYVFS_H

/// A file system interface for SQLite that does what the default one does, and fails where it is told to.
/// Registers one under `name`, which must live as long as the process; tests that run beside each other take one each.
void faulty_vfs_register(const char *name);

/// The next `count` syncs of a write-ahead log fail with SQLITE_IOERR_FSYNC, after they have been done.
void faulty_vfs_fail_syncs(const char *name, int count);

/// The next `count` writes to a write-ahead log fail with SQLITE_FULL, and nothing is written.
void faulty_vfs_fill(const char *name, int count);

/// The same with SQLITE_IOERR_WRITE, for which the system gave the reason `error`, a value of `errno`.
void faulty_vfs_break(const char *name, int error, int count);

/// Whoever asks for a lock on one of these bytes of the shared-memory file (120 to 127) is refused it from now on, as if a
/// stranger had it; what is held stays held.
void faulty_vfs_lock(const char *name, int first, int last);

/// The stranger is gone.
void faulty_vfs_unlock(const char *name);

/// For how many microseconds SQLite wanted to sleep since this was last asked. Nobody sleeps.
long long faulty_vfs_slept(const char *name);

/// From now on whoever sleeps is woken so many microseconds late.
void faulty_vfs_sleep_late(const char *name, int microseconds);

/// From now on a write-ahead log may not grow beyond that many bytes: a write past them fails with SQLITE_FULL.
void faulty_vfs_limit(const char *name, long long bytes);

/// With 1: whoever syncs a write-ahead log waits from now on, as on a disk that does not answer. With 0: they go on.
void faulty_vfs_hold_syncs(const char *name, int is_holding);

/// Returns when somebody waits in such a sync.
void faulty_vfs_await_sync(const char *name);

/// How many failures are still to come.
int faulty_vfs_left(const char *name);

/// How many times a write-ahead log was synced.
int faulty_vfs_syncs(const char *name);

#endif
