/* The admission filter: which chunks were requested lately. A chunk that one small read requests
 * once does not go through the cache, as writing 64 KiB of new memory takes as long as decoding
 * them. If it is requested again, it does. */
#ifndef BALE_FS_CACHE_ADMISSION_H
#define BALE_FS_CACHE_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

struct bale_admission;

/* Remembers about as many chunks as memory bytes hold, twice; may forget earlier. */
int bale_admission_create(uint64_t memory, struct bale_admission **filter);
void bale_admission_destroy(struct bale_admission *filter); /* NULL is fine */

/* Whether the chunk with that byte of the file was requested before; records this request. Any
 * thread. */
bool bale_admission_admits(struct bale_admission *filter, const void *file, uint64_t offset);

#endif
