#include <string.h>

#include "format/bytes.h"
#include "format/err.h"
#include "kernels/fsst/fsst.h"

enum { GROUP = 8 }; /* codes that are looked at together */

#define EACH_BYTE UINT64_C(0x0101010101010101)
#define TOP_BITS (EACH_BYTE * 0x80)

/* Symbols by code, and from LITERALS on the bytes that stand for themselves. The codes without a
 * symbol have the length 0. */
enum { LITERALS = 256 };

struct decoder {
    uint64_t bytes[2 * LITERALS];
    uint8_t length[2 * LITERALS];
    uint64_t add, low;  /* for codes_above */
    const uint8_t *end; /* of the raw bytes: nothing is written there or behind */
};

static void decoder_init(struct decoder *d, const struct fsst_symbols *symbols, const uint8_t *end)
{
    memset(d->length, 0, LITERALS);
    memset(d->length + LITERALS, 1, LITERALS);
    memset(d->bytes, 0, LITERALS * sizeof d->bytes[0]);
    memcpy(d->bytes, symbols->bytes, sizeof symbols->bytes);
    memcpy(d->length, symbols->length, symbols->count);
    for (unsigned i = 0; i < LITERALS; i++)
        d->bytes[LITERALS + i] = i;
    d->add = EACH_BYTE * (0x80 - (symbols->count & 0x7f));
    d->low = symbols->count < 0x80 ? UINT64_MAX : 0;
    d->end = end;
}

/* The top bit of each of the eight codes that has no symbol, the escape among them. */
static inline uint64_t codes_above(const struct decoder *d, uint64_t codes)
{
    uint64_t sum =
        (codes & EACH_BYTE * 0x7f) + d->add; /* top bit: the low seven are large enough */

    return ((sum & codes) | ((sum | codes) & d->low)) & TOP_BITS;
}

/* The top bit of each escape among eight codes. */
static inline uint64_t escapes_of(uint64_t codes)
{
    return ((codes & EACH_BYTE * 0x7f) + EACH_BYTE) & codes & TOP_BITS;
}

/* Decodes one code, or an escape and its literal, of a split that ends at in_end and out_end.
 * Returns false if it breaks a rule. */
static bool decode_one(const struct decoder *d, const uint8_t **in, const uint8_t *in_end,
                       uint8_t **out, const uint8_t *out_end)
{
    uint8_t code = *(*in)++;
    uint32_t length = d->length[code];

    if (code == FSST_ESCAPE) {
        if (*in == in_end || *out == out_end)
            return false;
        *(*out)++ = *(*in)++;
        return true;
    }
    if (length == 0 || length > (size_t)(out_end - *out))
        return false;
    if (d->end - *out >= FSST_SYMBOL)
        bale_put64(*out, d->bytes[code]);
    else
        for (uint32_t i = 0; i < length; i++)
            (*out)[i] = (uint8_t)(d->bytes[code] >> 8 * i);
    *out += length;
    return true;
}

/* Writes what eight codes stand for, with 8 bytes for each; literals: the top bit of each code that
 * is a literal. */
static inline uint8_t *put_codes(const struct decoder *d, uint64_t codes, uint64_t literals,
                                 uint8_t *out)
{
#pragma GCC unroll 8
    for (unsigned i = 0; i < GROUP; i++, codes >>= 8, literals >>= 8) {
        uint64_t at = (codes & 0xff) + 2 * (literals & 0x80);

        bale_put64(out, d->bytes[at]);
        out += d->length[at];
    }
    return out;
}

/* Decodes a split to exactly [out, out_end). What a group writes may lie behind out_end, where the
 * next split is decoded later, but not behind the chunk. */
static bool decode_split(const struct decoder *d, const uint8_t *in, uint32_t length, uint8_t *out,
                         const uint8_t *out_end)
{
    const uint8_t *in_end = in + length;

    while (in_end - in >= GROUP && out < out_end && d->end - out >= GROUP * FSST_SYMBOL) {
        uint64_t codes = bale_get64(in), above = codes_above(d, codes);
        uint64_t escapes = escapes_of(codes), literals = escapes << 8;

        if (above == 0) {
            out = put_codes(d, codes, 0, out);
            in += GROUP;
        } else if (((above & ~literals) ^ escapes) == 0) {
            out = put_codes(d, codes, literals, out);
            in += GROUP - (escapes >> 63); /* the last one's literal is not among them */
        } else if (!decode_one(d, &in, in_end, &out, out_end)) {
            return false; /* a code without a symbol, or soon, unless it is the literal 255 */
        }
    }
    if (out > out_end)
        return false;
    while (in < in_end)
        if (!decode_one(d, &in, in_end, &out, out_end))
            return false;
    return out == out_end;
}

/* Reads the lengths of the splits one by one. */
struct lengths {
    const uint8_t *in; /* the next byte */
    uint64_t bits;
    unsigned have;
    unsigned width;
    uint32_t least;
};

static uint32_t next_length(struct lengths *l)
{
    uint32_t length;

    for (; l->have < l->width; l->have += 8)
        l->bits |= (uint64_t)*l->in++ << l->have;
    length = l->least + (uint32_t)(l->bits & ((1u << l->width) - 1));
    l->bits >>= l->width;
    l->have -= l->width;
    return length;
}

int fsst_decode(const struct fsst_symbols *symbols, const uint8_t *in, uint32_t length,
                uint8_t *raw, uint32_t raw_length, struct bale_wanted wanted)
{
    uint32_t splits = fsst_splits(raw_length), left;
    struct lengths lengths = {.in = in + FSST_HEAD};
    struct decoder d;

    if (length < FSST_HEAD || in[2] > FSST_WIDTH_MAX)
        return BALE_E_CORRUPT;
    lengths.least = bale_get16(in);
    lengths.width = in[2];
    left = length - FSST_HEAD;
    if (fsst_lengths_size(splits, lengths.width) > left)
        return BALE_E_CORRUPT;
    left -= fsst_lengths_size(splits, lengths.width);
    in += length - left;
    decoder_init(&d, symbols, raw + raw_length);
    for (uint32_t i = 0; i < splits && i * FSST_SPLIT < wanted.to; i++) {
        uint32_t at = i * FSST_SPLIT, stored = next_length(&lengths);
        uint32_t end = raw_length - at < FSST_SPLIT ? raw_length : at + FSST_SPLIT;

        if (stored > left)
            return BALE_E_CORRUPT;
        if (end > wanted.from && !decode_split(&d, in, stored, raw + at, raw + end))
            return BALE_E_CORRUPT;
        in += stored;
        left -= stored;
    }
    if (wanted.to < raw_length)
        return BALE_OK;
    return left == 0 && lengths.bits == 0 ? BALE_OK : BALE_E_CORRUPT;
}
