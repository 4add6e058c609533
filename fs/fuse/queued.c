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

struct bale_queued **bale_queued_find(struct bale_queued **first, uint64_t unique, uint32_t *pid)
{
    for (; *first; first = &(*first)->next) {
        const struct fuse_in_header *in = (const void *)(*first)->request;
        if (in->unique == unique) {
            *pid = in->pid;
            return first;
        }
    }
    return NULL;
}
