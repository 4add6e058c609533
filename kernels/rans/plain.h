/* What steps in plain C are made of. */
#ifndef BALE_KERNELS_RANS_PLAIN_H
#define BALE_KERNELS_RANS_PLAIN_H

#include "format/bytes.h"
#include "kernels/rans/rans.h"

/* The state behind a symbol; its word, if it spills one, goes to *top. */
static inline uint32_t bale_rans_plain_spill(uint32_t x, uint32_t limit, uint8_t **top)
{
    bale_put16(*top, (uint16_t)x);
    *top += x >= limit ? 2 : 0;
    return x >= limit ? x >> 16 : x;
}

static inline uint32_t bale_rans_plain_encode(uint32_t x, bale_rans_symbol symbol, unsigned bits,
                                              uint8_t **top)
{
    uint32_t frequency = symbol >> 16;

    x = bale_rans_plain_spill(x, frequency << (31 - bits), top);
    return (x / frequency << bits) + x % frequency + (symbol & 0xffffu);
}

/* The lanes that need a word get it. Returns where the words that are left end, which may be before
 * the first one: BALE_RANS_STEP bytes there may be read. Without branches, which would often go the
 * other way. */
static inline const uint8_t *bale_rans_plain_refill(uint32_t x[BALE_RANS_LANES],
                                                    const uint8_t *words)
{
    for (unsigned lane = BALE_RANS_LANES; lane-- > 0;) {
        uint32_t refilled = x[lane] << 16 | bale_get16(words - 2);
        words -= x[lane] < BALE_RANS_LOW ? 2 : 0;
        x[lane] = x[lane] < BALE_RANS_LOW ? refilled : x[lane];
    }
    return words;
}

#endif
