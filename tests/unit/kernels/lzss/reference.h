/* Streams as kernels/lzss/spec.md has them, by brute force: slow, and without a thought of speed.
 * Shares nothing with what it tests but the accessors of bytes. */
#ifndef BALE_TESTS_UNIT_KERNELS_LZSS_REFERENCE_H
#define BALE_TESTS_UNIT_KERNELS_LZSS_REFERENCE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "format/bytes.h"

struct reference_how {
    uint32_t symbol, piece, window; /* bytes, bytes, symbols */
};

static inline uint32_t reference_length(const uint8_t *s, uint32_t i, uint32_t distance,
                                        uint32_t most, uint32_t symbol)
{
    const uint8_t *before = s + (size_t)(i - distance) * symbol;
    const uint8_t *here = s + (size_t)i * symbol;
    uint32_t same = 0;

    while (same < most * symbol && before[same] == here[same])
        same++;
    return same / symbol;
}

/* One piece of count symbols. Returns the number of tokens; *payload is moved on. flags are
 * zeros. */
static inline uint32_t reference_piece(struct reference_how how, const uint8_t *s, uint32_t count,
                                       uint8_t *flags, uint8_t **payload)
{
    uint32_t least = 2 / how.symbol + 1;
    uint32_t tokens = 0;

    for (uint32_t i = 0; i < count; tokens++) {
        uint32_t most = count - i < 255 + least ? count - i : 255 + least;
        uint32_t length = 0, distance = 0;
        for (uint32_t d = 1; d <= how.window && d <= i; d++) {
            uint32_t n = reference_length(s, i, d, most, how.symbol);
            if (n > length) {
                length = n;
                distance = d;
            }
        }
        if (length >= least) {
            flags[tokens / 8] |= (uint8_t)(1u << tokens % 8);
            *(*payload)++ = (uint8_t)(distance - 1);
            *(*payload)++ = (uint8_t)(length - least);
            i += length;
        } else {
            memcpy(*payload, s + (size_t)i * how.symbol, how.symbol);
            *payload += how.symbol;
            i++;
        }
    }
    return tokens;
}

/* The stream of a chunk, whatever its length; out has room for 2 * length + 64. */
static inline size_t reference_encode(struct reference_how how, const uint8_t *raw, uint32_t length,
                                      uint8_t *out, uint8_t *room)
{
    uint32_t body = length / how.symbol * how.symbol;
    uint32_t pieces = (body + how.piece - 1) / how.piece;
    uint8_t *flags = out + 2 * (size_t)pieces;
    uint8_t *payload = room;

    memset(out, 0, 2 * (size_t)length + 64);
    for (uint32_t i = 0; i < pieces; i++) {
        uint32_t begin = i * how.piece;
        uint32_t bytes = body - begin < how.piece ? body - begin : how.piece;
        uint32_t tokens = reference_piece(how, raw + begin, bytes / how.symbol, flags, &payload);
        bale_put16(out + 2 * (size_t)i, (uint16_t)(tokens - 1));
        flags += (tokens + 7) / 8;
    }
    memcpy(flags, room, (size_t)(payload - room));
    flags += payload - room;
    memcpy(flags, raw + body, length - body);
    return (size_t)(flags - out) + (length - body);
}

#endif
