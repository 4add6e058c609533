/* Finding segments. */
#include "format/err.h"
#include "fs/container/internal.h"

static int find_segment(struct bale_container *c, uint64_t offset, struct bale_segment *segment)
{
    int err;

    pthread_rwlock_rdlock(&c->index_lock);
    err = bale_index_find(&c->index, offset, false, segment);
    pthread_rwlock_unlock(&c->index_lock);
    if (err != BALE_E_NOT_LOADED)
        return err;
    pthread_rwlock_wrlock(&c->index_lock);
    err = bale_index_find(&c->index, offset, true, segment);
    pthread_rwlock_unlock(&c->index_lock);
    return err;
}

int bale_container_map(struct bale_container *c, uint64_t offset, struct bale_segment *segment)
{
    int err = find_segment(c, offset, segment);

    for (unsigned tries = 1; err != BALE_OK && err != BALE_E_NOENT && tries < BALE_MOVED_TRIES &&
                             bale_container_reconsider(c, err);
         tries++)
        err = find_segment(c, offset, segment);
    return err;
}

int bale_container_walk(struct bale_container *c,
                        int (*each)(void *arg, const struct bale_segment *segment), void *arg)
{
    struct bale_segment segment = {0};
    int result = 0;

    while (result == 0) {
        int err = bale_container_map(c, segment.offset + segment.length, &segment);

        if (err != BALE_OK)
            return err == BALE_E_NOENT ? BALE_OK : err;
        result = each(arg, &segment);
    }
    return result;
}
