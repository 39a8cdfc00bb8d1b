#ifndef COUNTERSIGN_CSYSTEM_FILES_H
#define COUNTERSIGN_CSYSTEM_FILES_H

#include <stdint.h>
#include <sys/types.h>

/// Turns this process, for good and on all its threads, into one of that user and group, without any other groups:
/// real, effective and saved ids. 0, or -1 with `errno` set.
int cs_become(uid_t user, gid_t group);

/// The kind of file system that holds `path`, as statfs(2) numbers them on Linux, 0 elsewhere; and whether the system
/// says that other machines share it (always 0 on Linux, where the number tells). 0, or -1 with `errno` set.
int cs_file_system(const char *path, uint32_t *kind, int *is_remote);

#endif
