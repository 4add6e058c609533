#include "fs/cache/extent_table.h"

#include <stdlib.h>

#include "format/err.h"

static size_t bucket_of(const struct bale_extent_table *table, uint64_t number)
{
    return (size_t)((number * 0x9e3779b97f4a7c15u) >> 32) & (table->buckets - 1);
}

struct bale_extent *bale_extent_find(const struct bale_extent_table *table, uint64_t number)
{
    if (table->buckets == 0)
        return NULL;
    struct bale_extent *extent = table->slots[bucket_of(table, number)];
    while (extent && extent->number != number)
        extent = extent->hash_next;
    return extent;
}

struct bale_extent *bale_extent_next(const struct bale_extent_table *table,
                                     const struct bale_extent *extent)
{
    if (extent && extent->hash_next)
        return extent->hash_next;
    for (size_t i = extent ? bucket_of(table, extent->number) + 1 : 0; i < table->buckets; i++)
        if (table->slots[i])
            return table->slots[i];
    return NULL;
}

void bale_extent_insert(struct bale_extent_table *table, struct bale_extent *extent)
{
    struct bale_extent **slot = &table->slots[bucket_of(table, extent->number)];

    extent->hash_next = *slot;
    *slot = extent;
    table->count++;
}

int bale_extent_table_grow(struct bale_extent_table *table)
{
    if (table->count < table->buckets)
        return BALE_OK;
    size_t buckets = table->buckets ? table->buckets * 2 : 4;
    struct bale_extent_table grown = {calloc(buckets, sizeof(struct bale_extent *)), buckets, 0};
    if (!grown.slots)
        return BALE_E_NOMEM;
    for (struct bale_extent *extent = bale_extent_next(table, NULL), *next; extent; extent = next) {
        next = bale_extent_next(table, extent);
        bale_extent_insert(&grown, extent);
    }
    free(table->slots);
    *table = grown;
    return BALE_OK;
}

void bale_extent_remove(struct bale_extent_table *table, struct bale_extent *extent)
{
    struct bale_extent **slot = &table->slots[bucket_of(table, extent->number)];

    while (*slot != extent)
        slot = &(*slot)->hash_next;
    *slot = extent->hash_next;
    table->count--;
    extent->detached = true;
}
