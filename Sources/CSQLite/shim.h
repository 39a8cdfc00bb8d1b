#ifndef COUNTERSIGN_CSQLITE_SHIM_H
#define COUNTERSIGN_CSQLITE_SHIM_H
#include <sqlite3.h>

#include "patience.h"

// What Swift cannot import: variadic functions and macros with casts.

/// Sets one on/off option of a connection (`SQLITE_DBCONFIG_…`); answers SQLite's code.
static inline int cs_sqlite3_set(sqlite3 *db, int option, int on) {
    return sqlite3_db_config(db, option, on, (int *)0);
}

/// Once for each process, before its first connection: one thread a connection, and no global count of memory,
/// whose mutex every allocation of every thread would take.
static inline void cs_sqlite3_configure(void) {
    sqlite3_config(SQLITE_CONFIG_MULTITHREAD);
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    sqlite3_initialize();
}

/// Binds bytes that SQLite copies before it returns; a null pointer with no bytes is an empty value, not NULL.
static inline int cs_sqlite3_bind_text(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_text64(statement, index, bytes ? bytes : "", count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static inline int cs_sqlite3_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_blob64(statement, index, bytes ? bytes : "", count, SQLITE_TRANSIENT);
}

/// How many bytes the write-ahead log has at least, by the index that all who have it open share; -1 where that is not known.
/// To be asked while nobody writes. The layout: https://sqlite.org/walformat.html#the_wal_index_file_format
static inline sqlite3_int64 cs_sqlite3_log_bytes(sqlite3 *db) {
    sqlite3_file *file = 0;
    void volatile *index = 0;
    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || !file || !file->pMethods
        || file->pMethods->iVersion < 2)
        return -1;
    // The mapping that this connection has already.
    if (file->pMethods->xShmMap(file, 0, 32768, 0, &index) != SQLITE_OK || !index) return -1;
    if (((const volatile unsigned char *)index)[12] != 1) return -1;
    sqlite3_int64 page = ((const volatile unsigned short *)index)[7];
    if (page == 1) page = 65536;
    sqlite3_int64 frames = ((const volatile unsigned int *)index)[4];
    return frames == 0 ? 0 : 32 + frames * (page + 24);
}

/// `errno` of the last system call that failed on the log, else on the database's file; 0 where none did or nobody knows.
/// `sqlite3_system_errno` stays 0 where a COMMIT failed.
static inline int cs_sqlite3_last_errno(sqlite3 *db) {
    sqlite3_file *log = 0;
    int number = 0;
    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) == SQLITE_OK && log && log->pMethods)
        log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &number);
    if (number == 0) sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &number);
    return number;
}
#endif
