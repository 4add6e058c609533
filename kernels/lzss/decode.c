/* Decoding (spec.md). A run of literals and the pointer behind it are one step. Pieces before the
 * wanted bytes are skipped: their flags tell how long their payloads are. */
#include <stdbool.h>
#include <string.h>

#include "format/bytes.h"
#include "format/err.h"
#include "kernels/lzss/lzss.h"

/* Bytes that are copied at once. The first two strides are copied whatever the length, where there
 * is room for so many bytes more. */
enum { STRIDE = 8, ROOM = 2 * STRIDE };

/* The positions of reading and writing. */
struct place {
    const uint8_t *in, *in_end;
    const uint8_t *in_limit; /* end of the stream: nothing is read beyond it */
    uint8_t *out, *out_end;  /* out_end: of the piece */
    uint8_t *enough;         /* end of what is wanted of the piece; out_end: all of it */
    uint8_t *out_limit;      /* end of the chunk: nothing is written beyond it */
};

/* Most copies are short, so the first two strides do not wait for a comparison. in may begin a
 * stride or more before out. */
BALE_LZSS_INLINE void copy_strides(uint8_t *out, const uint8_t *in, size_t bytes)
{
    memcpy(out, in, STRIDE);
    memcpy(out + STRIDE, in + STRIDE, STRIDE);
    for (size_t n = ROOM; n < bytes; n += STRIDE)
        memcpy(out + n, in + n, STRIDE);
}

BALE_LZSS_INLINE bool copy_literals(struct place *p, size_t bytes)
{
    if (bytes > (size_t)(p->in_end - p->in) || bytes > (size_t)(p->out_end - p->out))
        return false;
    if ((size_t)(p->in_limit - p->in) >= bytes + ROOM &&
        (size_t)(p->out_limit - p->out) >= bytes + ROOM)
        copy_strides(p->out, p->in, bytes);
    else
        memcpy(p->out, p->in, bytes);
    p->in += bytes;
    p->out += bytes;
    return true;
}

/* out[0, bytes) = out[-distance, ...), for distances below a stride. The bytes repeat with the
 * distance, so after the first stride they are copied from a multiple of it that is a stride or
 * more. */
static void repeat(uint8_t *out, size_t distance, size_t bytes)
{
    size_t far = distance * ((STRIDE - 1 + distance) / distance);

    for (size_t n = 0; n < STRIDE; n++)
        out[n] = (out - distance)[n];
    for (size_t n = STRIDE; n < bytes; n += STRIDE)
        memcpy(out + n, out + n - far, STRIDE);
}

BALE_LZSS_INLINE void copy_match(struct place *p, size_t distance, size_t bytes)
{
    uint8_t *out = p->out;

    if ((size_t)(p->out_limit - out) < bytes + ROOM)
        for (size_t n = 0; n < bytes; n++)
            out[n] = (out - distance)[n];
    else if (distance < STRIDE)
        repeat(out, distance, bytes);
    else
        copy_strides(out, out - distance, bytes);
    p->out += bytes;
}

BALE_LZSS_INLINE bool decode_pointer(struct place *p, const uint8_t *begin, uint32_t window,
                                     unsigned symbol_log2)
{
    size_t distance, bytes;

    if (p->in_end - p->in < 2 || p->in[0] >= window)
        return false;
    distance = (size_t)(p->in[0] + 1u) << symbol_log2;
    bytes = (size_t)(p->in[1] + bale_lzss_least(symbol_log2)) << symbol_log2;
    if (distance > (size_t)(p->out - begin) || bytes > (size_t)(p->out_end - p->out))
        return false;
    p->in += 2;
    copy_match(p, distance, bytes);
    return true;
}

/* The next count flags, 64 at most. Bits beyond them are the spare bits, 0 in a valid stream. */
static uint64_t load_flags(const uint8_t *flags, uint32_t count)
{
    uint64_t bits = 0;

    if (count == 64)
        return bale_get64(flags);
    for (uint32_t i = 0; i < (count + 7) / 8; i++)
        bits |= (uint64_t)flags[i] << 8 * i;
    return bits;
}

BALE_LZSS_INLINE bool decode_piece(struct place *p, const uint8_t *flags, uint32_t tokens,
                                   uint32_t window, unsigned symbol_log2)
{
    const uint8_t *begin = p->out;

    for (; tokens > 0; flags += sizeof(uint64_t)) {
        if (p->out > p->enough)
            return true;
        uint32_t left = tokens < 64 ? tokens : 64;
        uint64_t bits = load_flags(flags, left);
        if (left < 64 && bits >> left != 0)
            return false;
        tokens -= left;
        while (bits != 0) {
            uint32_t run = (uint32_t)__builtin_ctzll(bits);
            if (!copy_literals(p, (size_t)run << symbol_log2) ||
                !decode_pointer(p, begin, window, symbol_log2))
                return false;
            left -= run + 1;
            bits = bits >> run >> 1;
        }
        if (!copy_literals(p, (size_t)left << symbol_log2))
            return false;
    }
    return p->out == p->out_end;
}

static bool decode_any(struct place *p, const uint8_t *flags, uint32_t tokens, uint32_t window,
                       unsigned symbol_log2)
{
    switch (symbol_log2) {
    case 0:
        return decode_piece(p, flags, tokens, window, 0);
    case 1:
        return decode_piece(p, flags, tokens, window, 1);
    case 2:
        return decode_piece(p, flags, tokens, window, 2);
    default:
        return decode_piece(p, flags, tokens, window, 3);
    }
}

/* The payload of a piece, in bytes. Spare bits count as tokens: they are 0 in a valid stream. */
static uint64_t payload_bytes(const uint8_t *flags, uint32_t tokens, unsigned symbol_log2)
{
    uint32_t pointers = 0;

    for (uint32_t t = 0; t < tokens; t += 64, flags += sizeof(uint64_t))
        pointers +=
            (uint32_t)__builtin_popcountll(load_flags(flags, tokens - t < 64 ? tokens - t : 64));
    return 2 * (uint64_t)pointers + (((uint64_t)tokens - pointers) << symbol_log2);
}

/* A stream whose parts before the payloads have been found. */
struct stream {
    const uint8_t *counts; /* of the pieces' tokens */
    const uint8_t *flags;
    unsigned symbol_log2;
    uint32_t window;
    uint32_t piece; /* bytes */
    uint32_t pieces;
    uint32_t body; /* bytes that are symbols */
};

static uint32_t tokens_of(const struct stream *s, uint32_t i)
{
    return bale_get16(s->counts + 2 * (size_t)i) + 1u;
}

/* Decodes the pieces with wanted bytes. */
static bool decode_pieces(const struct stream *s, struct place *p, struct bale_wanted wanted)
{
    uint8_t *raw = p->out;
    const uint8_t *flags = s->flags;
    uint32_t first = wanted.from / s->piece;

    for (uint32_t i = 0; i < s->pieces && i * (uint64_t)s->piece < wanted.to; i++) {
        uint32_t tokens = tokens_of(s, i), left = s->body - i * s->piece;
        if (i < first) {
            uint64_t bytes = payload_bytes(flags, tokens, s->symbol_log2);
            if (bytes > (size_t)(p->in_end - p->in))
                return false;
            p->in += bytes;
        } else {
            p->out = raw + (size_t)i * s->piece;
            p->out_end = p->out + (left < s->piece ? left : s->piece);
            p->enough = raw + wanted.to < p->out_end ? raw + wanted.to : p->out_end;
            if (!decode_any(p, flags, tokens, s->window, s->symbol_log2))
                return false;
        }
        flags += (tokens + 7) / 8;
    }
    return true;
}

int bale_lzss_decode(struct bale_lzss_geometry geometry, const uint8_t *in, uint32_t length,
                     uint8_t *raw, uint32_t raw_length, struct bale_wanted wanted)
{
    struct stream s = {.counts = in,
                       .symbol_log2 = geometry.symbol_log2,
                       .window = geometry.window,
                       .piece = 1u << geometry.piece_log2,
                       .body = raw_length >> geometry.symbol_log2 << geometry.symbol_log2};
    uint32_t tail = raw_length - s.body;
    uint64_t flag_bytes = 0;

    s.pieces = (s.body + s.piece - 1) / s.piece;
    s.flags = in + 2 * (size_t)s.pieces;
    if (length < 2 * (uint64_t)s.pieces + tail)
        return BALE_E_CORRUPT;
    for (uint32_t i = 0; i < s.pieces; i++)
        flag_bytes += (tokens_of(&s, i) + 7) / 8;
    if (flag_bytes > length - 2 * s.pieces - tail)
        return BALE_E_CORRUPT;
    struct place place = {.in = s.flags + flag_bytes,
                          .in_end = in + length - tail,
                          .in_limit = in + length,
                          .out = raw,
                          .out_limit = raw + raw_length};
    if (!decode_pieces(&s, &place, wanted))
        return BALE_E_CORRUPT;
    if (wanted.from == 0 && wanted.to == raw_length && place.in != place.in_end)
        return BALE_E_CORRUPT;
    memcpy(raw + s.body, place.in_end, tail);
    return BALE_OK;
}
