#ifndef COUNTERSIGN_CSYSTEM_H
#define COUNTERSIGN_CSYSTEM_H

// What Swift's C library module lacks: headers it does not import, and calls that need `_GNU_SOURCE`.

#include "CSystemFiles.h"

#include <stdint.h>
#include <sys/socket.h>

#if defined(__linux__)
#include <sys/epoll.h>
#include <sys/eventfd.h>

/// `accept4` with SOCK_NONBLOCK and SOCK_CLOEXEC: the new socket, or -1 with `errno` set.
int cs_accept(int listener, struct sockaddr *address, socklen_t *length);
#endif

/// Names the calling thread for `top -H` and debuggers; at most 15 bytes are kept.
void cs_name_thread(const char *name);

/// The process's environment, `NAME=value` each, ended by NULL; `environ` itself is a variable Swift may not read.
const char *const *cs_environment(void);

/// Keeps this process's memory out of core files and away from debuggers of its own user: no core file by limit, and
/// not dumpable, which also holds where cores go to a program. 0, or -1 with `errno` set.
int cs_forbid_core_dumps(void);

/// Returns memory that is free within the heap to the system, where the allocator does not do so by itself (glibc).
void cs_trim_memory(void);

/// Tells ThreadSanitizer that the lock at this address was taken, or is about to be released. It cannot see the slow
/// path of Swift's `Mutex`, which lives in a library built without it. Both do nothing in other builds.
void cs_lock_acquired(const void *lock);
void cs_lock_releasing(const void *lock);

#endif
