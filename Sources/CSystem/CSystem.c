#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "CSystem.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>

#if defined(__linux__)
#include <sys/prctl.h>
#endif

#if defined(__linux__)
int cs_accept(int listener, struct sockaddr *address, socklen_t *length) {
    return accept4(listener, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}
#endif

void cs_name_thread(const char *name) {
    char kept[16];
    strncpy(kept, name, sizeof kept - 1);
    kept[sizeof kept - 1] = 0;
#if defined(__APPLE__)
    pthread_setname_np(kept);
#else
    pthread_setname_np(pthread_self(), kept);
#endif
}

void cs_trim_memory(void) {
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}

extern char **environ;

const char *const *cs_environment(void) { return (const char *const *)environ; }

int cs_forbid_core_dumps(void) {
    const struct rlimit none = {0, 0};
    int failed = setrlimit(RLIMIT_CORE, &none);
#if defined(__linux__)
    if (prctl(PR_SET_DUMPABLE, 0) != 0) failed = -1;
#endif
    return failed;
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CS_THREAD_SANITIZER 1
#endif
#endif

#if CS_THREAD_SANITIZER
void __tsan_acquire(void *address);
void __tsan_release(void *address);
void cs_lock_acquired(const void *lock) { __tsan_acquire((void *)lock); }
void cs_lock_releasing(const void *lock) { __tsan_release((void *)lock); }
#else
void cs_lock_acquired(const void *lock) { (void)lock; }
void cs_lock_releasing(const void *lock) { (void)lock; }
#endif
