/* What the mounts of one user take together beyond their default caps. */
#ifndef BALE_FS_BASE_MEMORY_CLAIM_H
#define BALE_FS_BASE_MEMORY_CLAIM_H

#include <stdint.h>

/* Claims up to `want` bytes of `bound`, of which other processes of this user may have claimed some
 * already. Returns how many it got, a multiple of 64 MiB; 0 if nothing is known of the others. The
 * claim ends when *fd is closed, or with the process; -1: there is none. */
uint64_t bale_memory_claim(uint64_t want, uint64_t bound, int *fd);
/* The same with the file of claims at this path. */
uint64_t bale_memory_claim_at(const char *path, uint64_t want, uint64_t bound, int *fd);

#endif
