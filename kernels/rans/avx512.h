/* What steps with AVX-512 are made of: two vectors of 16 lanes a stream. VBMI looks symbols up in
 * registers; processors without it take AVX2. */
#ifndef BALE_KERNELS_RANS_AVX512_H
#define BALE_KERNELS_RANS_AVX512_H

#include "kernels/rans/vectors.h"

#ifdef BALE_RANS_X86
#include <immintrin.h>

#define BALE_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,bmi2,popcnt")))
#define BALE_AVX512_INLINE                                                                         \
    static inline                                                                                  \
        __attribute__((always_inline, target("avx512f,avx512bw,avx512vl,avx512vbmi,bmi2,popcnt")))

/* The first lanes of 16. */
BALE_AVX512_INLINE __mmask16 bale_avx512_first(size_t lanes)
{
    return (__mmask16)_bzhi_u32(0xffff, lanes < 16 ? (unsigned)lanes : 16);
}

BALE_AVX512_INLINE __m512i bale_avx512_bytes(const uint8_t *in)
{
    return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)in));
}

/* The words of the lanes of the mask, one after the other. */
BALE_AVX512_INLINE __m512i bale_avx512_spill(uint8_t **top, __m512i x, __mmask16 mask)
{
    __m256i words = _mm512_cvtepi32_epi16(_mm512_maskz_compress_epi32(mask, x));

    _mm256_storeu_si256((__m256i *)*top, words);
    *top += 2 * (unsigned)__builtin_popcount(mask);
    return _mm512_mask_srli_epi32(x, mask, x, 16);
}

/* A step of the lanes of the mask, with their symbols. The quotient of floats is wrong by one at
 * most. */
BALE_AVX512_INLINE __m512i bale_avx512_encode(uint8_t **top, __m512i x, __m512i symbol,
                                              unsigned bits, __mmask16 mask)
{
    const __m512i frequency = _mm512_srli_epi32(symbol, 16);
    const __m512i limit = _mm512_sll_epi32(frequency, _mm_cvtsi32_si128((int)(31 - bits)));
    const __m512i gap = _mm512_sub_epi32(_mm512_set1_epi32(1 << bits), frequency);
    __m512i quotient, rest, next;

    x = bale_avx512_spill(top, x, _mm512_mask_cmpge_epu32_mask(mask, x, limit));
    quotient =
        _mm512_cvttps_epi32(_mm512_div_ps(_mm512_cvtepi32_ps(x), _mm512_cvtepi32_ps(frequency)));
    rest = _mm512_sub_epi32(x, _mm512_mullo_epi32(quotient, frequency));
    next = _mm512_add_epi32(
        _mm512_add_epi32(_mm512_sll_epi32(quotient, _mm_cvtsi32_si128((int)bits)), rest),
        _mm512_and_si512(symbol, _mm512_set1_epi32(0xffff)));
    next = _mm512_mask_sub_epi32(next, _mm512_cmplt_epi32_mask(rest, _mm512_setzero_si512()), next,
                                 gap);
    next = _mm512_mask_add_epi32(next, _mm512_cmpge_epi32_mask(rest, frequency), next, gap);
    return _mm512_mask_mov_epi32(x, mask, next);
}

/* The lanes of both vectors that need a word get it. Returns where the words that are left end,
 * which may be before the first one: BALE_RANS_ROOM bytes there may be read. */
BALE_AVX512_INLINE const uint8_t *bale_avx512_refill(__m512i x[2], const uint8_t *words)
{
    const __m512i low = _mm512_set1_epi32(BALE_RANS_LOW);
    const __mmask16 need0 = _mm512_cmplt_epu32_mask(x[0], low);
    const __mmask16 need1 = _mm512_cmplt_epu32_mask(x[1], low);
    const uint8_t *word1 = words - 2 * (size_t)__builtin_popcount(need1);
    const uint8_t *word0 = word1 - 2 * (size_t)__builtin_popcount(need0);
    const __m512i next0 = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)word0));
    const __m512i next1 = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)word1));

    x[0] = _mm512_mask_or_epi32(x[0], need0, _mm512_slli_epi32(x[0], 16),
                                _mm512_maskz_expand_epi32(need0, next0));
    x[1] = _mm512_mask_or_epi32(x[1], need1, _mm512_slli_epi32(x[1], 16),
                                _mm512_maskz_expand_epi32(need1, next1));
    return word0;
}
#endif

#endif
