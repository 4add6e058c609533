#include "fs/base/free_blocks.h"

bool bale_kept_put(struct bale_kept *kept, uint64_t position, uint64_t length)
{
    uint64_t pages = length / BALE_KEPT_PAGE;

    if (pages - 1 >= BALE_KEPT_PAGES || kept->count[pages - 1] == BALE_KEPT_EACH ||
        kept->bytes + length > kept->most || position / BALE_KEPT_PAGE > UINT32_MAX)
        return false;
    kept->pages[pages - 1][kept->count[pages - 1]++] = (uint32_t)(position / BALE_KEPT_PAGE);
    kept->bytes += length;
    return true;
}

bool bale_kept_take(struct bale_kept *kept, uint64_t length, uint64_t *position)
{
    uint64_t pages = length / BALE_KEPT_PAGE;

    if (pages - 1 >= BALE_KEPT_PAGES || kept->count[pages - 1] == 0)
        return false;
    *position = kept->pages[pages - 1][--kept->count[pages - 1]] * BALE_KEPT_PAGE;
    kept->bytes -= length;
    return true;
}

void bale_kept_empty(struct bale_kept *kept,
                     void (*each)(void *arg, uint64_t position, uint64_t length), void *arg)
{
    for (uint64_t pages = 1; pages <= BALE_KEPT_PAGES; pages++) {
        uint64_t position;
        while (bale_kept_take(kept, pages * BALE_KEPT_PAGE, &position))
            each(arg, position, pages * BALE_KEPT_PAGE);
    }
}
