/* Turns: the changes of a file's container, one after the other. */
#include <stdlib.h>

#include "format/err.h"
#include "fs/base/log.h"
#include "fs/cache/internal.h"

struct bale_turn *bale_turn_create(struct bale_file *file, enum bale_turn_kind kind,
                                   bale_file_done *done, void *arg)
{
    struct bale_turn *turn = calloc(1, sizeof *turn);
    struct bale_waiter *waiter = done ? malloc(sizeof *waiter) : NULL;

    if (!turn || (done && !waiter)) {
        free(turn);
        free(waiter);
        return NULL;
    }
    if (waiter)
        *waiter = (struct bale_waiter){done, arg, NULL};
    turn->file = bale_file_ref(file);
    turn->kind = kind;
    turn->waiters = waiter;
    return turn;
}

void bale_waiters_tell(struct bale_waiter *waiter, int err)
{
    while (waiter) {
        struct bale_waiter *next = waiter->next;
        waiter->done(waiter->arg, err);
        free(waiter);
        waiter = next;
    }
}

/* A flush that has not begun serves all who ask for one before it does. Under file->lock. */
static bool join(struct bale_file *file, struct bale_turn *turn)
{
    struct bale_turn *last = file->turns;

    while (last && last->next)
        last = last->next;
    bool flush = turn->kind == BALE_TURN_FLUSH || turn->kind == BALE_TURN_FLUSH_STREAM;
    if (!flush || !last || last->kind != BALE_TURN_FLUSH)
        return false;
    last->durable = last->durable || turn->durable;
    struct bale_waiter **end = &last->waiters;
    while (*end)
        end = &(*end)->next;
    *end = turn->waiters;
    return true;
}

void bale_turn_submit(struct bale_turn *turn)
{
    struct bale_file *file = turn->file;
    struct bale_pool *pool = file->volume->pool;
    bool joined = false, begins = false;

    turn->job.run = bale_turn_run;
    pthread_mutex_lock(&file->lock);
    bool small = file->dirty <= BALE_INLINE_BYTES;
    if (!file->turn) {
        file->turn = turn;
        begins = true;
    } else if ((joined = join(file, turn)) == false) {
        *file->turns_end = turn;
        file->turns_end = &turn->next;
    }
    pthread_mutex_unlock(&file->lock);
    if (begins && small) {
        bale_pool_run(pool, &turn->job);
    } else if (begins) {
        bale_pool_submit(pool, &turn->job);
    } else if (joined) {
        free(turn);
        bale_file_unref(file);
    }
}

void bale_turn_end(struct bale_turn *turn)
{
    struct bale_file *file = turn->file;
    int err = turn->error;

    pthread_mutex_lock(&file->lock);
    if (turn->kind == BALE_TURN_FLUSH && turn->waiters && err == BALE_OK) {
        err = file->error;
        file->error = BALE_OK;
    } else if (!turn->waiters && err != BALE_OK) {
        file->error = err;
    }
    struct bale_turn *next = file->turns;
    file->turn = next;
    if (next) {
        file->turns = next->next;
        if (!file->turns)
            file->turns_end = &file->turns;
        next->next = NULL;
    }
    if (turn->error != BALE_OK && turn->error != BALE_E_INVALID) {
        atomic_fetch_add(&file->volume->stats.errors, 1);
        bale_log(BALE_LOG_ERROR, "%s: writing its container failed: %s", file->label,
                 bale_err_text(turn->error));
    }
    pthread_mutex_unlock(&file->lock);
    if (next)
        bale_pool_submit(file->volume->pool, &next->job);
    bale_volume_wake(file->volume);
    bale_waiters_tell(turn->waiters, err);
    free(turn);
    bale_file_unref(file);
}
