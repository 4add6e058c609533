/* Filling extents: reading what is committed into their buffers, and waiting for who does. */
#include <stdlib.h>

#include "format/err.h"
#include "fs/cache/internal.h"

int bale_extent_fill(struct bale_extent *extent, uint64_t blocks, struct bale_scratch *scratch)
{
    struct bale_file *file = extent->file;
    uint64_t start = extent->number * file->extent;
    int err = scratch ? BALE_OK : BALE_E_NOMEM;

    bale_fill_begin(extent, blocks);
    pthread_mutex_unlock(&file->lock);
    for (unsigned i = 0; i < BALE_BLOCKS && err == BALE_OK; i++) {
        unsigned first = i;
        while (i < BALE_BLOCKS && (blocks >> i & 1))
            i++;
        if (i > first) {
            uint64_t from = (uint64_t)first * file->block;
            uint64_t to = (uint64_t)i * file->block;
            to = to < file->extent ? to : file->extent;
            err = bale_file_read_committed(file, scratch, start + from, start + to,
                                           extent->buffer->data + from);
        }
    }
    pthread_mutex_lock(&file->lock);
    return bale_fill_end(extent, blocks, err);
}

void bale_fill_wait_for(struct bale_file *file, const struct bale_extent *extent)
{
    struct bale_fill_wait wait = {extent, PTHREAD_COND_INITIALIZER, file->fill_waits};

    file->fill_waits = &wait;
    pthread_cond_wait(&wait.wake, &file->lock);
    struct bale_fill_wait **slot = &file->fill_waits;
    while (*slot != &wait)
        slot = &(*slot)->next;
    *slot = wait.next;
    pthread_cond_destroy(&wait.wake);
}

static void wake_waiting(const struct bale_extent *extent)
{
    for (struct bale_fill_wait *w = extent->file->fill_waits; w; w = w->next)
        if (!w->extent || w->extent == extent)
            pthread_cond_signal(&w->wake);
}

int bale_fill_end(struct bale_extent *extent, uint64_t blocks, int err)
{
    extent->filling &= ~blocks;
    extent->file->filling -= !extent->filling;
    wake_waiting(extent);
    if (extent->detached) {
        if (!extent->filling) {
            bale_extent_buffer_unref(extent->buffer);
            free(extent);
        }
        return err == BALE_OK ? BALE_E_STALE : err;
    }
    if (err == BALE_OK)
        extent->valid |= blocks;
    bale_lru_add_idle(extent);
    return err;
}
