/* Asking for a change of a file: each becomes a turn. */
#include <sys/stat.h>

#include "format/err.h"
#include "fs/cache/internal.h"

void bale_turn_offer(struct bale_turn *turn)
{
    struct bale_volume *volume = turn->file->volume;

    atomic_fetch_add(&volume->changing, 1);
    if (turn->kind == BALE_TURN_FLUSH || !bale_volume_hold_back(volume, turn))
        bale_turn_submit(turn);
    atomic_fetch_sub(&volume->changing, 1);
}

static void submit(struct bale_turn *turn, bale_file_done *done, void *arg)
{
    if (turn)
        bale_turn_offer(turn);
    else
        done(arg, BALE_E_NOMEM);
}

void bale_file_truncate(struct bale_file *file, uint64_t size, bale_file_done *done, void *arg)
{
    if (size > BALE_SIZE_MAX) {
        done(arg, BALE_E_TOOBIG);
        return;
    }
    struct bale_turn *turn = bale_turn_create(file, BALE_TURN_TRUNCATE, done, arg);
    if (turn)
        turn->offset = size;
    submit(turn, done, arg);
}

void bale_file_allocate(struct bale_file *file, enum bale_allocate how, uint64_t offset,
                        uint64_t length, bale_file_done *done, void *arg)
{
    if (length == 0 || offset > BALE_SIZE_MAX - length) {
        done(arg, length == 0 ? BALE_E_INVALID : BALE_E_TOOBIG);
        return;
    }
    struct bale_turn *turn = bale_turn_create(file, BALE_TURN_ALLOCATE, done, arg);
    if (turn) {
        turn->how = how;
        turn->offset = offset;
        turn->length = length;
    }
    submit(turn, done, arg);
}

void bale_file_set_times(struct bale_file *file, const struct timespec *atime,
                         const struct timespec *mtime, bale_file_done *done, void *arg)
{
    static const struct timespec omit = {0, UTIME_OMIT};
    struct bale_turn *turn = bale_turn_create(file, BALE_TURN_TIMES, done, arg);

    if (turn) {
        turn->atime = atime ? *atime : omit;
        turn->mtime = mtime ? *mtime : omit;
    }
    submit(turn, done, arg);
}

void bale_file_set_attr(struct bale_file *file, unsigned what,
                        const struct bale_container_attr *attr, bale_file_done *done, void *arg)
{
    struct bale_turn *turn = bale_turn_create(file, BALE_TURN_ATTR, done, arg);

    if (turn) {
        turn->what = what;
        turn->attr = *attr;
    }
    submit(turn, done, arg);
}

void bale_file_flush(struct bale_file *file, bool durable, bale_file_done *done, void *arg)
{
    pthread_mutex_lock(&file->lock);
    bool idle = !durable && !file->dirty && !file->attr_dirty && !file->turn;
    int err = idle ? file->error : BALE_OK;
    if (idle)
        file->error = BALE_OK;
    pthread_mutex_unlock(&file->lock);
    if (idle) {
        done(arg, err);
        return;
    }
    struct bale_turn *turn = bale_turn_create(file, BALE_TURN_FLUSH, done, arg);
    if (turn)
        turn->durable = durable;
    submit(turn, done, arg);
}
