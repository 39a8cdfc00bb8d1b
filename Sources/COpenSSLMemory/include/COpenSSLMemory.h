// Where OpenSSL's memory comes from, so that memory which could not be had is known of.
//
// OpenSSL 3 answers many a lack of memory like bad input: of some 5,000 allocations while a certificate chain is
// verified, 600 make it say "certificate signature failure", "CA certificate key too weak" or "invalid certificate", with
// no word of memory in its error queue. Only who hands out the memory can tell.
#ifndef COUNTERSIGN_COPENSSLMEMORY_H
#define COUNTERSIGN_COPENSSLMEMORY_H

#include <stdint.h>

/// Has OpenSSL allocate by way of this target, on top of whatever functions were set before. To be called before OpenSSL is
/// used for the first time in the process, by whoever owns the process.
///
/// Gives 1, or 0 where OpenSSL has allocated already and does not change its mind.
int cs_watch_memory(void);

/// How many allocations of OpenSSL have failed on the calling thread since memory is watched; 0 where it is not.
uint64_t cs_failed_allocations(void);

#endif
