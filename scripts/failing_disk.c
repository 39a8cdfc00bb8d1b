/* A disk that fails when told to: preloaded into a program, for files below one folder.
 *
 * FAULTS_FOLDER names the folder, FAULTS_CONTROL a file that is mapped by both sides:
 *   0  syncs: 0 as they are, 1 fail with EIO, 2 succeed without doing anything, 3 hang until this is another number
 *   4  how many more; 0xFFFFFFFF for good
 *   8  1: no file may grow, ENOSPC
 *  12  how often it interfered (written here)
 *  16  only files whose path ends like this; 40 bytes, empty for all
 *
 * Where FAULTS_SYNCED names another folder, it holds of each file, by its name, what a loss of power would leave at worst:
 * what was written since its last sync is not in it. Whoever sets it puts the files there first that are there already.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct control {
    volatile uint32_t sync, left, full, hits;
    volatile char ending[40];
};

static struct control *control;
static char folder[4096], synced[2048];

/* What was written to a file, by path, and not synced since. */
static struct dirty {
    char name[64];
    off_t start, end;
    struct dirty *next;
} *dirty;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void start(void) {
    const char *path = getenv("FAULTS_CONTROL"), *name = getenv("FAULTS_FOLDER");
    if (!path || !name || !realpath(name, folder)) return;
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return;
    void *map = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    syscall(SYS_close, file);
    if (map == MAP_FAILED) return;
    const char *other = getenv("FAULTS_SYNCED");
    if (other) snprintf(synced, sizeof synced, "%s", other);
    control = map;
}

static ssize_t path_of(int file, char path[4096]) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t count = readlink(link, path, 4095);
    path[count < 0 ? 0 : count] = 0;
    return count;
}

static int is_meant(int file) {
    char path[4096];
    ssize_t count = path_of(file, path);
    if (count < 0) return 0;
    size_t length = strlen(folder), ending = strlen((const char *)control->ending);
    if (strncmp(path, folder, length) != 0 || path[length] != '/') return 0;
    return (size_t)count >= ending && strcmp(path + count - ending, (const char *)control->ending) == 0;
}

static int is_left(void) {
    uint32_t left = control->left;
    if (left == 0) return 0;
    if (left != UINT32_MAX) __atomic_fetch_sub(&control->left, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&control->hits, 1, __ATOMIC_SEQ_CST);
    return 1;
}

/* The name of a database file or its log below the folder; NULL for all others. */
static const char *kept_name(int file, char path[4096]) {
    if (!control || !synced[0]) return NULL;
    ssize_t count = path_of(file, path);
    size_t length = strlen(folder);
    if (count < 8 || strncmp(path, folder, length) != 0 || path[length] != '/') return NULL;
    const char *name = strrchr(path, '/') + 1, *end = path + count;
    int is_database = strcmp(end - 3, ".db") == 0 || strcmp(end - 4, "-wal") == 0;
    return is_database && strlen(name) < sizeof ((struct dirty *)0)->name ? name : NULL;
}

static void note_written(int file, off_t start, off_t end) {
    char path[4096];
    int error = errno;
    const char *name = kept_name(file, path);
    struct dirty *one = name ? malloc(sizeof *one) : NULL;
    if (one) {
        snprintf(one->name, sizeof one->name, "%s", name);
        one->start = start;
        one->end = end;
        pthread_mutex_lock(&lock);
        one->next = dirty;
        dirty = one;
        pthread_mutex_unlock(&lock);
    }
    errno = error;
}

/* After a sync: what was written is now in the other folder, and its size is that of the file. */
static void note_synced(int file) {
    char path[4096], target[4096], buffer[65536];
    int error = errno;
    const char *name = kept_name(file, path);
    if (name) {
        snprintf(target, sizeof target, "%s/%.64s", synced, name);
        pthread_mutex_lock(&lock);
        /* Read through the file itself: to close another descriptor of it would end all locks on it. */
        int to = open(target, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        for (struct dirty **place = &dirty; *place;) {
            struct dirty *one = *place;
            if (strcmp(one->name, name) != 0) {
                place = &one->next;
                continue;
            }
            for (off_t at = one->start; at < one->end;) {
                size_t size = (size_t)(one->end - at) < sizeof buffer ? (size_t)(one->end - at) : sizeof buffer;
                ssize_t count = syscall(SYS_pread64, file, buffer, size, at);
                if (count <= 0 || syscall(SYS_pwrite64, to, buffer, count, at) != count) break;
                at += count;
            }
            *place = one->next;
            free(one);
        }
        struct stat facts;
        if (fstat(file, &facts) == 0 && ftruncate(to, facts.st_size) != 0) abort();
        if (to >= 0) syscall(SYS_close, to);
        pthread_mutex_unlock(&lock);
    }
    errno = error;
}

static int sync_file(int file, long call) {
    int error = errno;
    if (control && control->sync && is_meant(file) && is_left()) {
        uint32_t kind = control->sync;
        while (kind == 3 && control->sync == 3) usleep(1000);
        errno = error;
        if (kind == 2) return 0;
        if (kind == 1) {
            syscall(call, file);
            errno = EIO;
            return -1;
        }
    }
    errno = error;
    int result = (int)syscall(call, file);
    if (result == 0) note_synced(file);
    return result;
}

int fsync(int file) { return sync_file(file, SYS_fsync); }
int fdatasync(int file) { return sync_file(file, SYS_fdatasync); }

static int is_beyond(int file, off_t end) {
    struct stat facts;
    int error = errno, is = 0;
    if (control && control->full && fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && is_meant(file)) {
        is = end > facts.st_size;
        if (is) __atomic_fetch_add(&control->hits, 1, __ATOMIC_SEQ_CST);
    }
    errno = is ? ENOSPC : error;
    return is;
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off_t offset) {
    if (is_beyond(file, offset + (off_t)count)) return -1;
    ssize_t written = syscall(SYS_pwrite64, file, bytes, count, offset);
    if (written > 0) note_written(file, offset, offset + written);
    return written;
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
    return pwrite64(file, bytes, count, offset);
}

ssize_t write(int file, const void *bytes, size_t count) {
    if (control && control->full) {
        off_t position = lseek(file, 0, SEEK_CUR);
        if (position >= 0 && is_beyond(file, position + (off_t)count)) return -1;
    }
    ssize_t written = syscall(SYS_write, file, bytes, count);
    if (written > 0 && synced[0]) {
        off_t position = lseek(file, 0, SEEK_CUR);
        if (position >= written) note_written(file, position - written, position);
    }
    return written;
}

int fallocate64(int file, int mode, off_t offset, off_t count) {
    if (is_beyond(file, offset + count)) return -1;
    return (int)syscall(SYS_fallocate, file, mode, offset, count);
}

int fallocate(int file, int mode, off_t offset, off_t count) { return fallocate64(file, mode, offset, count); }

int posix_fallocate64(int file, off_t offset, off_t count) {
    return fallocate64(file, 0, offset, count) == 0 ? 0 : errno;
}

int posix_fallocate(int file, off_t offset, off_t count) { return posix_fallocate64(file, offset, count); }
