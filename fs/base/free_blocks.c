#include "fs/base/free_blocks.h"

bool bale_free_blocks_put(struct bale_free_blocks *cache, uint64_t position, uint64_t length)
{
    uint64_t pages = length / BALE_FREE_BLOCKS_PAGE;

    if (pages - 1 >= BALE_FREE_BLOCKS_PAGES || cache->count[pages - 1] == BALE_FREE_BLOCKS_EACH ||
        cache->bytes + length > cache->limit || position / BALE_FREE_BLOCKS_PAGE > UINT32_MAX)
        return false;
    cache->pages[pages - 1][cache->count[pages - 1]++] =
        (uint32_t)(position / BALE_FREE_BLOCKS_PAGE);
    cache->bytes += length;
    return true;
}

bool bale_free_blocks_take(struct bale_free_blocks *cache, uint64_t length, uint64_t *position)
{
    uint64_t pages = length / BALE_FREE_BLOCKS_PAGE;

    if (pages - 1 >= BALE_FREE_BLOCKS_PAGES || cache->count[pages - 1] == 0)
        return false;
    *position = cache->pages[pages - 1][--cache->count[pages - 1]] * BALE_FREE_BLOCKS_PAGE;
    cache->bytes -= length;
    return true;
}

void bale_free_blocks_drain(struct bale_free_blocks *cache,
                            void (*each)(void *arg, uint64_t position, uint64_t length), void *arg)
{
    for (uint64_t pages = 1; pages <= BALE_FREE_BLOCKS_PAGES; pages++) {
        uint64_t position;
        while (bale_free_blocks_take(cache, pages * BALE_FREE_BLOCKS_PAGE, &position))
            each(arg, position, pages * BALE_FREE_BLOCKS_PAGE);
    }
}
