#include "kernels/codec/scratch.h"
#include "kernels/frame/registry.h"
#include "kernels/gpulz/gpulz.h"

_Static_assert(BALE_GPULZ_WINDOW_MAX <= BALE_LZSS_WINDOW_MAX &&
                   BALE_GPULZ_PIECE_LOG2_MAX <= BALE_LZSS_PIECE_LOG2_MAX &&
                   BALE_GPULZ_SYMBOL_LOG2_MAX <= BALE_LZSS_SYMBOL_LOG2_MAX,
               "a geometry no stream has");

/* The sample that decides how large symbols are. */
enum {
    SAMPLE_PIECE = 2048,
    SAMPLE_PER_LOG2 = 16, /* a piece for so many bytes */
    SAMPLE_MIN = 2,
    SAMPLE_MAX = 8,
};

static int64_t encode(struct bale_scratch *scratch, int16_t parameter, const uint8_t *raw,
                      uint32_t raw_length, uint8_t *out, uint32_t capacity)
{
    return bale_lzss_encode(scratch->lzss, bale_gpulz_geometry((uint16_t)parameter), raw,
                            raw_length, out, capacity);
}

static int decode(struct bale_scratch *scratch, int16_t parameter, const uint8_t *in,
                  uint32_t length, uint8_t *raw, uint32_t raw_length, uint32_t chunk_size)
{
    (void)scratch;
    (void)chunk_size;
    return bale_lzss_decode(bale_gpulz_geometry((uint16_t)parameter), in, length, raw, raw_length);
}

/* Bytes that the piece would become. */
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

/* Bytes that the sample would become. */
static uint32_t sample(struct bale_lzss_work *work, struct bale_lzss_geometry geometry,
                       const uint8_t *raw, uint32_t raw_length)
{
    uint32_t pieces = raw_length >> SAMPLE_PER_LOG2;
    uint32_t sum = 0;

    pieces = pieces < SAMPLE_MIN ? SAMPLE_MIN : pieces > SAMPLE_MAX ? SAMPLE_MAX : pieces;
    if (raw_length <= SAMPLE_PIECE * pieces) {
        for (uint32_t at = 0; at < raw_length; at += SAMPLE_PIECE) {
            uint32_t left = raw_length - at;
            sum += cost(work, geometry, raw + at, left < SAMPLE_PIECE ? left : SAMPLE_PIECE);
        }
        return sum;
    }
    for (uint32_t i = 0; i < pieces; i++) {
        uint64_t at = (uint64_t)(raw_length - SAMPLE_PIECE) * i / (pieces - 1) / 8 * 8;
        sum += cost(work, geometry, raw + at, SAMPLE_PIECE);
    }
    return sum;
}

static int16_t choose(struct bale_scratch *scratch, int16_t parameter, const uint8_t *raw,
                      uint32_t raw_length)
{
    uint16_t how = (uint16_t)parameter;
    struct bale_lzss_geometry geometry = bale_gpulz_geometry(how);
    uint32_t least = UINT32_MAX;
    unsigned best = 0;

    if (!(how & BALE_GPULZ_ADAPTIVE))
        return parameter;
    for (unsigned symbol_log2 = BALE_GPULZ_SYMBOL_LOG2_MAX + 1; symbol_log2-- > 0;) {
        geometry.symbol_log2 = (uint8_t)symbol_log2;
        uint32_t bytes = sample(scratch->lzss, geometry, raw, raw_length);
        if (bytes < least) {
            least = bytes;
            best = symbol_log2;
        }
    }
    return (int16_t)bale_gpulz_parameter(best, geometry.piece_log2, geometry.window);
}

const struct bale_codec bale_codec_gpulz = {
    .id = BALE_CODEC_GPULZ,
    .name = "gpulz",
    .encode = encode,
    .decode = decode,
    .choose = choose,
};
