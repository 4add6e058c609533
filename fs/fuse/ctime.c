#include <stdlib.h>

#include "format/err.h"
#include "fs/fuse/mount.h"

/* A table without chains: a file whose place is taken later shows the backing inode's ctime,
 * which is never too early. */
#define PLACES 65536u

struct place {
    uint64_t ino;
    int64_t shown, backing; /* nanoseconds */
};

struct bale_ctimes {
    pthread_mutex_t lock;
    struct place places[PLACES];
};

static int64_t nanoseconds(const struct timespec *t)
{
    return t->tv_sec * 1000000000 + t->tv_nsec;
}

static struct place *place_of(struct bale_ctimes *ctimes, uint64_t ino)
{
    return &ctimes->places[(ino * 0x9e3779b97f4a7c15u >> 32) % PLACES];
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
    *place_of(ctimes, ino) = (struct place){ino, nanoseconds(shown), nanoseconds(backing)};
    pthread_mutex_unlock(&ctimes->lock);
}

void bale_ctimes_get(struct bale_ctimes *ctimes, uint64_t ino, struct timespec *ctime)
{
    pthread_mutex_lock(&ctimes->lock);
    const struct place *place = place_of(ctimes, ino);
    if (place->ino == ino && place->backing == nanoseconds(ctime)) {
        int64_t rest = place->shown % 1000000000;
        rest += rest < 0 ? 1000000000 : 0;
        *ctime = (struct timespec){(place->shown - rest) / 1000000000, rest};
    }
    pthread_mutex_unlock(&ctimes->lock);
}
