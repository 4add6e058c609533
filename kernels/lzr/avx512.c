/* Rounds with AVX-512. A class is looked up by bytes, and its frequency by words, in registers. */
#include "kernels/rans/avx512.h"

#ifdef BALE_RANS_X86
#include "kernels/lzr/rounds.h"

#define TARGET BALE_AVX512
#define INLINE BALE_AVX512_INLINE
#define IS(condition) ((vector)(condition))

typedef uint32_t vector __attribute__((vector_size(64), may_alias));
enum { PART = 16 };

/* The low and the next bytes of both streams' lanes. */
INLINE void bytes_of(const vector x[4], __m512i *low, __m512i *high)
{
    static const uint8_t pick[64] __attribute__((aligned(64))) = {
        0,  4,  8,  12, 16, 20, 24, 28, 32, 36,  40,  44,  48,  52,  56,  60,
        64, 68, 72, 76, 80, 84, 88, 92, 96, 100, 104, 108, 112, 116, 120, 124,
        1,  5,  9,  13, 17, 21, 25, 29, 33, 37,  41,  45,  49,  53,  57,  61,
        65, 69, 73, 77, 81, 85, 89, 93, 97, 101, 105, 109, 113, 117, 121, 125};
    const __m512i of = _mm512_load_si512(pick);
    const __m512i first = _mm512_permutex2var_epi8((__m512i)x[0], of, (__m512i)x[1]);
    const __m512i second = _mm512_permutex2var_epi8((__m512i)x[2], of, (__m512i)x[3]);

    *low = _mm512_shuffle_i64x2(first, second, 0x44);
    *high = _mm512_shuffle_i64x2(first, second, 0xee);
}

INLINE __m512i in_two(const uint8_t *table, __m512i at)
{
    return _mm512_permutex2var_epi8(_mm512_load_si512(table), at, _mm512_load_si512(table + 64));
}

INLINE __m512i in_four(const uint8_t *table, __m512i at, __mmask64 bit7)
{
    return _mm512_mask_blend_epi8(bit7, in_two(table, at), in_two(table + 128, at));
}

/* The classes of both streams' lanes. */
INLINE __m512i classes_of(const uint8_t class[LZR_SLOTS], const vector x[4])
{
    __m512i low, high;
    __mmask64 bit7, bit8, bit9;

    bytes_of(x, &low, &high);
    bit7 = _mm512_movepi8_mask(low);
    bit8 = _mm512_test_epi8_mask(high, _mm512_set1_epi8(1));
    bit9 = _mm512_test_epi8_mask(high, _mm512_set1_epi8(2));
    return _mm512_mask_blend_epi8(
        bit9,
        _mm512_mask_blend_epi8(bit8, in_four(class, low, bit7), in_four(class + 256, low, bit7)),
        _mm512_mask_blend_epi8(bit8, in_four(class + 512, low, bit7),
                               in_four(class + 768, low, bit7)));
}

/* What a table of words has for a stream's classes. */
INLINE void look_up(const uint16_t table[LZR_CLASSES], __m512i classes, vector out[2])
{
    const __m512i words =
        _mm512_permutex2var_epi16(_mm512_load_si512(table), classes, _mm512_load_si512(table + 32));

    out[0] = (vector)_mm512_cvtepu16_epi32(_mm512_castsi512_si256(words));
    out[1] = (vector)_mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(words, 1));
}

INLINE void step(vector x[4], const union lzr_classes *table, const vector lanes[4],
                 vector meaning[4])
{
    const __m512i classes = classes_of(table->by_class.class, x);
    const __m512i of[2] = {_mm512_cvtepu8_epi16(_mm512_castsi512_si256(classes)),
                           _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(classes, 1))};
    vector frequency[4], cum[4];

    for (unsigned s = 0; s < 2; s++) {
        look_up(table->by_class.frequency, of[s], frequency + 2 * s);
        look_up(table->by_class.cum, of[s], cum + 2 * s);
        look_up(table->by_class.meaning, of[s], meaning + 2 * s);
    }
    for (unsigned k = 0; k < 4; k++) {
        const vector next =
            frequency[k] * (x[k] >> LZR_CLASS_BITS) + (x[k] & (LZR_SLOTS - 1)) - cum[k];
        meaning[k] &= lanes[k];
        x[k] = (next & lanes[k]) | (x[k] & ~lanes[k]);
    }
}

INLINE const uint8_t *refill(vector x[2], const uint8_t *words)
{
    return bale_avx512_refill((__m512i *)x, words);
}

INLINE vector first_lanes(uint32_t lanes, unsigned from)
{
    const __mmask16 mask = bale_avx512_first(lanes < from ? 0 : lanes - from);

    return (vector)_mm512_maskz_set1_epi32(mask, -1);
}

INLINE bool is_any(vector lanes)
{
    return _mm512_test_epi32_mask((__m512i)lanes, (__m512i)lanes) != 0;
}

INLINE uint32_t sum_of(const vector lanes[2])
{
    return (uint32_t)_mm512_reduce_add_epi32((__m512i)(lanes[0] + lanes[1]));
}

INLINE uint32_t zero_lanes(const vector lanes[2])
{
    return (uint32_t)_mm512_testn_epi32_mask((__m512i)lanes[0], (__m512i)lanes[0]) |
           (uint32_t)_mm512_testn_epi32_mask((__m512i)lanes[1], (__m512i)lanes[1]) << 16;
}

INLINE void put_words(uint16_t out[LZR_ROUND], const vector lanes[2])
{
    _mm256_storeu_si256((__m256i *)out, _mm512_cvtepi32_epi16((__m512i)lanes[0]));
    _mm256_storeu_si256((__m256i *)(out + 16), _mm512_cvtepi32_epi16((__m512i)lanes[1]));
}

INLINE void get_bytes(const uint8_t in[LZR_ROUND], vector lanes[2])
{
    lanes[0] = (vector)bale_avx512_bytes(in);
    lanes[1] = (vector)bale_avx512_bytes(in + 16);
}

INLINE void get_words(const uint16_t in[LZR_ROUND], vector lanes[2])
{
    lanes[0] = (vector)_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)in));
    lanes[1] = (vector)_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(in + 16)));
}

INLINE void put_bytes(uint8_t out[LZR_ROUND], const vector lanes[2])
{
    _mm_storeu_si128((__m128i *)out, _mm512_cvtepi32_epi8((__m512i)lanes[0]));
    _mm_storeu_si128((__m128i *)(out + 16), _mm512_cvtepi32_epi8((__m512i)lanes[1]));
}

/* The exponent and the first bits of a float. */
INLINE vector log2_quarters(vector value)
{
    return ((vector)_mm512_cvtepi32_ps((__m512i)value) >> 21) - 4 * 127;
}

INLINE uint8_t *spill(vector x[2], uint8_t *top, const vector lanes[2])
{
    for (unsigned k = 0; k < 2; k++)
        x[k] = (vector)bale_avx512_spill(
            &top, (__m512i)x[k], _mm512_test_epi32_mask((__m512i)lanes[k], (__m512i)lanes[k]));
    return top;
}

INLINE uint8_t *encode_symbols(vector x[2], uint8_t *top, const bale_rans_symbol *symbols,
                               const vector classes[2], const vector lanes[2])
{
    for (unsigned k = 0; k < 2; k++) {
        const __m512i of = (__m512i)classes[k];
        const __mmask16 mask = _mm512_test_epi32_mask((__m512i)lanes[k], (__m512i)lanes[k]);
        const __m512i symbol =
            _mm512_mask_blend_epi32(_mm512_test_epi32_mask(of, _mm512_set1_epi32(32)),
                                    _mm512_permutex2var_epi32(_mm512_loadu_si512(symbols), of,
                                                              _mm512_loadu_si512(symbols + 16)),
                                    _mm512_permutex2var_epi32(_mm512_loadu_si512(symbols + 32), of,
                                                              _mm512_loadu_si512(symbols + 48)));
        x[k] = (vector)bale_avx512_encode(&top, (__m512i)x[k], symbol, LZR_CLASS_BITS, mask);
    }
    return top;
}

#include "kernels/lzr/rounds_decode.inc"
#include "kernels/lzr/rounds_encode.inc"

static void make_table(const struct bale_rans_frequencies *read, const uint16_t *meaning,
                       union lzr_classes *table)
{
    memset(table, 0, sizeof *table);
    for (uint32_t i = 0; i < read->used; i++) {
        uint32_t class = read->symbol[i], cum = read->cum[i], end = read->cum[i + 1];
        table->by_class.frequency[class] = (uint16_t)(end - cum);
        table->by_class.cum[class] = (uint16_t)cum;
        table->by_class.meaning[class] = meaning[class];
        for (; cum < end; cum += 16) /* beyond the end too: the next class writes over it */
            memset(table->by_class.class + cum, (int)class, 16);
    }
}

const struct lzr_rounds lzr_avx512 = {
    .steps = &bale_rans_avx512,
    .make_table = make_table,
    .decode = decode,
    .classify = classify,
    .encode = encode,
};
#endif
