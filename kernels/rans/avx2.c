/* The steps with AVX2. */
#include "kernels/rans/avx2.h"

#ifdef BALE_RANS_X86
enum { PART = BALE_AVX2_PART, PARTS = BALE_AVX2_PARTS };

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

const uint64_t bale_avx2_expand[256] = {ALL(EXPAND)};
const uint64_t bale_avx2_compress[256] = {ALL(COMPRESS)};

BALE_AVX2 static void encode(struct bale_rans_stream *stream, const bale_rans_symbol *symbols,
                             unsigned bits, const uint16_t *in, size_t count)
{
    __m256i x[PARTS];
    uint8_t *top = stream->top;

    for (unsigned k = 0; k < PARTS; k++)
        x[k] = _mm256_load_si256((const __m256i *)(stream->state + PART * k));
    while (count > 0) {
        const size_t lanes = (count - 1) % BALE_RANS_LANES + 1;
        count -= lanes;
        for (unsigned k = 0; k < PARTS; k++) {
            const __m256i mask = bale_avx2_first(lanes, PART * k);
            const __m256i of =
                _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(in + count + PART * k)));
            x[k] = bale_avx2_encode(&top, x[k], bale_avx2_symbols(symbols, of, mask), bits, mask);
        }
    }
    stream->top = top;
    for (unsigned k = 0; k < PARTS; k++)
        _mm256_store_si256((__m256i *)(stream->state + PART * k), x[k]);
}

/* A stream at work. */
struct part_steps {
    __m256i x[PARTS];
    const uint8_t *words;
};

BALE_AVX2_INLINE void load(struct part_steps *p, const struct bale_rans_stream *stream)
{
    for (unsigned k = 0; k < PARTS; k++)
        p->x[k] = _mm256_load_si256((const __m256i *)(stream->state + PART * k));
    p->words = stream->words;
}

BALE_AVX2_INLINE void store(const struct part_steps *p, struct bale_rans_stream *stream)
{
    for (unsigned k = 0; k < PARTS; k++)
        _mm256_store_si256((__m256i *)(stream->state + PART * k), p->x[k]);
    stream->words = p->words;
}

/* A step of the lanes that there are. */
BALE_AVX2_INLINE void step(struct part_steps *p, const struct bale_rans_bytes *bytes, size_t at,
                           const bale_rans_slot *slots, unsigned bits, bool tables)
{
    const size_t left = bytes->count - at < BALE_RANS_LANES ? bytes->count - at : BALE_RANS_LANES;
    __m256i symbol[PARTS];

    for (unsigned k = 0; k < PARTS; k++) {
        const __m256i lanes = bale_avx2_first(left, PART * k);
        __m256i base = _mm256_setzero_si256();
        if (tables)
            base = _mm256_and_si256(
                lanes, _mm256_slli_epi32(bale_avx2_bytes(bytes->table + at + PART * k), (int)bits));
        p->x[k] = bale_avx2_decode(p->x[k], slots, base, bits, lanes, &symbol[k]);
    }
    bale_avx2_put_bytes(bytes->out + at, symbol);
    p->words = bale_avx2_refill(p->x, p->words);
}

BALE_AVX2_INLINE bool decode_all(const struct bale_rans_bytes bytes[2], const bale_rans_slot *slots,
                                 unsigned bits, bool tables)
{
    struct part_steps p[2];
    size_t at = 0;
    bool good = true;

    load(&p[0], bytes[0].stream);
    load(&p[1], bytes[1].stream);
    for (; good && at < bytes[0].count && at < bytes[1].count; at += BALE_RANS_LANES) {
        step(&p[0], &bytes[0], at, slots, bits, tables);
        step(&p[1], &bytes[1], at, slots, bits, tables);
        good = p[0].words >= bytes[0].stream->first && p[1].words >= bytes[1].stream->first;
    }
    for (unsigned s = 0; s < 2; s++)
        for (size_t rest = at; good && rest < bytes[s].count; rest += BALE_RANS_LANES) {
            step(&p[s], &bytes[s], rest, slots, bits, tables);
            good = p[s].words >= bytes[s].stream->first;
        }
    store(&p[0], bytes[0].stream);
    store(&p[1], bytes[1].stream);
    return good;
}

BALE_AVX2 static bool decode_bytes(const struct bale_rans_bytes bytes[2],
                                   const bale_rans_slot *slots, unsigned bits)
{
    return bytes[0].table ? decode_all(bytes, slots, bits, true)
                          : decode_all(bytes, slots, bits, false);
}

const struct bale_rans_steps bale_rans_avx2 = {
    .name = "avx2",
    .encode = encode,
    .decode_bytes = decode_bytes,
};
#endif
