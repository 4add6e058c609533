/* The steps in plain C, and the ends of streams. */
#include "kernels/rans/plain.h"
#include "format/bytes.h"

enum { WORD = 2, HIGH = 31 };

static inline void encode_symbol(struct bale_rans_stream *stream, unsigned lane,
                                 bale_rans_symbol symbol, unsigned bits)
{
    stream->state[lane] = bale_rans_plain_encode(stream->state[lane], symbol, bits, &stream->top);
}

void bale_rans_encode(struct bale_rans_stream *stream, const bale_rans_symbol *symbols,
                      unsigned bits, const uint16_t in[BALE_RANS_LANES], uint16_t absent)
{
    for (unsigned lane = 0; lane < BALE_RANS_LANES; lane++)
        if (in[lane] != absent)
            encode_symbol(stream, lane, symbols[in[lane]], bits);
}

void bale_rans_encode_raw(struct bale_rans_stream *stream, const uint32_t value[BALE_RANS_LANES],
                          const uint8_t count[BALE_RANS_LANES])
{
    for (unsigned lane = 0; lane < BALE_RANS_LANES; lane++)
        if (count[lane] > 0) {
            uint32_t x = bale_rans_plain_spill(stream->state[lane], 1u << (HIGH - count[lane]),
                                               &stream->top);
            stream->state[lane] = x << count[lane] | value[lane];
        }
}

static void encode_steps(struct bale_rans_stream *stream, const bale_rans_symbol *symbols,
                         unsigned bits, const uint16_t *in, size_t count)
{
    while (count > 0) {
        unsigned lanes = (unsigned)(count - 1) % BALE_RANS_LANES + 1;
        count -= lanes;
        for (unsigned lane = 0; lane < lanes; lane++)
            encode_symbol(stream, lane, symbols[in[count + lane]], bits);
    }
}

/* Returns the symbol. */
static inline uint32_t decode_symbol(uint32_t *x, const bale_rans_slot *slots, unsigned bits)
{
    uint32_t low = (1u << bits) - 1, slot = slots[*x & low];

    *x = ((slot & low) + 1) * (*x >> bits) + (slot >> bits & low);
    return slot >> 2 * bits;
}

bool bale_rans_decode(struct bale_rans_stream *stream, const bale_rans_slot *slots, unsigned bits,
                      uint32_t mask, uint16_t out[BALE_RANS_LANES])
{
    for (unsigned lane = 0; lane < BALE_RANS_LANES; lane++) {
        out[lane] = 0;
        if (mask >> lane & 1)
            out[lane] = (uint16_t)decode_symbol(&stream->state[lane], slots, bits);
    }
    stream->words = bale_rans_plain_refill(stream->state, stream->words);
    return stream->words >= stream->first;
}

bool bale_rans_decode_raw(struct bale_rans_stream *stream, uint32_t value[BALE_RANS_LANES],
                          const uint8_t count[BALE_RANS_LANES])
{
    for (unsigned lane = 0; lane < BALE_RANS_LANES; lane++) {
        value[lane] = stream->state[lane] & ((1u << count[lane]) - 1);
        stream->state[lane] >>= count[lane];
    }
    stream->words = bale_rans_plain_refill(stream->state, stream->words);
    return stream->words >= stream->first;
}

static bool decode_one(const struct bale_rans_bytes *bytes, const bale_rans_slot *slots,
                       unsigned bits)
{
    struct bale_rans_stream *stream = bytes->stream;

    for (size_t at = 0; at < bytes->count; at += BALE_RANS_LANES) {
        size_t left = bytes->count - at;
        unsigned lanes = left < BALE_RANS_LANES ? (unsigned)left : BALE_RANS_LANES;
        uint8_t *out = bytes->out + at;
        const uint8_t *table = bytes->table ? bytes->table + at : NULL;
        for (unsigned lane = 0; lane < lanes; lane++) {
            size_t of = table ? (size_t)table[lane] << bits : 0;
            out[lane] = (uint8_t)decode_symbol(&stream->state[lane], slots + of, bits);
        }
        stream->words = bale_rans_plain_refill(stream->state, stream->words);
        if (stream->words < stream->first)
            return false;
    }
    return true;
}

static bool decode_bytes(const struct bale_rans_bytes bytes[2], const bale_rans_slot *slots,
                         unsigned bits)
{
    return decode_one(&bytes[0], slots, bits) && decode_one(&bytes[1], slots, bits);
}

const struct bale_rans_steps bale_rans_plain = {
    .name = "plain",
    .encode = encode_steps,
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
        good = good && stream->state[lane] >= BALE_RANS_LOW && stream->state[lane] >> HIGH == 0;
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
