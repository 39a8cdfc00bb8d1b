#define _GNU_SOURCE
#include "CSystemFiles.h"

#include <grp.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/vfs.h>
#else
#include <sys/mount.h>
#include <sys/param.h>
#endif

int cs_become(uid_t user, gid_t group) {
    // The user last: afterwards nothing else may be changed.
    if (setgroups(0, NULL) != 0) return -1;
#if defined(__linux__)
    if (setresgid(group, group, group) != 0) return -1;
    return setresuid(user, user, user);
#else
    if (setgid(group) != 0) return -1;
    return setuid(user);
#endif
}

int cs_file_system(const char *path, uint32_t *kind, int *is_remote) {
    struct statfs facts;
    if (statfs(path, &facts) != 0) return -1;
#if defined(__linux__)
    *kind = (uint32_t)facts.f_type;
    *is_remote = 0;
#else
    *kind = 0;
    *is_remote = (facts.f_flags & MNT_LOCAL) == 0;
#endif
    return 0;
}
