#include "tools/transfer/move.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/daemon/control.h"
#include "kernels/frame/registry.h"
#include "tools/transfer/transfer.h"

#define BATCH_FILES 512 /* each keeps its directory open */
#define BATCH_BYTES ((uint64_t)256 << 20)

int bale_move_begin(struct bale_transfer *transfer)
{
    struct bale_move *move = transfer->move;
    pthread_rwlockattr_t kind;

    if (!move)
        return BALE_OK;
    /* An opener whom a lease keeps waiting is seen by F_GETLEASE. */
    signal(SIGIO, SIG_IGN);
    /* Prefer writers: who needs space must not wait until there is nothing left to copy. */
    pthread_rwlockattr_init(&kind);
    pthread_rwlockattr_setkind_np(&kind, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&move->busy, &kind);
    pthread_rwlockattr_destroy(&kind);
    pthread_mutex_init(&move->lock, NULL);
    return bale_scratch_create(&move->scratch);
}

/* ---- Durability ------------------------------------------------------------------------------ */

/* Syncs the directories of an origin's copies up to the top, unless that was done for this batch.
 * 0 or an errno. */
static int sync_directories(struct bale_transfer *transfer, const struct bale_origin *origin,
                            unsigned batch)
{
    for (const struct bale_origin_name *one = origin->names; one; one = one->next)
        for (struct bale_tree_dir *dir = one->dir; dir && atomic_load(&dir->synced) != batch;
             dir = dir->parent) {
            int e = bale_transfer_sync_directory(transfer, dir);
            if (e)
                return e;
            atomic_store(&dir->synced, batch);
        }
    return 0;
}

/* Files were synced one by one already, if a sync of the whole file system is not believed. 0 or an
 * errno. */
static int make_durable(struct bale_transfer *transfer, const struct bale_origin *batch)
{
    const struct bale_move *move = transfer->move;
    unsigned number = atomic_fetch_add(&transfer->move->batches, 1) + 1;
    int e = 0;

    if (move->control >= 0) {
        /* the kernel writes back mappings and its cache, then the daemon stores everything */
        if (syncfs(move->control) != 0 || ioctl(move->control, BALE_IOC_SYNC) != 0)
            e = errno;
    } else if (!transfer->sync_each) {
        e = syncfs(transfer->to) != 0 ? errno : 0;
    }
    for (; transfer->sync_each && batch && e == 0; batch = batch->next)
        e = sync_directories(transfer, batch, number);
    return e;
}

/* ---- Batches --------------------------------------------------------------------------------- */

static struct bale_origin *take_batch(struct bale_move *move, bool always)
{
    struct bale_origin *batch = NULL;

    pthread_mutex_lock(&move->lock);
    if (always || move->count >= BATCH_FILES || move->bytes >= BATCH_BYTES) {
        batch = move->batch;
        move->batch = NULL;
        move->count = 0;
        move->bytes = 0;
    }
    pthread_mutex_unlock(&move->lock);
    return batch;
}

/* Removes the origins and frees them. */
static void remove_batch(struct bale_transfer *transfer, struct bale_origin *batch,
                         struct bale_scratch *scratch)
{
    int e = batch && !atomic_load(&bale_transfer_stop) ? make_durable(transfer, batch) : 0;
    char text[512];

    if (e) {
        snprintf(text, sizeof text,
                 "what was copied to %s cannot be synced: %s: nothing more is removed",
                 transfer->to_top, strerror(e));
        bale_transfer_fail_path(transfer, "", text);
        atomic_store(&bale_transfer_stop, true);
    }
    while (batch) {
        struct bale_origin *origin = batch;

        batch = origin->next;
        if (!atomic_load(&bale_transfer_stop))
            bale_origin_remove(transfer, origin, scratch);
        bale_origin_free(origin);
    }
}

void bale_move_add(struct bale_transfer *transfer, struct bale_origin *origin)
{
    struct bale_move *move = transfer->move;

    pthread_mutex_lock(&move->lock);
    origin->next = move->batch;
    move->batch = origin;
    move->count++;
    if (S_ISREG(origin->st.st_mode))
        move->bytes += (uint64_t)origin->st.st_size;
    pthread_mutex_unlock(&move->lock);
}

void bale_move_add_name(struct bale_transfer *transfer, struct bale_tree_dir *dir, const char *name,
                        const struct stat *st)
{
    struct bale_origin *origin = transfer->move ? bale_origin_create(st) : NULL;

    if (origin && bale_origin_add(origin, dir, name)) {
        bale_move_add(transfer, origin);
        return;
    }
    bale_origin_free(origin);
    if (transfer->move)
        bale_transfer_fail(transfer, dir, name, "was copied and stays: out of memory");
}

void bale_move_step(struct bale_transfer *transfer, struct bale_scratch *scratch)
{
    if (!transfer->move)
        return;
    bale_move_enter(transfer); /* who is alone takes the batch itself */
    remove_batch(transfer, take_batch(transfer->move, false), scratch);
    bale_move_leave(transfer);
}

void bale_move_enter(struct bale_transfer *transfer)
{
    if (transfer->move)
        pthread_rwlock_rdlock(&transfer->move->busy);
}

void bale_move_enter_alone(struct bale_transfer *transfer, struct bale_scratch *scratch)
{
    struct bale_origin *batch;

    pthread_rwlock_wrlock(&transfer->move->busy);
    while ((batch = take_batch(transfer->move, true)))
        remove_batch(transfer, batch, scratch);
}

void bale_move_leave(struct bale_transfer *transfer)
{
    if (transfer->move)
        pthread_rwlock_unlock(&transfer->move->busy);
}

void bale_move_report(const struct bale_transfer *transfer, const char *from)
{
    if (transfer->move)
        printf(", %llu removed from %s", (unsigned long long)atomic_load(&transfer->move->removed),
               from);
}

void bale_move_end(struct bale_transfer *transfer)
{
    struct bale_move *move = transfer->move;
    struct bale_origin *batch;

    if (!move)
        return;
    while ((batch = take_batch(move, true))) /* the last file of a directory adds the directory */
        remove_batch(transfer, batch, move->scratch);
    bale_scratch_destroy(move->scratch);
    pthread_rwlock_destroy(&move->busy);
    pthread_mutex_destroy(&move->lock);
}
