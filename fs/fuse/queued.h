/* Requests that wait for a thread, or for another request to end. */
#ifndef BALE_FS_FUSE_QUEUED_H
#define BALE_FS_FUSE_QUEUED_H

#include <stddef.h>
#include <stdint.h>

#include "fs/base/memory.h"

/* A copy of a request that waits. The list it is in owns it. */
struct bale_queued {
    struct bale_queued *next;
    size_t size;
    _Alignas(8) char request[];
};
/* NULL: no memory. memory counts it. */
struct bale_queued *bale_queued_create(struct bale_memory *memory, const void *request,
                                       size_t size);
void bale_queued_destroy(struct bale_memory *memory, struct bale_queued *queued);
/* The request of that number in the list, or NULL; its pid in *pid. */
struct bale_queued **bale_queued_find(struct bale_queued **first, uint64_t unique, uint32_t *pid);

#endif
