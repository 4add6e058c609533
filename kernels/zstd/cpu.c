#define ZSTD_STATIC_LINKING_ONLY /* ZSTD_getFrameHeader, ZSTD_decompressContinue */
#include <stdbool.h>
#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "format/err.h"
#include "kernels/codec/codec.h"

struct zstd_work {
    ZSTD_CCtx *encoder; /* all parameters but the level keep their defaults */
    ZSTD_DCtx *decoder;
};

static void zstd_destroy_work(void *work)
{
    struct zstd_work *w = work;

    ZSTD_freeDCtx(w->decoder);
    ZSTD_freeCCtx(w->encoder);
    free(w);
}

static int zstd_create_work(void **work)
{
    struct zstd_work *w = malloc(sizeof *w);

    if (!w)
        return BALE_E_NOMEM;
    w->encoder = ZSTD_createCCtx();
    w->decoder = ZSTD_createDCtx();
    if (!w->encoder || !w->decoder) {
        zstd_destroy_work(w);
        return BALE_E_NOMEM;
    }
    *work = w;
    return BALE_OK;
}

/* ZSTD_compress2 pledges raw_length, which bounds the window by the chunk and puts the content size
 * in the header. There is no dictionary, and no checksum either: the chunk table has one. */
static int64_t zstd_encode_chunk(void *work, int16_t parameter, struct bale_extent_part part,
                                 const uint8_t *raw, uint32_t raw_length, uint8_t *out,
                                 uint32_t capacity)
{
    struct zstd_work *w = work;
    size_t got = ZSTD_CCtx_setParameter(w->encoder, ZSTD_c_compressionLevel, parameter);

    (void)part;
    if (!ZSTD_isError(got))
        got = ZSTD_compress2(w->encoder, out, capacity, raw, raw_length);
    if (!ZSTD_isError(got))
        return (int64_t)got;
    switch (ZSTD_getErrorCode(got)) {
    case ZSTD_error_dstSize_tooSmall:
        return 0;
    case ZSTD_error_memory_allocation:
        return BALE_E_NOMEM;
    default:
        return BALE_E_INVALID;
    }
}

/* Whether in is one frame with nothing behind it. ZSTD_decompressDCtx alone would also accept
 * several frames, also skippable ones. */
static bool is_one_frame(const uint8_t *in, uint32_t length, uint32_t raw_length,
                         uint32_t chunk_size)
{
    ZSTD_frameHeader header;

    if (ZSTD_getFrameHeader(&header, in, length) != 0 || header.frameType != ZSTD_frame ||
        header.dictID != 0)
        return false;
    if (header.frameContentSize != ZSTD_CONTENTSIZE_UNKNOWN &&
        header.frameContentSize != raw_length)
        return false;
    if (header.windowSize > chunk_size)
        return false;
    return ZSTD_findFrameCompressedSize(in, length) == length;
}

/* Decodes block by block until so many bytes are there. */
static int decode_start(ZSTD_DCtx *decoder, const uint8_t *in, uint32_t length, uint8_t *raw,
                        uint32_t raw_length, uint32_t enough)
{
    const uint8_t *end = in + length;
    size_t done = 0;

    if (ZSTD_isError(ZSTD_decompressBegin(decoder)))
        return BALE_E_CORRUPT;
    while (done < enough) {
        size_t step = ZSTD_nextSrcSizeToDecompress(decoder);
        if (step == 0 || step > (size_t)(end - in))
            return BALE_E_CORRUPT;
        size_t got = ZSTD_decompressContinue(decoder, raw + done, raw_length - done, in, step);
        if (ZSTD_isError(got))
            return BALE_E_CORRUPT;
        in += step;
        done += got;
    }
    return BALE_OK;
}

static int zstd_decode_chunk(void *work, int16_t parameter, struct bale_extent_part part,
                             const uint8_t *in, uint32_t length, uint8_t *raw, uint32_t raw_length,
                             uint32_t chunk_size, struct bale_wanted wanted)
{
    struct zstd_work *w = work;

    (void)parameter;
    (void)part;
    if (!is_one_frame(in, length, raw_length, chunk_size))
        return BALE_E_CORRUPT;
    if (wanted.to < raw_length)
        return decode_start(w->decoder, in, length, raw, raw_length, wanted.to);
    return ZSTD_decompressDCtx(w->decoder, raw, raw_length, in, length) == raw_length
               ? BALE_OK
               : BALE_E_CORRUPT;
}

const struct bale_codec bale_codec_zstd = {
    .id = BALE_CODEC_ZSTD,
    .name = "zstd",
    .create = zstd_create_work,
    .destroy = zstd_destroy_work,
    .encode = zstd_encode_chunk,
    .decode = zstd_decode_chunk,
};
