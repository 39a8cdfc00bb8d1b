/* A disk that fails when told to: preloaded into a program, for files below one folder.
 *
 * FAULTS_FOLDER names the folder, FAULTS_CONTROL a file that is mapped by both sides:
 *   0  syncs: 0 as they are, 1 fail with EIO, 2 succeed without doing anything
 *   4  how many more; 0xFFFFFFFF for good
 *   8  1: no file may grow, ENOSPC
 *  12  how often it interfered (written here)
 *  16  only files whose path ends like this; 40 bytes, empty for all
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
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
static char folder[4096];

__attribute__((constructor)) static void start(void) {
    const char *path = getenv("FAULTS_CONTROL"), *name = getenv("FAULTS_FOLDER");
    if (!path || !name || !realpath(name, folder)) return;
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return;
    void *map = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    syscall(SYS_close, file);
    if (map != MAP_FAILED) control = map;
}

static int is_meant(int file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t count = readlink(link, path, sizeof path - 1);
    if (count < 0) return 0;
    path[count] = 0;
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

static int sync_file(int file, long call) {
    int error = errno;
    if (control && control->sync && is_meant(file) && is_left()) {
        errno = error;
        if (control->sync == 2) return 0;
        syscall(call, file);
        errno = EIO;
        return -1;
    }
    errno = error;
    return (int)syscall(call, file);
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
    return syscall(SYS_pwrite64, file, bytes, count, offset);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
    return pwrite64(file, bytes, count, offset);
}

ssize_t write(int file, const void *bytes, size_t count) {
    if (control && control->full) {
        off_t position = lseek(file, 0, SEEK_CUR);
        if (position >= 0 && is_beyond(file, position + (off_t)count)) return -1;
    }
    return syscall(SYS_write, file, bytes, count);
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
