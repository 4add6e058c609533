#include "fs/cache/fill.h"

#include "format/err.h"
#include "fs/cache/committed.h"

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

static uint32_t chunk_of(const struct bale_file *file)
{
    return 1u << bale_codec_chunk_log2(&file->setting, BALE_CHUNK_LOG2_DEFAULT);
}

uint64_t bale_extent_chunk_end(const struct bale_file *file, uint64_t number, uint64_t to)
{
    uint64_t left = file->size - number * file->extent;
    uint64_t most = left < file->extent ? left : file->extent;
    uint64_t end = (to + chunk_of(file) - 1) / chunk_of(file) * chunk_of(file);

    end = end < most ? end : most;
    return end > to ? end : to; /* the file may be shorter now */
}

uint64_t bale_extent_widen(const struct bale_extent *extent, uint64_t blocks)
{
    const struct bale_file *file = extent->file;
    unsigned each = chunk_of(file) / file->block;
    uint64_t wide = blocks;

    for (unsigned i = 0; each > 1 && i < BALE_BLOCKS; i += each) {
        uint64_t chunk = (each >= 64 ? UINT64_MAX : ((uint64_t)1 << each) - 1) << i;
        wide |= blocks & chunk ? chunk : 0;
    }
    return wide & bale_blocks(file, 0, extent->buffer->capacity) & ~extent->valid &
           ~extent->filling;
}
