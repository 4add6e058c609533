/* The steps with AVX-512: two vectors of 16 lanes. */
#include "kernels/rans/vectors.h"

#ifdef BALE_RANS_X86
#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl")))
#define INLINE512 static inline __attribute__((always_inline, target("avx512f,avx512bw,avx512vl")))

enum { HALF = 16, LOW = 15, HIGH = 31, WORD = 2 };

/* The words of the lanes of the mask, one after the other. */
INLINE512 __m512i spill(uint8_t **top, __m512i x, __mmask16 mask)
{
    __m256i words = _mm512_cvtepi32_epi16(_mm512_maskz_compress_epi32(mask, x));

    _mm256_storeu_si256((__m256i *)*top, words);
    *top += WORD * (unsigned)__builtin_popcount(mask);
    return _mm512_mask_srli_epi32(x, mask, x, 16);
}

/* A step of the lanes of the mask, with their symbols. The quotient of floats is wrong by one at
 * most. */
INLINE512 __m512i encode_half(uint8_t **top, __m512i x, __m512i symbol, unsigned bits,
                              __mmask16 mask)
{
    const __m512i frequency = _mm512_srli_epi32(symbol, 16);
    const __m512i limit = _mm512_sll_epi32(frequency, _mm_cvtsi32_si128((int)(HIGH - bits)));
    const __m512i gap = _mm512_sub_epi32(_mm512_set1_epi32(1 << bits), frequency);
    __m512i quotient, rest, next;

    x = spill(top, x, _mm512_mask_cmpge_epu32_mask(mask, x, limit));
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

INLINE512 __m512i bytes_of(const uint8_t *in)
{
    return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)in));
}

INLINE512 __mmask16 first_lanes(unsigned lanes)
{
    return (__mmask16)(lanes >= HALF ? 0xffffu : (1u << lanes) - 1);
}

AVX512 static void encode(struct bale_rans_stream *stream, const bale_rans_symbol *symbols,
                          unsigned bits, const uint8_t in[BALE_RANS_LANES], uint8_t absent)
{
    for (unsigned half = 0; half < BALE_RANS_LANES; half += HALF) {
        const __m512i of = bytes_of(in + half);
        const __mmask16 mask = _mm512_cmpneq_epi32_mask(of, _mm512_set1_epi32(absent));
        const __m512i symbol = _mm512_mask_i32gather_epi32(_mm512_set1_epi32(1 << 16), mask, of,
                                                           symbols, sizeof *symbols);
        const __m512i x = _mm512_load_si512(stream->state + half);
        _mm512_store_si512(stream->state + half, encode_half(&stream->top, x, symbol, bits, mask));
    }
}

AVX512 static void encode_raw(struct bale_rans_stream *stream,
                              const uint32_t value[BALE_RANS_LANES],
                              const uint8_t count[BALE_RANS_LANES])
{
    for (unsigned half = 0; half < BALE_RANS_LANES; half += HALF) {
        const __m512i bits = bytes_of(count + half);
        const __m512i limit = _mm512_sllv_epi32(_mm512_set1_epi32(1),
                                                _mm512_sub_epi32(_mm512_set1_epi32(HIGH), bits));
        __m512i x = _mm512_load_si512(stream->state + half);
        /* No bits: the limit is 2^31. */
        x = spill(&stream->top, x, _mm512_cmpge_epu32_mask(x, limit));
        x = _mm512_or_si512(_mm512_sllv_epi32(x, bits), _mm512_loadu_si512(value + half));
        _mm512_store_si512(stream->state + half, x);
    }
}

INLINE512 __m512i symbols_of(const bale_rans_symbol *symbols, const uint8_t *in,
                             const uint8_t *table, __mmask16 mask)
{
    __m512i of = bytes_of(in);

    if (table)
        of = _mm512_or_si512(of, _mm512_slli_epi32(bytes_of(table), 8));
    return _mm512_mask_i32gather_epi32(_mm512_set1_epi32(1 << 16), mask, of, symbols,
                                       sizeof *symbols);
}

INLINE512 void encode_all(struct bale_rans_stream *stream, const bale_rans_symbol *symbols,
                          unsigned bits, const uint8_t *in, const uint8_t *table, size_t count)
{
    __m512i x0 = _mm512_load_si512(stream->state), x1 = _mm512_load_si512(stream->state + HALF);
    uint8_t *top = stream->top;

    while (count > 0) {
        const unsigned lanes = (unsigned)(count - 1) % BALE_RANS_LANES + 1;
        const __mmask16 mask0 = first_lanes(lanes);
        const __mmask16 mask1 = first_lanes(lanes > HALF ? lanes - HALF : 0);
        count -= lanes;
        x0 = encode_half(&top, x0,
                         symbols_of(symbols, in + count, table ? table + count : NULL, mask0), bits,
                         mask0);
        x1 = encode_half(
            &top, x1,
            symbols_of(symbols, in + count + HALF, table ? table + count + HALF : NULL, mask1),
            bits, mask1);
    }
    stream->top = top;
    _mm512_store_si512(stream->state, x0);
    _mm512_store_si512(stream->state + HALF, x1);
}

AVX512 static void encode_bytes(struct bale_rans_stream *stream, const bale_rans_symbol *symbols,
                                unsigned bits, const uint8_t *in, const uint8_t *table,
                                size_t count)
{
    if (table)
        encode_all(stream, symbols, bits, in, table, count);
    else
        encode_all(stream, symbols, bits, in, NULL, count);
}

/* The lanes of both halves that need a word get it. */
INLINE512 bool refill(const uint8_t **words, const uint8_t *first, __m512i *x0, __m512i *x1)
{
    const __m512i low = _mm512_set1_epi32(1 << LOW);
    const __mmask16 need0 = _mm512_cmplt_epu32_mask(*x0, low);
    const __mmask16 need1 = _mm512_cmplt_epu32_mask(*x1, low);
    const size_t bytes0 = WORD * (size_t)__builtin_popcount(need0);
    const size_t bytes = bytes0 + WORD * (size_t)__builtin_popcount(need1);
    __m512i word0, word1;

    if ((size_t)(*words - first) < bytes)
        return false;
    *words -= bytes;
    word0 = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)*words));
    word1 = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(*words + bytes0)));
    *x0 = _mm512_mask_or_epi32(*x0, need0, _mm512_slli_epi32(*x0, 16),
                               _mm512_maskz_expand_epi32(need0, word0));
    *x1 = _mm512_mask_or_epi32(*x1, need1, _mm512_slli_epi32(*x1, 16),
                               _mm512_maskz_expand_epi32(need1, word1));
    return true;
}

/* The states behind the symbols; lanes that are not of the mask keep theirs. */
INLINE512 __m512i decode_half(__m512i x, const bale_rans_slot *slots, __m512i base, unsigned bits,
                              __mmask16 mask, __m512i *symbol)
{
    const __m512i low = _mm512_set1_epi32((1 << bits) - 1);
    const __m128i by = _mm_cvtsi32_si128((int)bits);
    const __m512i at = _mm512_or_si512(base, _mm512_and_si512(x, low));
    const __m512i slot = _mm512_i32gather_epi32(at, slots, sizeof *slots);
    const __m512i frequency = _mm512_add_epi32(_mm512_and_si512(slot, low), _mm512_set1_epi32(1));
    const __m512i rest = _mm512_srl_epi32(slot, by);

    *symbol = _mm512_srl_epi32(rest, by);
    return _mm512_mask_add_epi32(x, mask, _mm512_mullo_epi32(frequency, _mm512_srl_epi32(x, by)),
                                 _mm512_and_si512(rest, low));
}

INLINE512 void put_bytes(uint8_t *out, __m512i symbol, __mmask16 mask)
{
    _mm_storeu_si128((__m128i *)out, _mm512_cvtepi32_epi8(_mm512_maskz_mov_epi32(mask, symbol)));
}

AVX512 static bool decode(struct bale_rans_stream *stream, const bale_rans_slot *slots,
                          unsigned bits, uint32_t mask, uint8_t out[BALE_RANS_LANES],
                          uint8_t symbol, uint32_t *others)
{
    const __mmask16 mask0 = (__mmask16)mask, mask1 = (__mmask16)(mask >> HALF);
    const __m512i same = _mm512_set1_epi32(symbol), zero = _mm512_setzero_si512();
    __m512i x0 = _mm512_load_si512(stream->state), x1 = _mm512_load_si512(stream->state + HALF);
    __m512i symbol0, symbol1;
    bool good;

    x0 = decode_half(x0, slots, zero, bits, mask0, &symbol0);
    x1 = decode_half(x1, slots, zero, bits, mask1, &symbol1);
    put_bytes(out, symbol0, mask0);
    put_bytes(out + HALF, symbol1, mask1);
    *others = (uint32_t)_mm512_mask_cmpneq_epi32_mask(mask0, symbol0, same) |
              (uint32_t)_mm512_mask_cmpneq_epi32_mask(mask1, symbol1, same) << HALF;
    good = refill(&stream->words, stream->first, &x0, &x1);
    _mm512_store_si512(stream->state, x0);
    _mm512_store_si512(stream->state + HALF, x1);
    return good;
}

AVX512 static bool decode_raw(struct bale_rans_stream *stream, uint32_t value[BALE_RANS_LANES],
                              const uint8_t count[BALE_RANS_LANES])
{
    __m512i x[2];
    bool good;

    for (unsigned half = 0; half < 2; half++) {
        const __m512i bits = bytes_of(count + HALF * half);
        x[half] = _mm512_load_si512(stream->state + HALF * half);
        _mm512_storeu_si512(
            value + HALF * half,
            _mm512_andnot_si512(_mm512_sllv_epi32(_mm512_set1_epi32(-1), bits), x[half]));
        x[half] = _mm512_srlv_epi32(x[half], bits);
    }
    good = refill(&stream->words, stream->first, &x[0], &x[1]);
    _mm512_store_si512(stream->state, x[0]);
    _mm512_store_si512(stream->state + HALF, x[1]);
    return good;
}

INLINE512 bool decode_all(struct bale_rans_stream *stream, const bale_rans_slot *slots,
                          unsigned bits, uint8_t *out, const uint8_t *table, size_t count)
{
    const __m128i by = _mm_cvtsi32_si128((int)bits);
    __m512i x0 = _mm512_load_si512(stream->state), x1 = _mm512_load_si512(stream->state + HALF);
    __m512i base0 = _mm512_setzero_si512(), base1 = base0;
    const uint8_t *words = stream->words;
    bool good = true;

    for (size_t at = 0; good && at < count; at += BALE_RANS_LANES) {
        const size_t left = count - at;
        const __mmask16 mask0 = first_lanes(left < HALF ? (unsigned)left : HALF);
        const __mmask16 mask1 = first_lanes(left < HALF              ? 0
                                            : left < BALE_RANS_LANES ? (unsigned)left - HALF
                                                                     : HALF);
        __m512i symbol0, symbol1;
        if (table) {
            base0 = _mm512_maskz_sll_epi32(mask0, bytes_of(table + at), by);
            base1 = _mm512_maskz_sll_epi32(mask1, bytes_of(table + at + HALF), by);
        }
        x0 = decode_half(x0, slots, base0, bits, mask0, &symbol0);
        x1 = decode_half(x1, slots, base1, bits, mask1, &symbol1);
        put_bytes(out + at, symbol0, mask0);
        put_bytes(out + at + HALF, symbol1, mask1);
        good = refill(&words, stream->first, &x0, &x1);
    }
    stream->words = words;
    _mm512_store_si512(stream->state, x0);
    _mm512_store_si512(stream->state + HALF, x1);
    return good;
}

AVX512 static bool decode_bytes(struct bale_rans_stream *stream, const bale_rans_slot *slots,
                                unsigned bits, uint8_t *out, const uint8_t *table, size_t count)
{
    return table ? decode_all(stream, slots, bits, out, table, count)
                 : decode_all(stream, slots, bits, out, NULL, count);
}

const struct bale_rans_steps bale_rans_avx512 = {
    .name = "avx512",
    .encode = encode,
    .encode_raw = encode_raw,
    .encode_bytes = encode_bytes,
    .decode = decode,
    .decode_raw = decode_raw,
    .decode_bytes = decode_bytes,
};
#endif
