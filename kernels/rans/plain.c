/* The steps in plain C, and the ends of streams. */
#include "format/bytes.h"
#include "kernels/rans/rans.h"

enum { WORD = 2, LOW = 15, HIGH = 31 };

static inline uint32_t spill(struct bale_rans_stream *stream, uint32_t x, uint32_t limit)
{
    bale_put16(stream->top, (uint16_t)x);
    stream->top += x >= limit ? WORD : 0;
    return x >= limit ? x >> 16 : x;
}

static void encode_symbol(struct bale_rans_stream *stream, unsigned lane, bale_rans_symbol symbol,
                          unsigned bits)
{
    uint32_t frequency = symbol >> 16, x = stream->state[lane];

    x = spill(stream, x, frequency << (HIGH - bits));
    stream->state[lane] = (x / frequency << bits) + x % frequency + (symbol & 0xffffu);
}

static void encode(struct bale_rans_stream *stream, const bale_rans_symbol *symbols, unsigned bits,
                   const uint8_t in[BALE_RANS_LANES], uint8_t absent)
{
    for (unsigned lane = 0; lane < BALE_RANS_LANES; lane++)
        if (in[lane] != absent)
            encode_symbol(stream, lane, symbols[in[lane]], bits);
}

static void encode_raw(struct bale_rans_stream *stream, const uint32_t value[BALE_RANS_LANES],
                       const uint8_t count[BALE_RANS_LANES])
{
    for (unsigned lane = 0; lane < BALE_RANS_LANES; lane++)
        if (count[lane] > 0) {
            uint32_t x = spill(stream, stream->state[lane], 1u << (HIGH - count[lane]));
            stream->state[lane] = x << count[lane] | value[lane];
        }
}

static void encode_bytes(struct bale_rans_stream *stream, const bale_rans_symbol *symbols,
                         unsigned bits, const uint8_t *in, const uint8_t *table, size_t count)
{
    while (count > 0) {
        unsigned lanes = (unsigned)(count - 1) % BALE_RANS_LANES + 1;
        count -= lanes;
        for (unsigned lane = 0; lane < lanes; lane++) {
            size_t of = table ? (size_t)table[count + lane] << 8 : 0;
            encode_symbol(stream, lane, symbols[of | in[count + lane]], bits);
        }
    }
}

/* Those of the lanes that need a word get it. */
static bool refill(struct bale_rans_stream *stream, uint32_t need, unsigned lanes)
{
    size_t words = (size_t)__builtin_popcount(need);
    const uint8_t *word;

    if ((size_t)(stream->words - stream->first) < WORD * words)
        return false;
    stream->words -= WORD * words;
    word = stream->words;
    for (unsigned lane = 0; lane < lanes; lane++)
        if (need >> lane & 1) {
            stream->state[lane] = stream->state[lane] << 16 | bale_get16(word);
            word += WORD;
        }
    return true;
}

/* Returns the symbol. */
static inline uint8_t decode_symbol(struct bale_rans_stream *stream, unsigned lane,
                                    const bale_rans_slot *slots, unsigned bits, uint32_t *need)
{
    uint32_t low = (1u << bits) - 1;
    uint32_t slot = slots[stream->state[lane] & low];
    uint32_t x = ((slot & low) + 1) * (stream->state[lane] >> bits) + (slot >> bits & low);

    stream->state[lane] = x;
    *need |= (uint32_t)(x >> LOW == 0) << lane;
    return (uint8_t)(slot >> 2 * bits);
}

static bool decode(struct bale_rans_stream *stream, const bale_rans_slot *slots, unsigned bits,
                   uint32_t mask, uint8_t out[BALE_RANS_LANES], uint8_t symbol, uint32_t *others)
{
    uint32_t need = 0;

    *others = 0;
    for (unsigned lane = 0; lane < BALE_RANS_LANES; lane++) {
        out[lane] = 0;
        if (mask >> lane & 1) {
            out[lane] = decode_symbol(stream, lane, slots, bits, &need);
            *others |= (uint32_t)(out[lane] != symbol) << lane;
        }
    }
    return refill(stream, need, BALE_RANS_LANES);
}

static bool decode_raw(struct bale_rans_stream *stream, uint32_t value[BALE_RANS_LANES],
                       const uint8_t count[BALE_RANS_LANES])
{
    uint32_t need = 0;

    for (unsigned lane = 0; lane < BALE_RANS_LANES; lane++) {
        value[lane] = stream->state[lane] & ((1u << count[lane]) - 1);
        stream->state[lane] >>= count[lane];
        need |= (uint32_t)(stream->state[lane] >> LOW == 0) << lane;
    }
    return refill(stream, need, BALE_RANS_LANES);
}

static bool decode_bytes(struct bale_rans_stream *stream, const bale_rans_slot *slots,
                         unsigned bits, uint8_t *out, const uint8_t *table, size_t count)
{
    for (size_t at = 0; at < count; at += BALE_RANS_LANES) {
        size_t left = count - at;
        unsigned lanes = left < BALE_RANS_LANES ? (unsigned)left : BALE_RANS_LANES;
        uint32_t need = 0;
        for (unsigned lane = 0; lane < lanes; lane++) {
            size_t of = table ? (size_t)table[at + lane] << bits : 0;
            out[at + lane] = decode_symbol(stream, lane, slots + of, bits, &need);
        }
        if (!refill(stream, need, lanes))
            return false;
    }
    return true;
}

const struct bale_rans_steps bale_rans_plain = {
    .name = "plain",
    .encode = encode,
    .encode_raw = encode_raw,
    .encode_bytes = encode_bytes,
    .decode = decode,
    .decode_raw = decode_raw,
    .decode_bytes = decode_bytes,
};

void bale_rans_encode_begin(struct bale_rans_stream *stream, uint8_t *words,
                            const uint16_t carry[BALE_RANS_LANES])
{
    stream->top = words;
    for (unsigned lane = 0; lane < BALE_RANS_LANES; lane++)
        stream->state[lane] = 1u << 16 | carry[lane];
}

void bale_rans_encode_end(struct bale_rans_stream *stream)
{
    for (unsigned shift = 0; shift < 32; shift += 16)
        for (unsigned lane = 0; lane < BALE_RANS_LANES; lane++, stream->top += WORD)
            bale_put16(stream->top, (uint16_t)(stream->state[lane] >> shift));
}

bool bale_rans_decode_begin(struct bale_rans_stream *stream, const uint8_t *words, size_t bytes)
{
    bool good = bytes >= BALE_RANS_STATES;

    if (!good)
        return false;
    stream->first = words;
    stream->words = words + bytes - BALE_RANS_STATES;
    for (unsigned lane = 0; lane < BALE_RANS_LANES; lane++) {
        const uint8_t *low = stream->words + (size_t)WORD * lane;
        uint32_t high = bale_get16(low + WORD * BALE_RANS_LANES);
        stream->state[lane] = high << 16 | bale_get16(low);
        good = good && stream->state[lane] >> LOW != 0 && stream->state[lane] >> HIGH == 0;
    }
    return good;
}

bool bale_rans_decode_end(const struct bale_rans_stream *stream, uint16_t carry[BALE_RANS_LANES])
{
    bool good = stream->words == stream->first;

    for (unsigned lane = 0; lane < BALE_RANS_LANES; lane++) {
        good = good && stream->state[lane] >> 16 == 1;
        carry[lane] = (uint16_t)stream->state[lane];
    }
    return good;
}
