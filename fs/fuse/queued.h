/* Requests that wait for a thread, or for another request to end. */
#ifndef BALE_FS_FUSE_QUEUED_H
#define BALE_FS_FUSE_QUEUED_H

#include <stddef.h>
#include <stdint.h>

#include "fs/base/memory.h"

/* A copy of a request that waits. The list it is in owns it. */
struct bale_queued {
    struct bale_queued *next, *before; /* in the list */
    struct bale_queued *same;          /* in the table */
    size_t size;
    _Alignas(8) char request[];
};
/* NULL: no memory. memory counts it. */
struct bale_queued *bale_queued_create(struct bale_memory *memory, const void *request,
                                       size_t size);
void bale_queued_destroy(struct bale_memory *memory, struct bale_queued *queued);

/* The owner locks lists and tables. */

struct bale_queued_list {
    struct bale_queued *first, *last;
};
/* take_off: queued is in the list. */
void bale_queued_append(struct bale_queued_list *list, struct bale_queued *queued);
void bale_queued_take_off(struct bale_queued_list *list, struct bale_queued *queued);

/* Finds by their numbers the requests of any lists, of which there may be many thousand. */
#define BALE_QUEUED_BUCKETS 1024u
struct bale_queued_table {
    struct bale_queued *buckets[BALE_QUEUED_BUCKETS];
};
void bale_queued_enter(struct bale_queued_table *table, struct bale_queued *queued);
void bale_queued_leave(struct bale_queued_table *table, struct bale_queued *queued);
/* The request of that number, or NULL; its pid in *pid. */
struct bale_queued *bale_queued_find(const struct bale_queued_table *table, uint64_t unique,
                                     uint32_t *pid);

#endif
