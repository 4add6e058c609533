/* Memory that the mounts of one user share beyond their default caps. */
#ifndef BALE_FS_BASE_MEMORY_CLAIM_H
#define BALE_FS_BASE_MEMORY_CLAIM_H

#include <stdint.h>

/* Claims up to `want` bytes of `bound`, the memory that all processes of this user may claim
 * together. Returns the bytes claimed, a multiple of 64 MiB; 0 if the others have claimed
 * everything, or if their claims cannot be read. The claim ends when *fd is closed, or with the
 * process; *fd is -1 if nothing was claimed. */
uint64_t bale_memory_claim(uint64_t want, uint64_t bound, int *fd);
/* The same with the claims in the file at this path. */
uint64_t bale_memory_claim_at(const char *path, uint64_t want, uint64_t bound, int *fd);

#endif
