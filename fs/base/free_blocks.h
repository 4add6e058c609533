/* Free blocks of the arena that were just given back, by their size: taking one of them again needs no walk
 * through the map of what is free. Positions and lengths are whole pages. Not safe from several threads: the
 * owner locks. */
#ifndef BALE_FS_BASE_FREE_BLOCKS_H
#define BALE_FS_BASE_FREE_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#define BALE_FREE_BLOCKS_PAGE ((uint64_t)4096)
#define BALE_FREE_BLOCKS_PAGES 64u /* of the largest block that is kept */
#define BALE_FREE_BLOCKS_EACH 1024u

/* All zero but most: nothing is kept. */
struct bale_free_blocks {
    uint64_t most; /* bytes */
    uint64_t bytes;
    uint32_t count[BALE_FREE_BLOCKS_PAGES];
    uint32_t pages[BALE_FREE_BLOCKS_PAGES]
                  [BALE_FREE_BLOCKS_EACH]; /* positions; the last in is the first out */
};

/* False: it is for the map. */
bool bale_free_blocks_put(struct bale_free_blocks *kept, uint64_t position, uint64_t length);
/* False: there is none of this length. */
bool bale_free_blocks_take(struct bale_free_blocks *kept, uint64_t length, uint64_t *position);
/* Hands on all that is kept. */
void bale_free_blocks_drain(struct bale_free_blocks *kept,
                            void (*each)(void *arg, uint64_t position, uint64_t length), void *arg);

#endif
