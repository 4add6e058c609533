/* Rounds in plain C, and which rounds a processor has. */
#include "kernels/rans/plain.h"
#include "kernels/lzr/rounds.h"
#include "kernels/rans/vectors.h"

#define TARGET
#define INLINE static inline
#define IS(condition) (0u - (uint32_t)(condition))

typedef uint32_t vector;
enum { PART = 1, STEP_LANES = LZR_STREAMS * BALE_RANS_LANES };

INLINE void step(vector x[STEP_LANES], const union lzr_classes *table,
                 const vector lanes[STEP_LANES], vector meaning[STEP_LANES])
{
    for (unsigned k = 0; k < STEP_LANES; k++) {
        const uint32_t slot = table->slots[x[k] & (LZR_SLOTS - 1)];
        const uint32_t next = ((slot & (LZR_SLOTS - 1)) + 1) * (x[k] >> LZR_CLASS_BITS) +
                              (slot >> LZR_CLASS_BITS & (LZR_SLOTS - 1));
        meaning[k] = slot >> 2 * LZR_CLASS_BITS & lanes[k];
        x[k] = lanes[k] ? next : x[k];
    }
}

INLINE const uint8_t *refill(vector x[BALE_RANS_LANES], const uint8_t *words)
{
    return bale_rans_plain_refill(x, words);
}

INLINE vector first_lanes(uint32_t lanes, unsigned from)
{
    return IS(lanes > from);
}

INLINE bool is_any(vector lane)
{
    return lane != 0;
}

INLINE uint32_t sum_of(const vector lanes[BALE_RANS_LANES])
{
    uint32_t sum = 0;

    for (unsigned k = 0; k < BALE_RANS_LANES; k++)
        sum += lanes[k];
    return sum;
}

INLINE uint32_t zero_lanes(const vector lanes[BALE_RANS_LANES])
{
    uint32_t mask = 0;

    for (unsigned k = 0; k < BALE_RANS_LANES; k++)
        mask |= (uint32_t)(lanes[k] == 0) << k;
    return mask;
}

INLINE void put_words(uint16_t out[LZR_ROUND], const vector lanes[BALE_RANS_LANES])
{
    for (unsigned k = 0; k < BALE_RANS_LANES; k++)
        out[k] = (uint16_t)lanes[k];
}

INLINE void get_bytes(const uint8_t in[LZR_ROUND], vector lanes[BALE_RANS_LANES])
{
    for (unsigned k = 0; k < BALE_RANS_LANES; k++)
        lanes[k] = in[k];
}

INLINE void get_words(const uint16_t in[LZR_ROUND], vector lanes[BALE_RANS_LANES])
{
    for (unsigned k = 0; k < BALE_RANS_LANES; k++)
        lanes[k] = in[k];
}

INLINE void put_bytes(uint8_t out[LZR_ROUND], const vector lanes[BALE_RANS_LANES])
{
    for (unsigned k = 0; k < BALE_RANS_LANES; k++)
        out[k] = (uint8_t)lanes[k];
}

INLINE vector log2_quarters(vector value)
{
    unsigned bits = lzr_log2(value | 4);

    return 4 * bits + (value >> (bits - 2) & 3);
}

INLINE uint8_t *spill(vector x[BALE_RANS_LANES], uint8_t *top, const vector lanes[BALE_RANS_LANES])
{
    for (unsigned k = 0; k < BALE_RANS_LANES; k++)
        x[k] = bale_rans_plain_spill(x[k], lanes[k] ? 0 : UINT32_MAX, &top);
    return top;
}

INLINE uint8_t *encode_symbols(vector x[BALE_RANS_LANES], uint8_t *top,
                               const bale_rans_symbol *symbols,
                               const vector classes[BALE_RANS_LANES],
                               const vector lanes[BALE_RANS_LANES])
{
    for (unsigned k = 0; k < BALE_RANS_LANES; k++)
        if (lanes[k])
            x[k] = bale_rans_plain_encode(x[k], symbols[classes[k]], LZR_CLASS_BITS, &top);
    return top;
}

#include "kernels/lzr/rounds_decode.inc"
#include "kernels/lzr/rounds_encode.inc"

static const struct lzr_rounds plain = {
    .steps = &bale_rans_plain,
    .make_table = lzr_make_slots,
    .decode = decode,
    .classify = classify,
    .encode = encode,
};

const struct lzr_rounds *lzr_rounds_with(const struct bale_rans_steps *steps)
{
#ifdef BALE_RANS_X86
    if (steps == &bale_rans_avx512)
        return &lzr_avx512;
    if (steps == &bale_rans_avx2)
        return &lzr_avx2;
#endif
    return &plain;
}

const struct lzr_rounds *lzr_rounds(void)
{
    return lzr_rounds_with(bale_rans_steps_at(0));
}
