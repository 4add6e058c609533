/* The encoder's search: from bytes to sequences. */
#ifndef BALE_KERNELS_LZR_SEARCH_H
#define BALE_KERNELS_LZR_SEARCH_H

#include <string.h>

#include "kernels/lzr/emit.h"
#include "kernels/lzr/lzr.h"

enum {
    LZR_SEARCH_TAIL = 12, /* bytes at the end where no match begins: hashes read 8 */

    LZR_FAST_SHORT = 14,
    LZR_FAST_LONG = 13,

    LZR_FULL_BITS4 = 14,
    LZR_FULL_BITS8 = 14,
};

/* The last position of each hash of 5 and of 8 bytes; 0: there is none. */
struct lzr_fast {
    uint16_t by5[1 << LZR_FAST_SHORT];
    uint16_t by8[1 << LZR_FAST_LONG];
};

struct lzr_full {
    struct lzr_fast fast;
    /* The last position of each hash of so many bytes. */
    uint16_t by4[1 << LZR_FULL_BITS4];
    uint16_t by8[1 << LZR_FULL_BITS8];
    uint32_t candidates[LZR_CHUNK]; /* of each position: by four bytes, and << 16 by eight */
};

static inline uint32_t lzr_load32(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint64_t lzr_load64(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

/* The hash of the first bytes of p; 8 bytes of p are read. */
static inline uint32_t lzr_hash(const uint8_t *p, unsigned bytes, unsigned bits)
{
    return (uint32_t)((lzr_load64(p) << (64 - 8 * bytes)) * UINT64_C(0x9e3779b97f4a7c15) >>
                      (64 - bits));
}

/* How far a and b agree; b is the later one, and ends at end. */
static inline uint32_t lzr_agree(const uint8_t *a, const uint8_t *b, const uint8_t *end)
{
    const uint8_t *from = b;

    while (end - b >= 8) {
        uint64_t difference = lzr_load64(a) ^ lzr_load64(b);
        if (difference != 0)
            return (uint32_t)(b - from) + ((uint32_t)__builtin_ctzll(difference) >> 3);
        a += 8;
        b += 8;
    }
    for (; b < end && *a == *b; a++)
        b++;
    return (uint32_t)(b - from);
}

/* Level 1: skips where nothing is found. */
void lzr_search_fast(struct lzr_fast *fast, const uint8_t *raw, uint32_t length,
                     struct lzr_found *found);

/* Level 2: the best of several matches, or a better one that begins later. */
void lzr_search_full(struct lzr_full *full, const uint8_t *raw, uint32_t length,
                     struct lzr_found *found);

#endif
