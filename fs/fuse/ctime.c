#include "fs/fuse/ctime.h"

#include <pthread.h>
#include <stdlib.h>

#include "format/err.h"
#include "fs/base/timespec.h"

/* A table without chains: when an entry is overwritten by another file's, the first file shows the
 * backing inode's ctime, which is never too early. */
#define ENTRIES 65536u

struct entry {
    uint64_t ino;
    int64_t shown, backing; /* nanoseconds */
};

struct bale_ctimes {
    pthread_mutex_t lock; /* guards entries */
    struct entry entries[ENTRIES];
};

static struct entry *entry_of(struct bale_ctimes *ctimes, uint64_t ino)
{
    return &ctimes->entries[(ino * 0x9e3779b97f4a7c15u >> 32) % ENTRIES];
}

int bale_ctimes_create(struct bale_memory *memory, struct bale_ctimes **out)
{
    struct bale_ctimes *ctimes = calloc(1, sizeof *ctimes);

    if (!ctimes)
        return BALE_E_NOMEM;
    pthread_mutex_init(&ctimes->lock, NULL);
    bale_memory_count(memory, (int64_t)sizeof *ctimes);
    *out = ctimes;
    return BALE_OK;
}

void bale_ctimes_destroy(struct bale_ctimes *ctimes)
{
    if (ctimes) {
        pthread_mutex_destroy(&ctimes->lock);
        free(ctimes);
    }
}

void bale_ctimes_put(struct bale_ctimes *ctimes, uint64_t ino, const struct timespec *shown,
                     const struct timespec *backing)
{
    pthread_mutex_lock(&ctimes->lock);
    *entry_of(ctimes, ino) =
        (struct entry){ino, bale_nanoseconds_of(*shown), bale_nanoseconds_of(*backing)};
    pthread_mutex_unlock(&ctimes->lock);
}

void bale_ctimes_get(struct bale_ctimes *ctimes, uint64_t ino, struct timespec *ctime)
{
    pthread_mutex_lock(&ctimes->lock);
    const struct entry *entry = entry_of(ctimes, ino);
    if (entry->ino == ino && entry->backing == bale_nanoseconds_of(*ctime))
        *ctime = bale_timespec_of(entry->shown);
    pthread_mutex_unlock(&ctimes->lock);
}
