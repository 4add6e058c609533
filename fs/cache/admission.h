/* What was asked for lately. A chunk that one small read asked for, once, does not go through the
 * cache: writing 64 KiB of new memory takes as long as decoding them. Asked for again, it does. */
#ifndef BALE_FS_CACHE_ADMISSION_H
#define BALE_FS_CACHE_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

struct bale_seen;

/* Remembers about as many chunks as memory bytes hold, twice; may forget earlier. */
int bale_seen_create(uint64_t memory, struct bale_seen **seen);
void bale_seen_destroy(struct bale_seen *seen); /* NULL is fine */

/* Whether the chunk with that byte of the file was asked for before; from now on it was. From any
 * thread. */
bool bale_seen_before(struct bale_seen *seen, const void *file, uint64_t offset);

#endif
