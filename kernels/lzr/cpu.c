#include <stdlib.h>

#include "format/err.h"
#include "kernels/codec/codec.h"
#include "kernels/lzr/decode.h"
#include "kernels/lzr/search.h"

struct lzr_work {
    struct lzr_emit emit;
    struct lzr_decode decode;
    struct lzr_found found;
    struct lzr_full full; /* its fast part is level 1's too */
};

static int lzr_create_work(void **work)
{
    size_t size = (sizeof(struct lzr_work) + 63) / 64 * 64;
    struct lzr_work *w = aligned_alloc(64, size);

    if (!w)
        return BALE_E_NOMEM;
    lzr_emit_init(&w->emit, lzr_rounds());
    lzr_decode_init(&w->decode, lzr_rounds());
    *work = w;
    return BALE_OK;
}

static int64_t lzr_encode_chunk(void *work, int16_t parameter, struct bale_extent_part part,
                                const uint8_t *raw, uint32_t raw_length, uint8_t *out,
                                uint32_t capacity)
{
    struct lzr_work *w = work;

    (void)part;
    if (raw_length > LZR_CHUNK)
        return BALE_E_INVALID;
    if (parameter == 1)
        lzr_search_fast(&w->full.fast, raw, raw_length, &w->found);
    else
        lzr_search_full(&w->full, raw, raw_length, &w->found);
    return lzr_emit(&w->emit, &w->found, raw, raw_length, out, capacity);
}

static int lzr_decode_chunk(void *work, int16_t parameter, struct bale_extent_part part,
                            const uint8_t *in, uint32_t length, uint8_t *raw, uint32_t raw_length,
                            uint32_t chunk_size, struct bale_wanted wanted)
{
    struct lzr_work *w = work;

    (void)parameter;
    (void)part;
    (void)chunk_size;
    return lzr_decode(&w->decode, in, length, raw, raw_length, wanted.to);
}

const struct bale_codec bale_codec_lzr = {
    .id = BALE_CODEC_LZR,
    .name = "lzr",
    .create = lzr_create_work,
    .destroy = free,
    .encode = lzr_encode_chunk,
    .decode = lzr_decode_chunk,
};
