/* Rounds with AVX2. */
#include "kernels/rans/avx2.h"

#ifdef BALE_RANS_X86
#include "kernels/lzr/rounds.h"

#define TARGET BALE_AVX2
#define INLINE BALE_AVX2_INLINE
#define IS(condition) ((vector)(condition))

typedef uint32_t vector __attribute__((vector_size(32), may_alias));
enum { PART = BALE_AVX2_PART, STEP_PARTS = LZR_STREAMS * BALE_AVX2_PARTS };

INLINE void step(vector x[STEP_PARTS], const union lzr_classes *table,
                 const vector lanes[STEP_PARTS], vector meaning[STEP_PARTS])
{
    for (unsigned k = 0; k < STEP_PARTS; k++)
        x[k] = (vector)bale_avx2_decode((__m256i)x[k], table->slots, _mm256_setzero_si256(),
                                        LZR_CLASS_BITS, (__m256i)lanes[k], (__m256i *)&meaning[k]);
}

INLINE const uint8_t *refill(vector x[BALE_AVX2_PARTS], const uint8_t *words)
{
    return bale_avx2_refill((__m256i *)x, words);
}

INLINE vector first_lanes(uint32_t lanes, unsigned from)
{
    return (vector)bale_avx2_first(lanes, from);
}

INLINE bool is_any(vector lanes)
{
    return !_mm256_testz_si256((__m256i)lanes, (__m256i)lanes);
}

INLINE uint32_t sum_of(const vector lanes[BALE_AVX2_PARTS])
{
    const vector eight = lanes[0] + lanes[1] + lanes[2] + lanes[3];

    return eight[0] + eight[1] + eight[2] + eight[3] + eight[4] + eight[5] + eight[6] + eight[7];
}

INLINE uint32_t zero_lanes(const vector lanes[BALE_AVX2_PARTS])
{
    uint32_t mask = 0;

    for (unsigned k = 0; k < BALE_AVX2_PARTS; k++)
        mask |= bale_avx2_mask((__m256i)(lanes[k] == 0)) << PART * k;
    return mask;
}

INLINE void put_words(uint16_t out[LZR_ROUND], const vector lanes[BALE_AVX2_PARTS])
{
    for (unsigned k = 0; k < BALE_AVX2_PARTS; k += 2) {
        const __m256i words = _mm256_packus_epi32((__m256i)lanes[k], (__m256i)lanes[k + 1]);
        _mm256_storeu_si256((__m256i *)(out + PART * k), _mm256_permute4x64_epi64(words, 0xd8));
    }
}

INLINE void get_bytes(const uint8_t in[LZR_ROUND], vector lanes[BALE_AVX2_PARTS])
{
    for (unsigned k = 0; k < BALE_AVX2_PARTS; k++)
        lanes[k] = (vector)bale_avx2_bytes(in + PART * k);
}

INLINE void get_words(const uint16_t in[LZR_ROUND], vector lanes[BALE_AVX2_PARTS])
{
    for (unsigned k = 0; k < BALE_AVX2_PARTS; k++)
        lanes[k] = (vector)_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(in + PART * k)));
}

INLINE void put_bytes(uint8_t out[LZR_ROUND], const vector lanes[BALE_AVX2_PARTS])
{
    bale_avx2_put_bytes(out, (const __m256i *)lanes);
}

/* The exponent and the first bits of a float. */
INLINE vector log2_quarters(vector value)
{
    return ((vector)_mm256_cvtepi32_ps((__m256i)value) >> 21) - 4 * 127;
}

INLINE uint8_t *spill(vector x[BALE_AVX2_PARTS], uint8_t *top, const vector lanes[BALE_AVX2_PARTS])
{
    for (unsigned k = 0; k < BALE_AVX2_PARTS; k++)
        x[k] = (vector)bale_avx2_spill(&top, (__m256i)x[k], (__m256i)lanes[k]);
    return top;
}

INLINE uint8_t *encode_symbols(vector x[BALE_AVX2_PARTS], uint8_t *top,
                               const bale_rans_symbol *symbols,
                               const vector classes[BALE_AVX2_PARTS],
                               const vector lanes[BALE_AVX2_PARTS])
{
    for (unsigned k = 0; k < BALE_AVX2_PARTS; k++)
        x[k] = (vector)bale_avx2_encode(
            &top, (__m256i)x[k], bale_avx2_symbols(symbols, (__m256i)classes[k], (__m256i)lanes[k]),
            LZR_CLASS_BITS, (__m256i)lanes[k]);
    return top;
}

#include "kernels/lzr/rounds_decode.inc"
#include "kernels/lzr/rounds_encode.inc"

const struct lzr_rounds lzr_avx2 = {
    .steps = &bale_rans_avx2,
    .make_table = lzr_make_slots,
    .decode = decode,
    .classify = classify,
    .encode = encode,
};
#endif
