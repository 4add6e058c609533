/* The steps with AVX2: four vectors of 8 lanes. */
#include "kernels/rans/vectors.h"

#ifdef BALE_RANS_X86
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))
#define INLINE2 static inline __attribute__((always_inline, target("avx2")))

enum { PART = 8, PARTS = BALE_RANS_LANES / PART, LOW = 15, HIGH = 31, WORD = 2 };

/* For each mask of 8 lanes, byte k: how many lanes of it are below lane k (expand); which lane is
 * its k-th (compress). */
#define BELOW(m, k) ((uint64_t)__builtin_popcount((m) & ((1u << (k)) - 1)) << 8 * (k))
#define EXPAND(m)                                                                                  \
    (BELOW(m, 0) | BELOW(m, 1) | BELOW(m, 2) | BELOW(m, 3) | BELOW(m, 4) | BELOW(m, 5) |           \
     BELOW(m, 6) | BELOW(m, 7))
#define PLACE(m, k)                                                                                \
    ((m) >> (k)&1 ? (uint64_t)(k) << 8 * __builtin_popcount((m) & ((1u << (k)) - 1)) : 0)
#define COMPRESS(m)                                                                                \
    (PLACE(m, 0) | PLACE(m, 1) | PLACE(m, 2) | PLACE(m, 3) | PLACE(m, 4) | PLACE(m, 5) |           \
     PLACE(m, 6) | PLACE(m, 7))
#define FOUR(of, m) of(m), of((m) + 1), of((m) + 2), of((m) + 3)
#define SIXTEEN(of, m) FOUR(of, m), FOUR(of, (m) + 4), FOUR(of, (m) + 8), FOUR(of, (m) + 12)
#define SIXTY_FOUR(of, m)                                                                          \
    SIXTEEN(of, m), SIXTEEN(of, (m) + 16), SIXTEEN(of, (m) + 32), SIXTEEN(of, (m) + 48)
#define ALL(of) SIXTY_FOUR(of, 0u), SIXTY_FOUR(of, 64u), SIXTY_FOUR(of, 128u), SIXTY_FOUR(of, 192u)

static const uint64_t expand[256] = {ALL(EXPAND)};
static const uint64_t compress[256] = {ALL(COMPRESS)};

INLINE2 __m256i places(const uint64_t *of, unsigned mask)
{
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(of + mask)));
}

INLINE2 unsigned mask_of(__m256i lanes)
{
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(lanes));
}

INLINE2 __m256i blend(__m256i lanes, __m256i yes, __m256i no)
{
    return _mm256_blendv_epi8(no, yes, lanes);
}

INLINE2 __m256i bytes_of(const uint8_t *in)
{
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)in));
}

/* The lanes below lanes, of those from first on. */
INLINE2 __m256i first_lanes(size_t lanes, unsigned first)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);

    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)lanes - (int)first), lane);
}

/* The low halves of the lanes, as 8 words. */
INLINE2 __m128i words_of(__m256i x)
{
    const __m256i low = _mm256_and_si256(x, _mm256_set1_epi32(0xffff));
    const __m256i packed = _mm256_packus_epi32(low, low);

    return _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0x08));
}

/* The words of the lanes, one after the other. */
INLINE2 __m256i spill(uint8_t **top, __m256i x, __m256i lanes)
{
    const unsigned mask = mask_of(lanes);

    _mm_storeu_si128((__m128i *)*top,
                     words_of(_mm256_permutevar8x32_epi32(x, places(compress, mask))));
    *top += WORD * (unsigned)__builtin_popcount(mask);
    return blend(lanes, _mm256_srli_epi32(x, 16), x);
}

/* A step of the lanes, with their symbols. The quotient of floats is wrong by one at most. */
INLINE2 __m256i encode_part(uint8_t **top, __m256i x, __m256i symbol, unsigned bits, __m256i lanes)
{
    const __m256i frequency = _mm256_srli_epi32(symbol, 16);
    const __m256i most = _mm256_sub_epi32(
        _mm256_sll_epi32(frequency, _mm_cvtsi32_si128((int)(HIGH - bits))), _mm256_set1_epi32(1));
    const __m256i gap = _mm256_sub_epi32(_mm256_set1_epi32(1 << bits), frequency);
    __m256i quotient, rest, next;

    x = spill(top, x, _mm256_and_si256(lanes, _mm256_cmpgt_epi32(x, most)));
    quotient =
        _mm256_cvttps_epi32(_mm256_div_ps(_mm256_cvtepi32_ps(x), _mm256_cvtepi32_ps(frequency)));
    rest = _mm256_sub_epi32(x, _mm256_mullo_epi32(quotient, frequency));
    next = _mm256_add_epi32(
        _mm256_add_epi32(_mm256_sll_epi32(quotient, _mm_cvtsi32_si128((int)bits)), rest),
        _mm256_and_si256(symbol, _mm256_set1_epi32(0xffff)));
    next = _mm256_sub_epi32(next, _mm256_and_si256(_mm256_srai_epi32(rest, HIGH), gap));
    next = _mm256_add_epi32(next, _mm256_andnot_si256(_mm256_cmpgt_epi32(frequency, rest), gap));
    return blend(lanes, next, x);
}

INLINE2 __m256i symbols_at(const bale_rans_symbol *symbols, __m256i of, __m256i lanes)
{
    return _mm256_mask_i32gather_epi32(_mm256_set1_epi32(1 << 16), (const int *)symbols, of, lanes,
                                       sizeof *symbols);
}

AVX2 static void encode(struct bale_rans_stream *stream, const bale_rans_symbol *symbols,
                        unsigned bits, const uint8_t in[BALE_RANS_LANES], uint8_t absent)
{
    for (unsigned part = 0; part < BALE_RANS_LANES; part += PART) {
        __m256i *state = (__m256i *)(stream->state + part);
        const __m256i of = bytes_of(in + part);
        const __m256i out = _mm256_cmpeq_epi32(of, _mm256_set1_epi32(absent));
        const __m256i lanes = _mm256_xor_si256(out, _mm256_set1_epi32(-1));
        *state = encode_part(&stream->top, *state, symbols_at(symbols, of, lanes), bits, lanes);
    }
}

AVX2 static void encode_raw(struct bale_rans_stream *stream, const uint32_t value[BALE_RANS_LANES],
                            const uint8_t count[BALE_RANS_LANES])
{
    for (unsigned part = 0; part < BALE_RANS_LANES; part += PART) {
        __m256i *state = (__m256i *)(stream->state + part);
        const __m256i bits = bytes_of(count + part);
        const __m256i most = _mm256_srlv_epi32(_mm256_set1_epi32(INT32_MAX), bits);
        const __m256i x = spill(&stream->top, *state, _mm256_cmpgt_epi32(*state, most));
        *state = _mm256_or_si256(_mm256_sllv_epi32(x, bits),
                                 _mm256_loadu_si256((const __m256i *)(value + part)));
    }
}

INLINE2 void encode_all(struct bale_rans_stream *stream, const bale_rans_symbol *symbols,
                        unsigned bits, const uint8_t *in, const uint8_t *table, size_t count)
{
    __m256i x[PARTS];
    uint8_t *top = stream->top;

    for (unsigned k = 0; k < PARTS; k++)
        x[k] = _mm256_load_si256((const __m256i *)(stream->state + PART * k));
    while (count > 0) {
        const size_t lanes = (count - 1) % BALE_RANS_LANES + 1;
        count -= lanes;
        for (unsigned k = 0; k < PARTS; k++) {
            const __m256i mask = first_lanes(lanes, PART * k);
            __m256i of = bytes_of(in + count + PART * k);
            if (table)
                of = _mm256_or_si256(of, _mm256_slli_epi32(bytes_of(table + count + PART * k), 8));
            x[k] = encode_part(&top, x[k], symbols_at(symbols, of, mask), bits, mask);
        }
    }
    stream->top = top;
    for (unsigned k = 0; k < PARTS; k++)
        _mm256_store_si256((__m256i *)(stream->state + PART * k), x[k]);
}

AVX2 static void encode_bytes(struct bale_rans_stream *stream, const bale_rans_symbol *symbols,
                              unsigned bits, const uint8_t *in, const uint8_t *table, size_t count)
{
    if (table)
        encode_all(stream, symbols, bits, in, table, count);
    else
        encode_all(stream, symbols, bits, in, NULL, count);
}

/* The lanes that need a word get it. States are below 2^31. */
INLINE2 bool refill(const uint8_t **words, const uint8_t *first, __m256i x[PARTS])
{
    const __m256i low = _mm256_set1_epi32(1 << LOW);
    __m256i need[PARTS];
    unsigned mask[PARTS];
    size_t bytes = 0;
    const uint8_t *word;

    for (unsigned k = 0; k < PARTS; k++) {
        need[k] = _mm256_cmpgt_epi32(low, x[k]);
        mask[k] = mask_of(need[k]);
        bytes += WORD * (size_t)__builtin_popcount(mask[k]);
    }
    if ((size_t)(*words - first) < bytes)
        return false;
    word = *words -= bytes;
    for (unsigned k = 0; k < PARTS; k++) {
        const __m256i next = _mm256_permutevar8x32_epi32(
            _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)word)), places(expand, mask[k]));
        x[k] = blend(need[k], _mm256_or_si256(_mm256_slli_epi32(x[k], 16), next), x[k]);
        word += WORD * (size_t)__builtin_popcount(mask[k]);
    }
    return true;
}

INLINE2 __m256i decode_part(__m256i x, const bale_rans_slot *slots, __m256i base, unsigned bits,
                            __m256i lanes, __m256i *symbol)
{
    const __m256i low = _mm256_set1_epi32((1 << bits) - 1);
    const __m128i by = _mm_cvtsi32_si128((int)bits);
    const __m256i at = _mm256_or_si256(base, _mm256_and_si256(x, low));
    const __m256i slot = _mm256_i32gather_epi32((const int *)slots, at, sizeof *slots);
    const __m256i frequency = _mm256_add_epi32(_mm256_and_si256(slot, low), _mm256_set1_epi32(1));
    const __m256i rest = _mm256_srl_epi32(slot, by);

    *symbol = _mm256_and_si256(lanes, _mm256_srl_epi32(rest, by));
    return blend(lanes,
                 _mm256_add_epi32(_mm256_mullo_epi32(frequency, _mm256_srl_epi32(x, by)),
                                  _mm256_and_si256(rest, low)),
                 x);
}

INLINE2 void put_bytes(uint8_t *out, const __m256i symbol[PARTS])
{
    const __m256i words0 = _mm256_packus_epi32(symbol[0], symbol[1]);
    const __m256i words1 = _mm256_packus_epi32(symbol[2], symbol[3]);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);

    _mm256_storeu_si256((__m256i *)out,
                        _mm256_permutevar8x32_epi32(_mm256_packus_epi16(words0, words1), order));
}

INLINE2 void load_states(const struct bale_rans_stream *stream, __m256i x[PARTS])
{
    for (unsigned k = 0; k < PARTS; k++)
        x[k] = _mm256_load_si256((const __m256i *)(stream->state + PART * k));
}

INLINE2 void store_states(struct bale_rans_stream *stream, const __m256i x[PARTS])
{
    for (unsigned k = 0; k < PARTS; k++)
        _mm256_store_si256((__m256i *)(stream->state + PART * k), x[k]);
}

AVX2 static bool decode(struct bale_rans_stream *stream, const bale_rans_slot *slots, unsigned bits,
                        uint32_t mask, uint8_t out[BALE_RANS_LANES], uint8_t symbol,
                        uint32_t *others)
{
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const __m256i same = _mm256_set1_epi32(symbol);
    __m256i x[PARTS], symbols[PARTS];
    bool good;

    load_states(stream, x);
    *others = 0;
    for (unsigned k = 0; k < PARTS; k++) {
        const __m256i of = _mm256_set1_epi32((int)(mask >> PART * k & 0xff));
        const __m256i lanes = _mm256_cmpeq_epi32(_mm256_and_si256(of, bit), bit);
        x[k] = decode_part(x[k], slots, _mm256_setzero_si256(), bits, lanes, &symbols[k]);
        *others |= (mask_of(_mm256_andnot_si256(_mm256_cmpeq_epi32(symbols[k], same), lanes)))
                   << PART * k;
    }
    put_bytes(out, symbols);
    good = refill(&stream->words, stream->first, x);
    store_states(stream, x);
    return good;
}

AVX2 static bool decode_raw(struct bale_rans_stream *stream, uint32_t value[BALE_RANS_LANES],
                            const uint8_t count[BALE_RANS_LANES])
{
    __m256i x[PARTS];
    bool good;

    load_states(stream, x);
    for (unsigned k = 0; k < PARTS; k++) {
        const __m256i bits = bytes_of(count + PART * k);
        _mm256_storeu_si256(
            (__m256i *)(value + PART * k),
            _mm256_andnot_si256(_mm256_sllv_epi32(_mm256_set1_epi32(-1), bits), x[k]));
        x[k] = _mm256_srlv_epi32(x[k], bits);
    }
    good = refill(&stream->words, stream->first, x);
    store_states(stream, x);
    return good;
}

INLINE2 bool decode_all(struct bale_rans_stream *stream, const bale_rans_slot *slots, unsigned bits,
                        uint8_t *out, const uint8_t *table, size_t count)
{
    const __m128i by = _mm_cvtsi32_si128((int)bits);
    const uint8_t *words = stream->words;
    __m256i x[PARTS], symbols[PARTS];
    bool good = true;

    load_states(stream, x);
    for (size_t at = 0; good && at < count; at += BALE_RANS_LANES) {
        for (unsigned k = 0; k < PARTS; k++) {
            const size_t left = count - at < BALE_RANS_LANES ? count - at : BALE_RANS_LANES;
            const __m256i lanes = first_lanes(left, PART * k);
            __m256i base = _mm256_setzero_si256();
            if (table)
                base =
                    _mm256_and_si256(lanes, _mm256_sll_epi32(bytes_of(table + at + PART * k), by));
            x[k] = decode_part(x[k], slots, base, bits, lanes, &symbols[k]);
        }
        put_bytes(out + at, symbols);
        good = refill(&words, stream->first, x);
    }
    stream->words = words;
    store_states(stream, x);
    return good;
}

AVX2 static bool decode_bytes(struct bale_rans_stream *stream, const bale_rans_slot *slots,
                              unsigned bits, uint8_t *out, const uint8_t *table, size_t count)
{
    return table ? decode_all(stream, slots, bits, out, table, count)
                 : decode_all(stream, slots, bits, out, NULL, count);
}

const struct bale_rans_steps bale_rans_avx2 = {
    .name = "avx2",
    .encode = encode,
    .encode_raw = encode_raw,
    .encode_bytes = encode_bytes,
    .decode = decode,
    .decode_raw = decode_raw,
    .decode_bytes = decode_bytes,
};
#endif
