#include <string.h>

#include "format/bytes.h"
#include "kernels/gpulz/gpulz.h"
#include "kernels/registry.h"
#include "kernels/scratch.h"

/* The sample that decides how large symbols are. */
enum {
    SAMPLE_PIECE = 2048,
    SAMPLE_PER_LOG2 = 16, /* a piece for so many bytes */
    SAMPLE_MIN = 2,
    SAMPLE_MAX = 8,
};

static uint32_t flag_bytes(struct bale_gpulz_tokens tokens)
{
    return (tokens.count + 7) / 8;
}

static void reverse(uint8_t *bytes, uint32_t length)
{
    for (uint32_t i = 0, j = length; i + 1 < j; i++) {
        uint8_t byte = bytes[i];
        bytes[i] = bytes[--j];
        bytes[j] = byte;
    }
}

/* Where flags end and payloads begin is known only when all pieces are parsed. They are parsed from
 * the last to the first: payloads grow down from the end of the room, flags up from the counts,
 * last byte first, to be turned round in the end. */
static int64_t encode(struct bale_scratch *scratch, int16_t parameter, const uint8_t *raw,
                      uint32_t raw_length, uint8_t *out, uint32_t capacity)
{
    struct bale_gpulz *work = scratch->gpulz;
    uint16_t how = (uint16_t)parameter;
    unsigned symbol_log2 = bale_gpulz_symbol_log2(how);
    unsigned piece_log2 = bale_gpulz_piece_log2(how);
    uint32_t body = raw_length >> symbol_log2 << symbol_log2;
    uint32_t tail = raw_length - body;
    uint32_t pieces = (body + (1u << piece_log2) - 1) >> piece_log2;
    uint32_t low = 2 * pieces;
    uint32_t high = capacity - tail;

    if (capacity < low + tail)
        return 0;
    for (uint32_t i = pieces, end = body; i-- > 0; end = i << piece_log2) {
        uint32_t begin = i << piece_log2;
        struct bale_gpulz_tokens tokens = bale_gpulz_parse(
            work, raw + begin, (end - begin) >> symbol_log2, bale_gpulz_window(how), symbol_log2);
        if (tokens.payload + flag_bytes(tokens) > high - low)
            return 0;
        high -= tokens.payload;
        memcpy(out + high, work->payload, tokens.payload);
        for (uint32_t k = flag_bytes(tokens); k-- > 0;)
            out[low++] = work->flags[k];
        bale_put16(out + 2 * (size_t)i, (uint16_t)(tokens.count - 1));
    }
    reverse(out + 2 * (size_t)pieces, low - 2 * pieces);
    memmove(out + low, out + high, capacity - tail - high);
    low += capacity - tail - high;
    memcpy(out + low, raw + body, tail);
    return (int64_t)low + tail;
}

static int decode(struct bale_scratch *scratch, int16_t parameter, const uint8_t *in,
                  uint32_t length, uint8_t *raw, uint32_t raw_length, uint32_t chunk_size)
{
    (void)scratch;
    (void)chunk_size;
    return bale_gpulz_decode((uint16_t)parameter, in, length, raw, raw_length);
}

/* Bytes that the piece would become. */
static uint32_t cost(struct bale_gpulz *work, const uint8_t *raw, uint32_t length, uint32_t window,
                     unsigned symbol_log2)
{
    uint32_t count = length >> symbol_log2;
    uint32_t tail = length - (count << symbol_log2);
    struct bale_gpulz_tokens tokens = {0};

    if (count > 0)
        tokens = bale_gpulz_parse(work, raw, count, window, symbol_log2);
    return flag_bytes(tokens) + tokens.payload + tail;
}

/* Bytes that the sample would become. */
static uint32_t sample(struct bale_gpulz *work, const uint8_t *raw, uint32_t raw_length,
                       uint32_t window, unsigned symbol_log2)
{
    uint32_t pieces = raw_length >> SAMPLE_PER_LOG2;
    uint32_t sum = 0;

    pieces = pieces < SAMPLE_MIN ? SAMPLE_MIN : pieces > SAMPLE_MAX ? SAMPLE_MAX : pieces;
    if (raw_length <= SAMPLE_PIECE * pieces) {
        for (uint32_t at = 0; at < raw_length; at += SAMPLE_PIECE) {
            uint32_t left = raw_length - at;
            sum += cost(work, raw + at, left < SAMPLE_PIECE ? left : SAMPLE_PIECE, window,
                        symbol_log2);
        }
        return sum;
    }
    for (uint32_t i = 0; i < pieces; i++) {
        uint64_t at = (uint64_t)(raw_length - SAMPLE_PIECE) * i / (pieces - 1) / 8 * 8;
        sum += cost(work, raw + at, SAMPLE_PIECE, window, symbol_log2);
    }
    return sum;
}

static int16_t choose(struct bale_scratch *scratch, int16_t parameter, const uint8_t *raw,
                      uint32_t raw_length)
{
    uint16_t how = (uint16_t)parameter;
    uint32_t window = bale_gpulz_window(how);
    uint32_t least = UINT32_MAX;
    unsigned best = 0;

    if (!(how & BALE_GPULZ_ADAPTIVE))
        return parameter;
    for (unsigned symbol_log2 = BALE_GPULZ_SYMBOL_LOG2_MAX + 1; symbol_log2-- > 0;) {
        uint32_t bytes = sample(scratch->gpulz, raw, raw_length, window, symbol_log2);
        if (bytes < least) {
            least = bytes;
            best = symbol_log2;
        }
    }
    return (int16_t)bale_gpulz_parameter(best, bale_gpulz_piece_log2(how), window);
}

const struct bale_codec bale_codec_gpulz = {
    .id = BALE_CODEC_GPULZ,
    .name = "gpulz",
    .encode = encode,
    .decode = decode,
    .choose = choose,
};
