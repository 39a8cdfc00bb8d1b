#ifndef CFAULTYVFS_H
#define CFAULTYVFS_H

/// A file system interface for SQLite that does what the default one does, and fails where it is told to.
/// Registers one under `name`, which must live as long as the process; tests that run beside each other take one each.
void faulty_vfs_register(const char *name);

/// The next `count` syncs of a write-ahead log fail with SQLITE_IOERR_FSYNC, after they have been done.
void faulty_vfs_fail_syncs(const char *name, int count);

/// The next `count` writes to a write-ahead log fail with SQLITE_FULL, and nothing is written.
void faulty_vfs_fill(const char *name, int count);

/// From now on a write-ahead log may not grow beyond that many bytes: a write past them fails with SQLITE_FULL.
void faulty_vfs_limit(const char *name, long long bytes);

/// How many failures are still to come.
int faulty_vfs_left(const char *name);

/// How many times a write-ahead log was synced.
int faulty_vfs_syncs(const char *name);

#endif
