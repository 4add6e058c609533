/* The literals of an encoder, and whether they get one table or four (spec.md, "Encoder"). */
#include "kernels/codec/entropy.h"
#include "kernels/lzr/emit.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum {
    STRIDE = 16,   /* bytes that are taken at once */
    SAMPLE = 4096, /* bytes by which a chunk is given up */
};

/* The low byte of each literal is the byte, the high one its position modulo LZR_TABLES. */
static inline void put_literals(uint16_t *to, const uint8_t *from, const uint8_t turns[STRIDE])
{
#ifdef __SSE2__
    const __m128i raw = _mm_loadu_si128((const __m128i *)from);
    const __m128i turn = _mm_loadu_si128((const __m128i *)turns);

    _mm_storeu_si128((__m128i *)to, _mm_unpacklo_epi8(raw, turn));
    _mm_storeu_si128((__m128i *)(to + STRIDE / 2), _mm_unpackhi_epi8(raw, turn));
#else
    for (unsigned i = 0; i < STRIDE; i++)
        to[i] = (uint16_t)(turns[i] << 8 | from[i]);
#endif
}

static void collect(struct lzr_emit *e, const struct lzr_found *found, const uint8_t *raw,
                    uint32_t raw_length)
{
    static const uint8_t turns[] = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2};
    uint16_t *to = e->literals;
    uint32_t at = 0;

    for (uint32_t i = 0; i < found->count; i++) {
        uint32_t run = found->runs[i];
        if (raw_length - at >= LZR_RUN) {
            const uint8_t *turn = turns + at % LZR_TABLES;
            put_literals(to, raw + at, turn);
            for (uint32_t n = STRIDE; n < run; n += STRIDE)
                put_literals(to + n, raw + at + n, turn);
        } else
            for (uint32_t n = 0; n < run; n++)
                to[n] = (uint16_t)((at + n) % LZR_TABLES << 8 | raw[at + n]);
        to += run;
        at += run + found->lengths[i];
    }
}

/* What literals cost with a table of their own, in 1/65536 bit: their entropy, and 5 bits for each
 * value that occurs. */
static uint64_t table_cost(const uint32_t counts[256])
{
    uint64_t sum = 0, table = 0;
    uint32_t total = 0;

    for (unsigned i = 0; i < 256; i++)
        if (counts[i] > 0) {
            total += counts[i];
            sum += (uint64_t)counts[i] * bale_log2_q16(counts[i]);
            table += 5u << 16;
        }
    return total > 0 ? (uint64_t)total * bale_log2_q16(total) - sum + table : 0;
}

/* Puts the literals into the first table. */
static void join_tables(struct lzr_emit *e, const struct lzr_found *found,
                        const uint32_t counts[256])
{
    memcpy(e->counts, counts, 256 * sizeof *counts);
    for (uint32_t i = 0; i < found->literals; i += 4) {
        uint64_t four;
        memcpy(&four, e->literals + i, sizeof four);
        four &= UINT64_C(0x00ff00ff00ff00ff);
        memcpy(e->literals + i, &four, sizeof four);
    }
}

bool lzr_emit_literals(struct lzr_emit *e, const struct lzr_found *found, const uint8_t *raw,
                       uint32_t raw_length)
{
    uint32_t all[256];
    uint64_t four = 0;

    collect(e, found, raw, raw_length);
    memset(e->counts, 0, sizeof e->counts);
    for (uint32_t i = 0; i < found->literals; i++)
        e->counts[e->literals[i]]++;
    for (unsigned i = 0; i < 256; i++)
        all[i] = e->counts[i] + e->counts[256 + i] + e->counts[512 + i] + e->counts[768 + i];
    if (found->literals > raw_length / 8) {
        for (unsigned t = 0; t < LZR_TABLES; t++)
            four += table_cost(e->counts + (size_t)256 * t);
        if (four < table_cost(all))
            return true;
    }
    join_tables(e, found, all);
    return false;
}

bool lzr_emit_is_hopeless(struct lzr_emit *e, const struct lzr_found *found, const uint8_t *raw,
                          uint32_t raw_length, uint32_t capacity)
{
    /* Words as far from each other, and at different places of larger elements. */
    uint32_t apart = raw_length / SAMPLE;
    uint64_t bits = 0;

    if (found->literals < capacity || raw_length < SAMPLE)
        return false;
    memset(e->counts, 0, sizeof e->counts);
    for (uint32_t i = 0; i < SAMPLE / LZR_TABLES; i++) {
        const uint8_t *word = raw + (size_t)(i * apart + i % apart) * LZR_TABLES;
        for (unsigned t = 0; t < LZR_TABLES; t++)
            e->counts[256 * t + word[t]]++;
    }
    /* n values of 256 that are all as likely seem to take less than they do, by 255 / 2 n / ln 2
     * bits each. */
    for (unsigned t = 0; t < LZR_TABLES; t++)
        bits += bale_entropy_bits(e->counts + (size_t)256 * t, SAMPLE / LZR_TABLES) + (184u << 16);
    return bits / SAMPLE * found->literals > (uint64_t)capacity << 19;
}
