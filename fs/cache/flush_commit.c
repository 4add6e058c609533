/* The beginning and the end of a flush: what it has written becomes the file's newest commit. */
#include <stdlib.h>
#include <sys/stat.h>

#include "format/err.h"
#include "fs/base/timespec.h"
#include "fs/cache/flush_plan.h"
#include "fs/cache/reserve.h"

struct bale_flush *bale_flush_create(struct bale_change *change, bale_flush_then *then)
{
    struct bale_flush *flush = calloc(1, sizeof *flush);

    if (!flush)
        return NULL;
    flush->change = change;
    flush->then = then;
    flush->ready_end = &flush->ready;
    flush->takes_end = &flush->takes;
    pthread_mutex_init(&flush->ready_lock, NULL);
    return flush;
}

void bale_flush_free(struct bale_flush *flush)
{
    pthread_mutex_destroy(&flush->ready_lock);
    free(flush);
}

/* Under file->lock. */
static void release_takes(struct bale_flush *flush, bool stored)
{
    while (flush->takes) {
        struct bale_take *take = flush->takes;
        flush->takes = take->next;
        bale_take_release(flush->change->file, take, stored);
    }
}

static bool sets_mtime(const struct bale_change *change)
{
    return change->kind == BALE_CHANGE_TIMES && change->mtime.tv_nsec != UTIME_OMIT;
}

static int put_pieces(struct bale_file *file, const struct bale_take *take)
{
    int err = BALE_OK;

    for (size_t i = 0; i < take->piece_count && err == BALE_OK; i++) {
        const struct bale_piece *piece = &take->pieces[i];
        const struct bale_frame *frame = &piece->item.item.frame;
        struct bale_segment segment =
            bale_segment_of_frame(frame, piece->position, (uint32_t)piece->item.item.stored_length);
        err = bale_container_put(file->container, &segment);
    }
    return err;
}

static int put_segments(struct bale_flush *flush)
{
    struct bale_file *file = flush->change->file;
    struct bale_container_attr attr;

    bale_container_attr(file->container, &attr);
    attr.size = flush->size;
    attr.mtime =
        bale_nanoseconds_of(sets_mtime(flush->change) ? flush->change->mtime : flush->mtime);
    attr.rounds = (uint8_t)flush->rounds;
    attr.greatest_step = flush->greatest_step;
    int err = bale_container_set_attr(file->container, &attr);
    for (const struct bale_take *take = flush->takes; take && err == BALE_OK; take = take->next)
        err = put_pieces(file, take);
    return err;
}

static bool is_lack(int err)
{
    return err == BALE_E_NOSPACE || err == BALE_E_DQUOT;
}

/* Commits what the flush has written. On lack of space gives free space of the container back and
 * tries once more: the frames are stored and in the index, so flushing again would need more. */
static int commit_written(struct bale_flush *flush)
{
    struct bale_file *file = flush->change->file;
    uint64_t generation;
    int err = put_segments(flush);

    if (err != BALE_OK) {
        bale_container_abandon(file->container);
        return err;
    }
    err = bale_reserve_commit(file);
    if (!is_lack(err))
        return err;
    (void)bale_container_trim(file->container);
    err = bale_container_begin(file->container, &generation);
    return err == BALE_OK ? bale_reserve_commit(file) : err;
}

bool bale_flush_commit(struct bale_flush *flush)
{
    struct bale_change *change = flush->change;
    struct bale_file *file = change->file;
    int err = atomic_load(&flush->error);
    bool spare = is_lack(err) && !change->sparing;

    if (err == BALE_OK)
        err = commit_written(flush);
    else
        bale_container_abandon(file->container);
    pthread_mutex_lock(&file->lock);
    release_takes(flush, err == BALE_OK);
    if (err == BALE_OK && file->size == flush->size && file->mtime.tv_sec == flush->mtime.tv_sec &&
        file->mtime.tv_nsec == flush->mtime.tv_nsec)
        file->attr_dirty = false;
    if (!spare)
        file->refused = is_lack(err) ? err : BALE_OK;
    bale_volume_add_dirty(file, 0);
    pthread_mutex_unlock(&file->lock);
    change->error = err;
    change->changed = err == BALE_OK && sets_mtime(change);
    bale_flush_free(flush);
    bale_volume_wake(file->volume);
    if (spare) {
        change->sparing = true;
        /* Other files may use the space that the attempt has taken, too. */
        (void)bale_container_trim(file->container);
    }
    return !spare;
}

void bale_flush_fail(struct bale_flush *flush, int err)
{
    int none = BALE_OK;

    atomic_compare_exchange_strong(&flush->error, &none, err);
}
