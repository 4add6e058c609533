#include "kernels/codec/scratch.h"

#include <lz4.h>
#include <stdlib.h>
#include <zstd.h>

#include "format/err.h"
#include "kernels/auto/auto.h"
#include "kernels/lzss/lzss.h"

int bale_scratch_create(struct bale_scratch **scratch)
{
    struct bale_scratch *s = calloc(1, sizeof *s);

    if (!s)
        return BALE_E_NOMEM;
    s->zstd_encoder = ZSTD_createCCtx();
    s->zstd_decoder = ZSTD_createDCtx();
    s->lz4_encoder = malloc((size_t)LZ4_sizeofState());
    s->choice = malloc(sizeof *s->choice);
    s->lzss = malloc(sizeof *s->lzss);
    if (!s->zstd_encoder || !s->zstd_decoder || !s->lz4_encoder || !s->choice || !s->lzss) {
        bale_scratch_destroy(s);
        return BALE_E_NOMEM;
    }
    *scratch = s;
    return BALE_OK;
}

void bale_scratch_destroy(struct bale_scratch *scratch)
{
    if (!scratch)
        return;
    free(scratch->hashes);
    free(scratch->chunks);
    free(scratch->lzss);
    free(scratch->choice);
    free(scratch->lz4_encoder);
    ZSTD_freeDCtx(scratch->zstd_decoder);
    ZSTD_freeCCtx(scratch->zstd_encoder);
    free(scratch);
}

int bale_scratch_reserve(struct bale_scratch *scratch, uint32_t count)
{
    struct bale_chunk *chunks;
    uint8_t *hashes;

    if (count <= scratch->capacity)
        return BALE_OK;
    chunks = malloc(count * sizeof *chunks);
    hashes = calloc(count, BALE_SCRATCH_HASH);
    if (!chunks || !hashes) {
        free(chunks);
        free(hashes);
        return BALE_E_NOMEM;
    }
    free(scratch->chunks);
    free(scratch->hashes);
    scratch->chunks = chunks;
    scratch->hashes = hashes;
    scratch->capacity = count;
    return BALE_OK;
}
