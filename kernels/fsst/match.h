/* Finding the longest symbol at a place (spec.md, Matching). */
#ifndef BALE_KERNELS_FSST_MATCH_H
#define BALE_KERNELS_FSST_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "format/bytes.h"
#include "kernels/fsst/fsst.h"

enum {
    FSST_LONG_LOG2 = BALE_FSST_LONG_LOG2, /* slots of symbols of three bytes and more */
    FSST_PAIR_LOG2 = BALE_FSST_PAIR_LOG2, /* slots of symbols of two bytes */
    FSST_LONGS = 1 << FSST_LONG_LOG2,
    FSST_PAIRS = 1 << FSST_PAIR_LOG2,
    FSST_LITERAL = 256, /* the code of a byte that has no symbol: this plus the byte */
};

/* A code, and from bit 16 on how many bytes it stands for. */
typedef uint32_t fsst_match;

#define FSST_MATCH(code, length) ((fsst_match)(code) | (fsst_match)(length) << 16)

static inline uint32_t fsst_match_code(fsst_match match)
{
    return match & 0xffff;
}

static inline uint32_t fsst_match_length(fsst_match match)
{
    return match >> 16;
}

/* What the slot of the first three bytes has. */
struct fsst_long {
    uint64_t bytes;
    uint32_t shift; /* 64 less the bits of the symbol */
    fsst_match match;
};

/* What the slot of the two bytes has. */
struct fsst_pair {
    uint32_t bytes;
    fsst_match match;
};

/* An empty slot has bytes that belong to another one, so nothing matches it. */
struct fsst_matcher {
    struct fsst_long longs[FSST_LONGS];
    struct fsst_pair pairs[FSST_PAIRS];
    fsst_match singles[256]; /* also of bytes without a symbol: FSST_LITERAL and more */
};

/* The symbols have slots of their own: no two share one. */
void fsst_matcher_build(struct fsst_matcher *matcher, const struct fsst_symbols *symbols);

static inline uint32_t fsst_long_slot(uint64_t bytes)
{
    return ((uint32_t)(bytes & 0xffffff) * UINT32_C(0x9e3779b1)) >> (32 - FSST_LONG_LOG2);
}

static inline uint32_t fsst_pair_slot(uint64_t bytes)
{
    return ((uint32_t)(bytes & 0xffff) * UINT32_C(0x9e3779b1)) >> (32 - FSST_PAIR_LOG2);
}

/* a if yes, else b; without a branch, which nobody could predict. */
static inline fsst_match fsst_pick(bool yes, fsst_match a, fsst_match b)
{
    return b ^ ((a ^ b) & (0 - (fsst_match)yes));
}

/* The longest symbol that eight bytes begin with. */
static inline fsst_match fsst_match_eight(const struct fsst_matcher *m, uint64_t bytes)
{
    const struct fsst_long *three = &m->longs[fsst_long_slot(bytes)];
    const struct fsst_pair *two = &m->pairs[fsst_pair_slot(bytes)];
    fsst_match match = m->singles[bytes & 0xff];

    match = fsst_pick(two->bytes == (uint16_t)bytes, two->match, match);
    return fsst_pick((three->bytes ^ bytes) << three->shift == 0, three->match, match);
}

/* The same of left bytes, 1 to 7: a symbol does not reach behind them. */
static inline fsst_match fsst_match_left(const struct fsst_matcher *m, uint64_t bytes,
                                         uint32_t left)
{
    const struct fsst_long *three = &m->longs[fsst_long_slot(bytes)];
    const struct fsst_pair *two = &m->pairs[fsst_pair_slot(bytes)];

    if ((three->bytes ^ bytes) << three->shift == 0 && fsst_match_length(three->match) <= left)
        return three->match;
    if (two->bytes == (uint16_t)bytes && left >= 2)
        return two->match;
    return m->singles[bytes & 0xff];
}

/* The bytes that are left, 1 to 7, and then zeros. */
static inline uint64_t fsst_load_left(const uint8_t *in, uint32_t left)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < left; i++)
        bytes |= (uint64_t)in[i] << 8 * i;
    return bytes;
}

#endif
