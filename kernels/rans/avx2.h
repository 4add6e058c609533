/* What steps with AVX2 are made of: four vectors of 8 lanes a stream. */
#ifndef BALE_KERNELS_RANS_AVX2_H
#define BALE_KERNELS_RANS_AVX2_H

#include "kernels/rans/vectors.h"

#ifdef BALE_RANS_X86
#include <immintrin.h>

#define BALE_AVX2 __attribute__((target("avx2,bmi2,popcnt")))
#define BALE_AVX2_INLINE static inline __attribute__((always_inline, target("avx2,bmi2,popcnt")))

enum { BALE_AVX2_PART = 8, BALE_AVX2_PARTS = BALE_RANS_LANES / BALE_AVX2_PART };

/* For each mask of 8 lanes, byte k: how many lanes of it are below lane k (expand); which lane is
 * its k-th (compress). */
extern const uint64_t bale_avx2_expand[256], bale_avx2_compress[256];

BALE_AVX2_INLINE __m256i bale_avx2_bytes(const void *in)
{
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)in));
}

BALE_AVX2_INLINE unsigned bale_avx2_mask(__m256i lanes)
{
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(lanes));
}

BALE_AVX2_INLINE __m256i bale_avx2_blend(__m256i lanes, __m256i yes, __m256i no)
{
    return _mm256_blendv_epi8(no, yes, lanes);
}

/* The low bytes of the lanes. */
BALE_AVX2_INLINE void bale_avx2_put_bytes(uint8_t *out, const __m256i symbol[BALE_AVX2_PARTS])
{
    const __m256i words0 = _mm256_packus_epi32(symbol[0], symbol[1]);
    const __m256i words1 = _mm256_packus_epi32(symbol[2], symbol[3]);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);

    _mm256_storeu_si256((__m256i *)out,
                        _mm256_permutevar8x32_epi32(_mm256_packus_epi16(words0, words1), order));
}

/* The lanes below lanes, of those from first on. */
BALE_AVX2_INLINE __m256i bale_avx2_first(size_t lanes, unsigned first)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);

    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)lanes - (int)first), lane);
}

/* The low halves of the lanes, as 8 words. */
BALE_AVX2_INLINE __m128i bale_avx2_words(__m256i x)
{
    const __m256i low = _mm256_and_si256(x, _mm256_set1_epi32(0xffff));
    const __m256i packed = _mm256_packus_epi32(low, low);

    return _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0x08));
}

/* The words of the lanes, one after the other. */
BALE_AVX2_INLINE __m256i bale_avx2_spill(uint8_t **top, __m256i x, __m256i lanes)
{
    const unsigned mask = bale_avx2_mask(lanes);

    _mm_storeu_si128((__m128i *)*top, bale_avx2_words(_mm256_permutevar8x32_epi32(
                                          x, bale_avx2_bytes(&bale_avx2_compress[mask]))));
    *top += 2 * (unsigned)__builtin_popcount(mask);
    return bale_avx2_blend(lanes, _mm256_srli_epi32(x, 16), x);
}

/* A step of the lanes, with their symbols. The quotient of floats is wrong by one at most. */
BALE_AVX2_INLINE __m256i bale_avx2_encode(uint8_t **top, __m256i x, __m256i symbol, unsigned bits,
                                          __m256i lanes)
{
    const __m256i frequency = _mm256_srli_epi32(symbol, 16);
    const __m256i most = _mm256_sub_epi32(
        _mm256_sll_epi32(frequency, _mm_cvtsi32_si128((int)(31 - bits))), _mm256_set1_epi32(1));
    const __m256i gap = _mm256_sub_epi32(_mm256_set1_epi32(1 << bits), frequency);
    __m256i quotient, rest, next;

    x = bale_avx2_spill(top, x, _mm256_and_si256(lanes, _mm256_cmpgt_epi32(x, most)));
    quotient =
        _mm256_cvttps_epi32(_mm256_div_ps(_mm256_cvtepi32_ps(x), _mm256_cvtepi32_ps(frequency)));
    rest = _mm256_sub_epi32(x, _mm256_mullo_epi32(quotient, frequency));
    next = _mm256_add_epi32(
        _mm256_add_epi32(_mm256_sll_epi32(quotient, _mm_cvtsi32_si128((int)bits)), rest),
        _mm256_and_si256(symbol, _mm256_set1_epi32(0xffff)));
    next = _mm256_sub_epi32(next, _mm256_and_si256(_mm256_srai_epi32(rest, 31), gap));
    next = _mm256_add_epi32(next, _mm256_andnot_si256(_mm256_cmpgt_epi32(frequency, rest), gap));
    return bale_avx2_blend(lanes, next, x);
}

BALE_AVX2_INLINE __m256i bale_avx2_symbols(const bale_rans_symbol *symbols, __m256i of,
                                           __m256i lanes)
{
    return _mm256_mask_i32gather_epi32(_mm256_set1_epi32(1 << 16), (const int *)symbols, of, lanes,
                                       sizeof *symbols);
}

/* The lanes that need a word get it. Returns where the words that are left end, which may be before
 * the first one: BALE_RANS_ROOM bytes there may be read. States are below 2^31. */
BALE_AVX2_INLINE const uint8_t *bale_avx2_refill(__m256i x[BALE_AVX2_PARTS], const uint8_t *words)
{
    const __m256i low = _mm256_set1_epi32(BALE_RANS_LOW);

    for (unsigned k = BALE_AVX2_PARTS; k-- > 0;) {
        const __m256i need = _mm256_cmpgt_epi32(low, x[k]);
        const unsigned mask = bale_avx2_mask(need);
        __m256i next;
        words -= 2 * (size_t)__builtin_popcount(mask);
        next = _mm256_permutevar8x32_epi32(
            _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)words)),
            bale_avx2_bytes(&bale_avx2_expand[mask]));
        x[k] = bale_avx2_blend(need, _mm256_or_si256(_mm256_slli_epi32(x[k], 16), next), x[k]);
    }
    return words;
}

/* The states behind the symbols; lanes that take no part keep theirs. Sets the symbols, which are 0
 * there. */
BALE_AVX2_INLINE __m256i bale_avx2_decode(__m256i x, const bale_rans_slot *slots, __m256i base,
                                          unsigned bits, __m256i lanes, __m256i *symbol)
{
    const __m256i low = _mm256_set1_epi32((1 << bits) - 1);
    const __m256i at = _mm256_add_epi32(base, _mm256_and_si256(x, low));
    const __m256i slot = _mm256_i32gather_epi32((const int *)slots, at, sizeof *slots);
    const __m256i frequency = _mm256_add_epi32(_mm256_and_si256(slot, low), _mm256_set1_epi32(1));
    const __m256i rest = _mm256_srli_epi32(slot, (int)bits);

    *symbol = _mm256_and_si256(lanes, _mm256_srli_epi32(rest, (int)bits));
    return bale_avx2_blend(
        lanes,
        _mm256_add_epi32(_mm256_mullo_epi32(frequency, _mm256_srli_epi32(x, (int)bits)),
                         _mm256_and_si256(rest, low)),
        x);
}
#endif

#endif
