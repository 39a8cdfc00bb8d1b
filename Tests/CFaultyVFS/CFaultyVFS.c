#include "CFaultyVFS.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    sqlite3_vfs vfs;
    sqlite3_vfs *real;
    atomic_int failing_syncs;
    atomic_int failing_writes;
    atomic_int write_error;
    atomic_int locked;
    atomic_llong slept;
    atomic_int late;
    atomic_int syncs;
    atomic_llong limit;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int is_holding, held;
} faulty_vfs;

typedef struct {
    sqlite3_file base;
    faulty_vfs *owner;
    int is_log;
    // The real file follows.
} faulty_file;

static sqlite3_file *real_file(sqlite3_file *file) { return (sqlite3_file *)((faulty_file *)file + 1); }

static int takes(atomic_int *count) {
    int left = atomic_load(count);
    while (left > 0) {
        if (atomic_compare_exchange_weak(count, &left, left - 1)) return 1;
    }
    return 0;
}

static int f_close(sqlite3_file *f) { return real_file(f)->pMethods->xClose(real_file(f)); }
static int f_read(sqlite3_file *f, void *b, int n, sqlite3_int64 o) {
    return real_file(f)->pMethods->xRead(real_file(f), b, n, o);
}
static int f_write(sqlite3_file *f, const void *b, int n, sqlite3_int64 o) {
    faulty_file *file = (faulty_file *)f;
    if (file->is_log && takes(&file->owner->failing_writes)) {
        return atomic_load(&file->owner->write_error) ? SQLITE_IOERR_WRITE : SQLITE_FULL;
    }
    sqlite3_int64 limit = atomic_load(&file->owner->limit);
    if (file->is_log && limit > 0 && o + n > limit) return SQLITE_FULL;
    return real_file(f)->pMethods->xWrite(real_file(f), b, n, o);
}
static int f_truncate(sqlite3_file *f, sqlite3_int64 n) { return real_file(f)->pMethods->xTruncate(real_file(f), n); }
static void wait_while_held(faulty_vfs *vfs) {
    pthread_mutex_lock(&vfs->mutex);
    vfs->held++;
    pthread_cond_broadcast(&vfs->changed);
    while (vfs->is_holding) pthread_cond_wait(&vfs->changed, &vfs->mutex);
    vfs->held--;
    pthread_mutex_unlock(&vfs->mutex);
}
static int f_sync(sqlite3_file *f, int flags) {
    faulty_file *file = (faulty_file *)f;
    if (file->is_log) wait_while_held(file->owner);
    int code = real_file(f)->pMethods->xSync(real_file(f), flags);
    if (file->is_log) {
        atomic_fetch_add(&file->owner->syncs, 1);
        if (takes(&file->owner->failing_syncs)) return SQLITE_IOERR_FSYNC;
    }
    return code;
}
static int f_size(sqlite3_file *f, sqlite3_int64 *n) { return real_file(f)->pMethods->xFileSize(real_file(f), n); }
static int f_lock(sqlite3_file *f, int l) { return real_file(f)->pMethods->xLock(real_file(f), l); }
static int f_unlock(sqlite3_file *f, int l) { return real_file(f)->pMethods->xUnlock(real_file(f), l); }
static int f_reserved(sqlite3_file *f, int *r) { return real_file(f)->pMethods->xCheckReservedLock(real_file(f), r); }
static int f_control(sqlite3_file *f, int op, void *a) {
    int error = atomic_load(&((faulty_file *)f)->owner->write_error);
    if (op == SQLITE_FCNTL_LAST_ERRNO && error) {
        *(int *)a = error;
        return SQLITE_OK;
    }
    return real_file(f)->pMethods->xFileControl(real_file(f), op, a);
}
static int f_sector(sqlite3_file *f) { return real_file(f)->pMethods->xSectorSize(real_file(f)); }
static int f_device(sqlite3_file *f) { return real_file(f)->pMethods->xDeviceCharacteristics(real_file(f)); }
static int f_shm_map(sqlite3_file *f, int p, int n, int e, void volatile **m) {
    return real_file(f)->pMethods->xShmMap(real_file(f), p, n, e, m);
}
static int f_shm_lock(sqlite3_file *f, int o, int n, int l) {
    int wanted = ((1 << n) - 1) << o;
    if (l & SQLITE_SHM_LOCK && atomic_load(&((faulty_file *)f)->owner->locked) & wanted) return SQLITE_BUSY;
    return real_file(f)->pMethods->xShmLock(real_file(f), o, n, l);
}
static void f_shm_barrier(sqlite3_file *f) { real_file(f)->pMethods->xShmBarrier(real_file(f)); }
static int f_shm_unmap(sqlite3_file *f, int d) { return real_file(f)->pMethods->xShmUnmap(real_file(f), d); }

static const sqlite3_io_methods methods = {
    2, f_close, f_read, f_write, f_truncate, f_sync, f_size, f_lock, f_unlock, f_reserved, f_control, f_sector,
    f_device, f_shm_map, f_shm_lock, f_shm_barrier, f_shm_unmap, NULL, NULL,
};

static int v_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *out) {
    faulty_vfs *vfs = (faulty_vfs *)v;
    faulty_file *file = (faulty_file *)f;
    file->base.pMethods = NULL;
    file->owner = vfs;
    file->is_log = (flags & SQLITE_OPEN_WAL) != 0;
    int code = vfs->real->xOpen(vfs->real, name, real_file(f), flags, out);
    if (real_file(f)->pMethods) file->base.pMethods = &methods;
    return code;
}

static int v_sleep(sqlite3_vfs *v, int microseconds) {
    atomic_fetch_add(&((faulty_vfs *)v)->slept, microseconds);
    return microseconds + atomic_load(&((faulty_vfs *)v)->late);
}

void faulty_vfs_register(const char *name) {
    sqlite3_vfs *real = sqlite3_vfs_find(NULL);
    faulty_vfs *vfs = calloc(1, sizeof *vfs);
    if (!vfs || !real) abort();
    vfs->vfs = *real;  // the rest of its functions take any vfs
    vfs->vfs.pNext = NULL;
    vfs->vfs.szOsFile = (int)sizeof(faulty_file) + real->szOsFile;
    vfs->vfs.zName = strdup(name);
    vfs->vfs.xOpen = v_open;
    vfs->vfs.xSleep = v_sleep;
    vfs->real = real;
    pthread_mutex_init(&vfs->mutex, NULL);
    pthread_cond_init(&vfs->changed, NULL);
    if (sqlite3_vfs_register(&vfs->vfs, 0) != SQLITE_OK) abort();
}

static faulty_vfs *find(const char *name) {
    faulty_vfs *vfs = (faulty_vfs *)sqlite3_vfs_find(name);
    if (!vfs) abort();
    return vfs;
}

void faulty_vfs_fail_syncs(const char *name, int count) { atomic_store(&find(name)->failing_syncs, count); }
void faulty_vfs_fill(const char *name, int count) { faulty_vfs_break(name, 0, count); }
void faulty_vfs_break(const char *name, int error, int count) {
    atomic_store(&find(name)->write_error, error);
    atomic_store(&find(name)->failing_writes, count);
}
void faulty_vfs_lock(const char *name, int first, int last) {
    int slots = 0;
    for (int slot = first; slot <= last; slot++) slots |= 1 << (slot - 120);
    atomic_store(&find(name)->locked, slots);
}
void faulty_vfs_unlock(const char *name) { atomic_store(&find(name)->locked, 0); }
void faulty_vfs_sleep_late(const char *name, int microseconds) { atomic_store(&find(name)->late, microseconds); }

long long faulty_vfs_slept(const char *name) { return atomic_exchange(&find(name)->slept, 0); }
void faulty_vfs_limit(const char *name, long long bytes) { atomic_store(&find(name)->limit, bytes); }
int faulty_vfs_left(const char *name) {
    return atomic_load(&find(name)->failing_syncs) + atomic_load(&find(name)->failing_writes);
}
void faulty_vfs_hold_syncs(const char *name, int is_holding) {
    faulty_vfs *vfs = find(name);
    pthread_mutex_lock(&vfs->mutex);
    vfs->is_holding = is_holding;
    pthread_cond_broadcast(&vfs->changed);
    pthread_mutex_unlock(&vfs->mutex);
}
void faulty_vfs_await_sync(const char *name) {
    faulty_vfs *vfs = find(name);
    pthread_mutex_lock(&vfs->mutex);
    while (!vfs->held) pthread_cond_wait(&vfs->changed, &vfs->mutex);
    pthread_mutex_unlock(&vfs->mutex);
}
int faulty_vfs_syncs(const char *name) { return atomic_load(&find(name)->syncs); }
