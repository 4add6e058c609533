#include "fs/fuse/queued.h"

#include <linux/fuse.h>
#include <stdlib.h>
#include <string.h>

struct bale_queued *bale_queued_create(struct bale_memory *memory, const void *request, size_t size)
{
    struct bale_queued *queued = malloc(sizeof *queued + size);

    if (!queued)
        return NULL;
    *queued = (struct bale_queued){.size = size};
    memcpy(queued->request, request, size);
    bale_memory_count(memory, (int64_t)(sizeof *queued + size));
    return queued;
}

void bale_queued_destroy(struct bale_memory *memory, struct bale_queued *queued)
{
    bale_memory_count(memory, -(int64_t)(sizeof *queued + queued->size));
    free(queued);
}

void bale_queued_append(struct bale_queued_list *list, struct bale_queued *queued)
{
    queued->next = NULL;
    queued->before = list->last;
    *(list->last ? &list->last->next : &list->first) = queued;
    list->last = queued;
}

void bale_queued_take_off(struct bale_queued_list *list, struct bale_queued *queued)
{
    *(queued->before ? &queued->before->next : &list->first) = queued->next;
    *(queued->next ? &queued->next->before : &list->last) = queued->before;
}

static const struct fuse_in_header *header_of(const struct bale_queued *queued)
{
    return (const void *)queued->request;
}

/* The kernel's numbers are even. */
static size_t bucket_of(uint64_t unique)
{
    return (size_t)(unique / 2 % BALE_QUEUED_BUCKETS);
}

void bale_queued_enter(struct bale_queued_table *table, struct bale_queued *queued)
{
    struct bale_queued **at = &table->buckets[bucket_of(header_of(queued)->unique)];

    queued->same = *at;
    *at = queued;
}

void bale_queued_leave(struct bale_queued_table *table, struct bale_queued *queued)
{
    struct bale_queued **at = &table->buckets[bucket_of(header_of(queued)->unique)];

    while (*at != queued)
        at = &(*at)->same;
    *at = queued->same;
}

struct bale_queued *bale_queued_find(const struct bale_queued_table *table, uint64_t unique,
                                     uint32_t *pid)
{
    struct bale_queued *queued = table->buckets[bucket_of(unique)];

    while (queued && header_of(queued)->unique != unique)
        queued = queued->same;
    if (queued)
        *pid = header_of(queued)->pid;
    return queued;
}
