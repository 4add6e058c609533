/* Rounding what a file has already. */
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "fs/cache/change.h"
#include "fs/cache/evict.h"
#include "fs/cache/fill.h"
#include "fs/cache/rounds.h"
#include "kernels/base/container_of.h"
#include "kernels/round/piece.h"

/* Bytes of the file that one call rounds. */
#define ROUND_MOST ((uint64_t)4 << 20)

struct round_op {
    struct bale_job job;
    struct bale_file *file; /* counted */
    struct bale_round_stored *request;
    bale_file_done *done;
    void *arg;
};

/* Rounds bytes [from, to) of the extent in place, block by block; they are valid, and nobody else
 * writes them. Returns the blocks that changed. */
static uint64_t round_blocks(const struct bale_extent *extent, const struct bale_field *field,
                             uint64_t start, uint64_t to)
{
    const uint32_t block = extent->file->block;
    uint8_t piece[BALE_BLOCK_LEAST];
    uint64_t changed = 0;

    for (uint64_t at = 0, n; at < to; at += n) {
        uint8_t *data = extent->buffer->data + at;
        n = to - at < sizeof piece ? to - at : sizeof piece;
        bale_round_piece(field, start + at, piece, data, n);
        if (memcmp(piece, data, n) == 0)
            continue;
        memcpy(data, piece, n);
        changed |= (uint64_t)1 << (at / block);
    }
    return changed;
}

/* Rounds the extent that contains offset, up to the file's end. Under file->lock, which it drops.
 * BALE_E_STALE: the caller must try again. */
static int round_extent(struct bale_file *file, uint64_t offset, uint64_t *rounded,
                        struct bale_scratch *scratch)
{
    const uint64_t number = offset / file->extent, start = number * file->extent;
    const uint64_t left = file->size - start, to = left < file->extent ? left : file->extent;
    const uint64_t blocks = bale_blocks(file, 0, to);
    struct bale_extent *extent = bale_extent_find(&file->table, number);

    if (extent && extent->filling) {
        bale_fill_await(file, extent);
        return BALE_E_STALE;
    }
    extent = bale_extent_get(file, number, to);
    if (!extent || bale_extent_own(extent) != BALE_OK)
        return BALE_E_NOMEM;
    if (blocks & ~extent->valid) {
        int err = bale_extent_fill(extent, blocks & ~extent->valid, scratch);
        return err == BALE_OK ? BALE_E_STALE : err;
    }
    bale_rounds_look(file, start, extent->buffer->data, to);
    struct bale_field field = bale_rounds_field(file);
    bale_fill_begin(extent, blocks);
    pthread_mutex_unlock(&file->lock);
    uint64_t changed = round_blocks(extent, &field, start, to);
    pthread_mutex_lock(&file->lock);
    int err = bale_fill_end(extent, blocks, BALE_OK);
    if (err == BALE_OK && changed) {
        bale_extent_mark_dirty(extent, changed);
        file->mtime = file->ctime = bale_file_now_locked(file);
        file->attr_dirty = true;
        *rounded += 1;
    }
    return err;
}

/* Moves *offset over a hole, which there is nothing to round in; no lock held. */
static void skip_hole(struct bale_file *file, uint64_t *offset, uint64_t size)
{
    int64_t data = bale_file_seek(file, *offset, true);

    if (data == BALE_E_NOENT)
        *offset = size;
    else if (data > (int64_t)*offset)
        *offset = (uint64_t)data;
}

static int round_some(struct bale_file *file, struct bale_round_stored *request,
                      struct bale_scratch *scratch)
{
    const uint64_t begin = request->offset, stop = begin + ROUND_MOST;
    int err;

    pthread_mutex_lock(&file->lock);
    err = bale_rounds_load(file, scratch);
    if (err == BALE_OK)
        err = bale_rounds_decide(file);
    request->exact = bale_rounds_field(file).type == BALE_FIELD_NONE;
    while (err == BALE_OK && !request->exact && request->offset < file->size &&
           request->offset < stop && !file->refused) {
        uint64_t size = file->size;
        pthread_mutex_unlock(&file->lock);
        skip_hole(file, &request->offset, size);
        pthread_mutex_lock(&file->lock);
        if (request->offset >= file->size)
            break;
        err = round_extent(file, request->offset, &request->rounded, scratch);
        if (err == BALE_OK)
            request->offset = (request->offset / file->extent + 1) * file->extent;
        if (err == BALE_E_STALE)
            err = BALE_OK;
    }
    if (err == BALE_OK && file->refused)
        err = file->refused;
    if (err == BALE_E_NOMEM && request->offset > begin)
        err = BALE_OK; /* memory is free again once what is dirty was stored */
    request->over = request->exact || request->offset >= file->size;
    pthread_mutex_unlock(&file->lock);
    return err;
}

static void round_job(struct bale_job *job, struct bale_scratch *scratch)
{
    struct round_op *op = BALE_CONTAINER_OF(job, struct round_op, job);
    struct bale_file *file = op->file;
    int err = scratch ? BALE_OK : BALE_E_NOMEM;

    atomic_fetch_add(&file->volume->changing, 1); /* as a write: a freeze waits for it */
    op->request->busy = atomic_load(&file->volume->frozen);
    if (err == BALE_OK && !op->request->busy)
        err = round_some(file, op->request, scratch);
    atomic_fetch_sub(&file->volume->changing, 1);
    op->done(op->arg, err);
    free(op);
    bale_file_unref(file);
}

void bale_file_round(struct bale_file *file, struct bale_round_stored *request,
                     bale_file_done *done, void *arg)
{
    struct round_op *op = malloc(sizeof *op);

    if (!op) {
        done(arg, BALE_E_NOMEM);
        return;
    }
    *op = (struct round_op){.job = {.run = round_job},
                            .file = bale_file_ref(file),
                            .request = request,
                            .done = done,
                            .arg = arg};
    bale_pool_submit(file->volume->readers, &op->job);
}
