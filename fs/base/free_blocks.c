#include "fs/base/free_blocks.h"

bool bale_free_blocks_put(struct bale_free_blocks *kept, uint64_t position, uint64_t length)
{
    uint64_t pages = length / BALE_FREE_BLOCKS_PAGE;

    if (pages - 1 >= BALE_FREE_BLOCKS_PAGES || kept->count[pages - 1] == BALE_FREE_BLOCKS_EACH ||
        kept->bytes + length > kept->most || position / BALE_FREE_BLOCKS_PAGE > UINT32_MAX)
        return false;
    kept->pages[pages - 1][kept->count[pages - 1]++] = (uint32_t)(position / BALE_FREE_BLOCKS_PAGE);
    kept->bytes += length;
    return true;
}

bool bale_free_blocks_take(struct bale_free_blocks *kept, uint64_t length, uint64_t *position)
{
    uint64_t pages = length / BALE_FREE_BLOCKS_PAGE;

    if (pages - 1 >= BALE_FREE_BLOCKS_PAGES || kept->count[pages - 1] == 0)
        return false;
    *position = kept->pages[pages - 1][--kept->count[pages - 1]] * BALE_FREE_BLOCKS_PAGE;
    kept->bytes -= length;
    return true;
}

void bale_free_blocks_drain(struct bale_free_blocks *kept,
                            void (*each)(void *arg, uint64_t position, uint64_t length), void *arg)
{
    for (uint64_t pages = 1; pages <= BALE_FREE_BLOCKS_PAGES; pages++) {
        uint64_t position;
        while (bale_free_blocks_take(kept, pages * BALE_FREE_BLOCKS_PAGE, &position))
            each(arg, position, pages * BALE_FREE_BLOCKS_PAGE);
    }
}
