#ifndef COUNTERSIGN_CSQLITE_PATIENCE_H
#define COUNTERSIGN_CSQLITE_PATIENCE_H
#include <sqlite3.h>
#include <time.h>

// How long SQLite may sleep for one connection.
//
// The busy timeout bounds only one of SQLite's ways to wait. Where it finds no place among the log's readers (somebody else
// holds locks on bytes 123 to 127 of the -shm file, or the system refuses any), it tries a hundred times, with pauses of ten
// seconds in all, before it answers SQLITE_PROTOCOL: walTryBeginRead in https://sqlite.org/src/file/src/wal.c. It pauses by
// the file system interface that the connection was opened with, so each has one of its own.

/// A file system interface that does what another one does, and sleeps no longer than it may.
typedef struct {
    sqlite3_vfs vfs;  // first: SQLite hands it back
    sqlite3_vfs *real;
    /// Microseconds that may be slept, and what is left of them.
    sqlite3_int64 whole, left;
    /// Whether `real` is SQLite's own, which says that it slept as long as it was asked to, however late it was woken.
    int is_own;
    char name[32];
} cs_patience;

static inline int cs_patience_open(
    sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out
) {
    sqlite3_vfs *real = ((cs_patience *)vfs)->real;
    return real->xOpen(real, name, file, flags, out);
}

static inline sqlite3_int64 cs_patience_now(void) {
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * (sqlite3_int64)1000000 + now.tv_nsec / 1000;
}

static inline int cs_patience_sleep(sqlite3_vfs *vfs, int microseconds) {
    cs_patience *patience = (cs_patience *)vfs;
    int pause = microseconds < patience->left ? microseconds : (int)patience->left;
    if (pause > 0) {
        sqlite3_int64 begun = cs_patience_now();
        sqlite3_int64 took = patience->real->xSleep(patience->real, pause);
        if (patience->is_own) took = cs_patience_now() - begun;
        patience->left -= took > pause ? took : pause;
    }
    return microseconds;  // who asks counts how often it asked, not how long that took
}

/// Registers one over the interface of that name (NULL: SQLite's own); NULL where there is none, or no memory.
static inline cs_patience *cs_patience_begin(const char *name) {
    sqlite3_vfs *real = sqlite3_vfs_find(name);
    cs_patience *patience = real ? (cs_patience *)sqlite3_malloc(sizeof *patience) : 0;
    if (!patience) return 0;
    // What is not replaced looks at nothing of its interface but the copied members.
    patience->vfs = *real;
    patience->vfs.pNext = 0;
    patience->vfs.zName = patience->name;
    patience->vfs.xOpen = cs_patience_open;
    patience->vfs.xSleep = cs_patience_sleep;
    patience->real = real;
    patience->is_own = real == sqlite3_vfs_find(0);
    patience->whole = patience->left = 0;
    sqlite3_snprintf((int)sizeof patience->name, patience->name, "countersign-%p", (void *)patience);
    if (sqlite3_vfs_register(&patience->vfs, 0) == SQLITE_OK) return patience;
    sqlite3_free(patience);
    return 0;
}

/// Ends one, after the connection that was opened with it.
static inline void cs_patience_end(cs_patience *patience) {
    sqlite3_vfs_unregister(&patience->vfs);
    sqlite3_free(patience);
}
#endif
