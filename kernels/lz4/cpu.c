#include <lz4.h>
#include <stdlib.h>

#include "format/err.h"
#include "kernels/codec/codec.h"

/* The encoder's state. */
static int lz4_create_work(void **work)
{
    *work = malloc((size_t)LZ4_sizeofState());
    return *work ? BALE_OK : BALE_E_NOMEM;
}

/* Resets the state fully. After a fast reset the output would depend on more than the input: a
 * stale table entry and an empty one, which means position 0, can lead to different matches. */
static int64_t lz4_encode_chunk(void *work, int16_t parameter, struct bale_extent_part part,
                                const uint8_t *raw, uint32_t raw_length, uint8_t *out,
                                uint32_t capacity)
{
    (void)parameter;
    (void)part;
    return LZ4_compress_fast_extState(work, (const char *)raw, (char *)out, (int)raw_length,
                                      (int)capacity, 1);
}

/* LZ4_decompress_safe fails unless the block ends exactly where its bytes do. */
static int lz4_decode_chunk(void *work, int16_t parameter, struct bale_extent_part part,
                            const uint8_t *in, uint32_t length, uint8_t *raw, uint32_t raw_length,
                            uint32_t chunk_size, struct bale_wanted wanted)
{
    (void)work;
    (void)parameter;
    (void)part;
    (void)chunk_size;
    int got = wanted.to == raw_length
                  ? LZ4_decompress_safe((const char *)in, (char *)raw, (int)length, (int)raw_length)
                  : LZ4_decompress_safe_partial((const char *)in, (char *)raw, (int)length,
                                                (int)wanted.to, (int)raw_length);

    return got >= 0 && (uint32_t)got == wanted.to ? BALE_OK : BALE_E_CORRUPT;
}

const struct bale_codec bale_codec_lz4 = {
    .id = BALE_CODEC_LZ4,
    .name = "lz4",
    .create = lz4_create_work,
    .destroy = free,
    .encode = lz4_encode_chunk,
    .decode = lz4_decode_chunk,
};
