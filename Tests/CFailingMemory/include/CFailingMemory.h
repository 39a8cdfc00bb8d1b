// Memory for OpenSSL that runs out when a test says so. For processes of one thread.
#ifndef COUNTERSIGN_CFAILINGMEMORY_H
#define COUNTERSIGN_CFAILINGMEMORY_H

#include <stdint.h>

/// Has OpenSSL allocate here; 0 where it has allocated already.
int failing_memory_install(void);

/// From now on the allocation with this number, counted from 1, fails; with `lasting` all after it do, too. 0: none.
void failing_memory_fail(int64_t number, int lasting);

/// How many allocations were asked for since the last call of `failing_memory_fail`.
int64_t failing_memory_count(void);

#endif
