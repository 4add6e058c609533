/* The steps with AVX-512. */
#include "kernels/rans/avx512.h"

#ifdef BALE_RANS_X86
enum { HALF = 16 };

BALE_AVX512_INLINE __m512i symbols_of(const bale_rans_symbol *symbols, const uint16_t *in,
                                      __mmask16 mask)
{
    const __m512i of = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)in));

    return _mm512_mask_i32gather_epi32(_mm512_set1_epi32(1 << 16), mask, of, symbols,
                                       sizeof *symbols);
}

BALE_AVX512 static void encode(struct bale_rans_stream *stream, const bale_rans_symbol *symbols,
                               unsigned bits, const uint16_t *in, size_t count)
{
    __m512i x0 = _mm512_load_si512(stream->state), x1 = _mm512_load_si512(stream->state + HALF);
    uint8_t *top = stream->top;

    while (count > 0) {
        const unsigned lanes = (unsigned)(count - 1) % BALE_RANS_LANES + 1;
        const __mmask16 mask0 = bale_avx512_first(lanes);
        const __mmask16 mask1 = bale_avx512_first(lanes > HALF ? lanes - HALF : 0);
        count -= lanes;
        x0 = bale_avx512_encode(&top, x0, symbols_of(symbols, in + count, mask0), bits, mask0);
        x1 = bale_avx512_encode(&top, x1, symbols_of(symbols, in + count + HALF, mask1), bits,
                                mask1);
    }
    stream->top = top;
    _mm512_store_si512(stream->state, x0);
    _mm512_store_si512(stream->state + HALF, x1);
}

/* The states behind the symbols; lanes that are not of the mask keep theirs. */
BALE_AVX512_INLINE __m512i decode_half(__m512i x, const bale_rans_slot *slots, __m512i base,
                                       unsigned bits, __mmask16 mask, __m512i *symbol)
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

BALE_AVX512_INLINE void put_bytes(uint8_t *out, __m512i symbol, __mmask16 mask)
{
    _mm_storeu_si128((__m128i *)out, _mm512_cvtepi32_epi8(_mm512_maskz_mov_epi32(mask, symbol)));
}

/* A stream at work. */
struct half_steps {
    __m512i x[2];
    const uint8_t *words;
};

BALE_AVX512_INLINE void load(struct half_steps *h, const struct bale_rans_stream *stream)
{
    h->x[0] = _mm512_load_si512(stream->state);
    h->x[1] = _mm512_load_si512(stream->state + HALF);
    h->words = stream->words;
}

BALE_AVX512_INLINE void store(const struct half_steps *h, struct bale_rans_stream *stream)
{
    _mm512_store_si512(stream->state, h->x[0]);
    _mm512_store_si512(stream->state + HALF, h->x[1]);
    stream->words = h->words;
}

/* A step of the lanes that there are. */
BALE_AVX512_INLINE void step(struct half_steps *h, const struct bale_rans_bytes *bytes, size_t at,
                             const bale_rans_slot *slots, unsigned bits, bool tables)
{
    const size_t left = bytes->count - at;

    for (unsigned k = 0; k < 2; k++) {
        const __mmask16 mask = bale_avx512_first(left < HALF * k ? 0 : left - HALF * k);
        __m512i base = _mm512_setzero_si512(), symbol;
        if (tables)
            base = _mm512_maskz_slli_epi32(mask, bale_avx512_bytes(bytes->table + at + HALF * k),
                                           bits);
        h->x[k] = decode_half(h->x[k], slots, base, bits, mask, &symbol);
        put_bytes(bytes->out + at + HALF * k, symbol, mask);
    }
    h->words = bale_avx512_refill(h->x, h->words);
}

BALE_AVX512_INLINE bool decode_all(const struct bale_rans_bytes bytes[2],
                                   const bale_rans_slot *slots, unsigned bits, bool tables)
{
    struct half_steps h[2];
    size_t at = 0;
    bool good = true;

    load(&h[0], bytes[0].stream);
    load(&h[1], bytes[1].stream);
    for (; good && at < bytes[0].count && at < bytes[1].count; at += BALE_RANS_LANES) {
        step(&h[0], &bytes[0], at, slots, bits, tables);
        step(&h[1], &bytes[1], at, slots, bits, tables);
        good = h[0].words >= bytes[0].stream->first && h[1].words >= bytes[1].stream->first;
    }
    for (unsigned s = 0; s < 2; s++)
        for (size_t rest = at; good && rest < bytes[s].count; rest += BALE_RANS_LANES) {
            step(&h[s], &bytes[s], rest, slots, bits, tables);
            good = h[s].words >= bytes[s].stream->first;
        }
    store(&h[0], bytes[0].stream);
    store(&h[1], bytes[1].stream);
    return good;
}

BALE_AVX512 static bool decode_bytes(const struct bale_rans_bytes bytes[2],
                                     const bale_rans_slot *slots, unsigned bits)
{
    return bytes[0].table ? decode_all(bytes, slots, bits, true)
                          : decode_all(bytes, slots, bits, false);
}

const struct bale_rans_steps bale_rans_avx512 = {
    .name = "avx512",
    .encode = encode,
    .decode_bytes = decode_bytes,
};
#endif
