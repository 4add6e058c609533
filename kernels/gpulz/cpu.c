#include "kernels/codec/codec.h"
#include "kernels/codec/sample.h"
#include "kernels/gpulz/gpulz.h"

_Static_assert(BALE_GPULZ_WINDOW_MAX <= BALE_LZSS_WINDOW_MAX &&
                   BALE_GPULZ_PIECE_LOG2_MAX <= BALE_LZSS_PIECE_LOG2_MAX &&
                   BALE_GPULZ_SYMBOL_LOG2_MAX <= BALE_LZSS_SYMBOL_LOG2_MAX,
               "gpulz has a geometry that the streams of lzss do not have");

/* The sample that decides how large symbols are (spec.md). */
static const struct bale_sampling sampling = {.piece = 2048, .per_log2 = 16, .least = 2, .most = 8};

static int64_t gpulz_encode_chunk(void *work, int16_t parameter, struct bale_extent_part part,
                                  const uint8_t *raw, uint32_t raw_length, uint8_t *out,
                                  uint32_t capacity)
{
    (void)part;
    return bale_lzss_encode(work, bale_gpulz_geometry((uint16_t)parameter), raw, raw_length, out,
                            capacity);
}

static int gpulz_decode_chunk(void *work, int16_t parameter, struct bale_extent_part part,
                              const uint8_t *in, uint32_t length, uint8_t *raw, uint32_t raw_length,
                              uint32_t chunk_size, struct bale_wanted wanted)
{
    (void)work;
    (void)part;
    (void)chunk_size;
    return bale_lzss_decode(bale_gpulz_geometry((uint16_t)parameter), in, length, raw, raw_length,
                            wanted);
}

/* The size of a piece of the sample when encoded, in bytes. */
static uint32_t cost(struct bale_lzss_work *work, struct bale_lzss_geometry geometry,
                     const uint8_t *raw, uint32_t length)
{
    uint32_t count = length >> geometry.symbol_log2;
    uint32_t tail = length - (count << geometry.symbol_log2);
    struct bale_lzss_tokens tokens = {0};

    if (count > 0)
        tokens = bale_lzss_parse(work, geometry, raw, count);
    return bale_lzss_flag_bytes(tokens) + tokens.payload + tail;
}

/* The size of the sample when encoded, in bytes. */
static uint32_t sample(struct bale_lzss_work *work, struct bale_lzss_geometry geometry,
                       const uint8_t *raw, uint32_t raw_length)
{
    uint32_t pieces = bale_sample_pieces(&sampling, raw_length);
    uint32_t sum = 0;

    for (uint32_t i = 0; i < pieces; i++)
        sum += cost(work, geometry, raw + bale_sample_at(&sampling, raw_length, pieces, i),
                    sampling.piece);
    if (pieces > 0)
        return sum;
    for (uint32_t at = 0; at < raw_length; at += sampling.piece) {
        uint32_t left = raw_length - at;
        sum += cost(work, geometry, raw + at, left < sampling.piece ? left : sampling.piece);
    }
    return sum;
}

static struct bale_setting gpulz_choose_extent(void *work, int16_t parameter, const uint8_t *raw,
                                               uint32_t raw_length)
{
    struct bale_lzss_geometry geometry = bale_gpulz_geometry((uint16_t)parameter);
    uint32_t least = UINT32_MAX;
    unsigned best = 0;

    for (unsigned symbol_log2 = BALE_GPULZ_SYMBOL_LOG2_MAX + 1; symbol_log2-- > 0;) {
        geometry.symbol_log2 = (uint8_t)symbol_log2;
        uint32_t bytes = sample(work, geometry, raw, raw_length);
        if (bytes < least) {
            least = bytes;
            best = symbol_log2;
        }
    }
    return (struct bale_setting){
        .codec = BALE_CODEC_GPULZ,
        .parameter = (int16_t)bale_gpulz_parameter(best, geometry.piece_log2, geometry.window)};
}

const struct bale_codec bale_codec_gpulz = {
    .id = BALE_CODEC_GPULZ,
    .name = "gpulz",
    .create = bale_lzss_create,
    .destroy = bale_lzss_destroy,
    .encode = gpulz_encode_chunk,
    .decode = gpulz_decode_chunk,
    .choose = gpulz_choose_extent,
};
