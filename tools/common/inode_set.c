#include "tools/common/inode_set.h"

#include <stdint.h>
#include <stdlib.h>

#include "format/err.h"

#define FIRST_CAPACITY 256

/* Returns the slot of the inode, or the empty slot where it belongs. The table is never full. */
static struct bale_inode *find(const struct bale_inode_set *set, dev_t dev, ino_t ino)
{
    uint64_t hash = ((uint64_t)ino ^ (uint64_t)dev << 40) * 0x9e3779b97f4a7c15u;
    size_t mask = set->capacity - 1, at = (size_t)(hash >> 20) & mask;

    while (set->slots[at].ino != 0 && (set->slots[at].ino != ino || set->slots[at].dev != dev))
        at = (at + 1) & mask;
    return &set->slots[at];
}

static int grow(struct bale_inode_set *set)
{
    struct bale_inode_set larger = {.count = set->count,
                                    .capacity = set->capacity ? 2 * set->capacity : FIRST_CAPACITY};

    larger.slots = calloc(larger.capacity, sizeof *larger.slots);
    if (!larger.slots)
        return BALE_E_NOMEM;
    for (size_t i = 0; i < set->capacity; i++)
        if (set->slots[i].ino != 0)
            *find(&larger, set->slots[i].dev, set->slots[i].ino) = set->slots[i];
    free(set->slots);
    *set = larger;
    return BALE_OK;
}

int bale_inode_set_add(struct bale_inode_set *set, dev_t dev, ino_t ino)
{
    if (2 * (set->count + 1) > set->capacity && grow(set) != BALE_OK)
        return BALE_E_NOMEM;
    struct bale_inode *slot = find(set, dev, ino);
    if (slot->ino != 0)
        return 0;
    *slot = (struct bale_inode){.dev = dev, .ino = ino};
    set->count++;
    return 1;
}

void bale_inode_set_clear(struct bale_inode_set *set)
{
    free(set->slots);
    *set = (struct bale_inode_set){0};
}
