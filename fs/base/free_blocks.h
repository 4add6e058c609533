/* A cache of blocks of the arena that were freed just now, by size: allocating one of them again
 * needs no walk through the free map. Positions and lengths are whole pages. Not safe from several
 * threads: the owner locks. */
#ifndef BALE_FS_BASE_FREE_BLOCKS_H
#define BALE_FS_BASE_FREE_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#define BALE_FREE_BLOCKS_PAGE ((uint64_t)4096)
#define BALE_FREE_BLOCKS_PAGES 64u  /* size of the largest block in the cache */
#define BALE_FREE_BLOCKS_EACH 1024u /* most blocks of one size */

/* Zero-initialise it and set limit. */
struct bale_free_blocks {
    uint64_t limit; /* most bytes in the cache */
    uint64_t bytes;
    uint32_t count[BALE_FREE_BLOCKS_PAGES];
    /* Positions in pages, a stack for each size. */
    uint32_t pages[BALE_FREE_BLOCKS_PAGES][BALE_FREE_BLOCKS_EACH];
};

/* False: the cache does not take it; the caller puts it into the free map. */
bool bale_free_blocks_put(struct bale_free_blocks *cache, uint64_t position, uint64_t length);
/* False: the cache has no block of this length. */
bool bale_free_blocks_take(struct bale_free_blocks *cache, uint64_t length, uint64_t *position);
/* Empties the cache and calls each for every block that was in it. */
void bale_free_blocks_drain(struct bale_free_blocks *cache,
                            void (*each)(void *arg, uint64_t position, uint64_t length), void *arg);

#endif
