/* What codec cusz makes of elements and words: its rules (kernels/cusz/spec.md) done again in the
 * simplest way, and all ways in which a processor can do it. */
#include <math.h>

#include "format/err.h"
#include "kernels/cusz/cusz.h"
#include "tests/check.h"
#include "tests/codecs/data.h"

enum { ELEMENTS = 40000 };

/* What is left of word i, by the definition: a sum over the corners of a box. */
static int64_t rest(const int64_t *words, int64_t i, const uint32_t *strides, unsigned order)
{
    int64_t sum = 0;

    for (unsigned corner = 0; corner < 1u << order; corner++) {
        int64_t at = i;
        for (unsigned k = 0; k < order; k++)
            at -= corner >> k & 1 ? strides[k] : 0;
        if (at >= 0)
            sum += __builtin_popcount(corner) % 2 ? -words[at] : words[at];
    }
    return sum;
}

static int64_t fold(int64_t word)
{
    return word < 0 ? -2 * word - 1 : 2 * word;
}

static void test_prediction(void)
{
    static int64_t words[ELEMENTS], wide[ELEMENTS], wide_folded[ELEMENTS];
    static int32_t narrow[ELEMENTS], narrow_folded[ELEMENTS];
    static uint64_t wide_others[ELEMENTS / 64 + 1], narrow_others[ELEMENTS / 64 + 1];
    uint64_t state = 3;

    for (unsigned n = 0; n < 16; n++) {
        const unsigned order = n % 4;
        const uint32_t count = n < 12 ? 1 + (uint32_t)(data_next(&state) % 3000) : ELEMENTS;
        const uint32_t strides[3] = {1, 1 + (uint32_t)(data_next(&state) % 50),
                                     1 + (uint32_t)(data_next(&state) % 2000)};
        size_t wrong = 0;
        for (uint32_t i = 0; i < count; i++) {
            words[i] = (int64_t)(data_next(&state) >> 40) - (1 << 23);
            wide[i] = words[i];
            narrow[i] = (int32_t)words[i];
        }
        cusz_width_f64.predict(wide, count, strides, order, false, wide_folded, wide_others);
        cusz_width_f32.predict(narrow, count, strides, order, false, narrow_folded, narrow_others);
        for (uint32_t i = 0; i < count; i++) {
            const int64_t want = rest(words, i, strides, order);
            wrong += wide_folded[i] != fold(want) || narrow_folded[i] != (int32_t)fold(want);
            wrong += (wide_others[i / 64] >> i % 64 & 1) != (want != 0);
        }
        if (count % 64)
            wrong += wide_others[count / 64] >> count % 64 != 0;
        CHECK_EQ_MEM(wide_others, narrow_others, (count + 63) / 64 * sizeof *wide_others);
        cusz_width_f64.sum(wide_folded, count, strides, order, false);
        cusz_width_f32.sum(narrow_folded, count, strides, order, false);
        for (uint32_t i = 0; i < count; i++)
            wrong += wide_folded[i] != words[i] || narrow_folded[i] != (int32_t)words[i];
        CHECK_EQ_U(wrong, 0);
    }
}

/* Words of all magnitudes and signs, as words of so many bits, sparse ones and dense ones. */
static int64_t any_word(uint64_t *state, unsigned bits, uint64_t sparse)
{
    const uint64_t random = data_next(state);

    if (random % 100 < sparse)
        return 0;
    return (int64_t)data_next(state) >> (64 - bits + (random >> 32) % bits);
}

/* Turned words by the definition, and back. In both widths there is the least word, which has no
 * negative. */
static void test_turning(enum bale_round_type type, unsigned bits)
{
    static union {
        int32_t narrow[ELEMENTS];
        int64_t wide[ELEMENTS];
    } words, folded;
    static int64_t want[ELEMENTS], exact[ELEMENTS];
    static uint64_t others[ELEMENTS / 64 + 1];
    const uint32_t strides[3] = {1, 1, 1}, group = 1u << CUSZ_SEGMENT_MIN;
    const int64_t least = INT64_MIN >> (64 - bits);
    uint64_t state = bits;

    for (unsigned n = 0; n < 24; n++) {
        const struct cusz_width *width = cusz_width_at(type, n % 2);
        const uint32_t count = n < 4 ? ELEMENTS : 1 + (uint32_t)(data_next(&state) % 3000);
        int64_t last = 0;
        size_t wrong = 0;
        for (uint32_t i = 0; i < count; i++) {
            const int64_t word =
                n % 3 == 0 && data_next(&state) % 200 == 0 ? least : any_word(&state, bits, n * 4);
            last = i % group ? last : 0;
            want[i] = last < 0 && word != least ? -word : word;
            want[i] = (int64_t)((uint64_t)want[i] << 1) ^ want[i] >> 63;
            last = word ? word : last;
            exact[i] = word;
            if (bits == 32)
                words.narrow[i] = (int32_t)word;
            else
                words.wide[i] = word;
        }
        if (!width)
            continue;
        width->predict(&words, count, strides, 0, true, &folded, others);
        for (uint32_t i = 0; i < count; i++) {
            wrong += bits == 32 ? folded.narrow[i] != (int32_t)want[i] : folded.wide[i] != want[i];
            wrong += (others[i / 64] >> i % 64 & 1) != (exact[i] != 0);
        }
        width->sum(&folded, count, strides, 0, true);
        for (uint32_t i = 0; i < count; i++)
            wrong += bits == 32 ? folded.narrow[i] != exact[i] : folded.wide[i] != exact[i];
        CHECK_EQ_U(wrong, 0);
    }
}

/* Tokens of folded words, by the table in spec.md. */
static uint32_t token_of(uint64_t folded)
{
    unsigned e = 0;

    if (folded < CUSZ_LITERALS)
        return folded ? CUSZ_RUNS - 1 + (uint32_t)folded : 0;
    while (folded >> e >= 8)
        e++;
    return 143 + 4 * (e - 5) + (uint32_t)(folded >> e) - 4;
}

/* Counting, done again: zeros one by one, and runs that are cut at multiples of 2^15. */
static void test_counts(void)
{
    enum { MOST = 100000 };
    static int32_t words[MOST], folded[MOST];
    static uint64_t others[MOST / 64 + 1];
    const uint32_t strides[3] = {1, 1, 1};
    uint64_t state = 17;

    for (unsigned n = 0; n < 24; n++) {
        const uint32_t count = n == 0 ? 1 : n < 8 ? 60 + n * 31 : MOST - n;
        const unsigned sparse = (unsigned)(data_next(&state) % 1000);
        struct cusz_folded made = {folded, others, count};
        for (uint32_t i = 0; i < count;) {
            uint64_t run = data_next(&state) % 1000 < sparse ? data_next(&state) % 90 : 0;
            run *= data_next(&state) % 40 == 0 ? 900 : 1;
            for (; run > 0 && i < count; run--)
                words[i++] = 0;
            if (i < count)
                words[i++] = (int32_t)data_next(&state) >> data_next(&state) % 31;
        }
        cusz_width_f32.predict(words, count, strides, 0, false, folded, others);
        for (unsigned way = 0; cusz_width_at(BALE_ROUND_F32, way); way++) {
            uint32_t tokens[CUSZ_TOKENS] = {0}, runs[CUSZ_RUNS] = {0}, pairs = 0, run = 0;
            uint32_t want = cusz_width_at(BALE_ROUND_F32, way)->count(&made, tokens, runs);
            for (uint32_t i = 0; i < count; i++) {
                tokens[token_of((uint64_t)fold(words[i]))]--;
                pairs += i > 0 && words[i] == 0 && words[i - 1] == 0;
                run += words[i] == 0;
                if (run > 0 && (i + 1 == count || words[i + 1] != 0 || (i + 1) % (1 << 15) == 0)) {
                    runs[31 - __builtin_clz(run)]--;
                    run = 0;
                }
            }
            CHECK_EQ_U(pairs, want);
            for (unsigned i = 0; i < CUSZ_TOKENS; i++)
                CHECK_EQ_U(tokens[i], 0);
            for (unsigned i = 0; i < CUSZ_RUNS; i++)
                CHECK_EQ_U(runs[i], 0);
        }
    }
}

/* Multiples by the definition. */
static void test_multiples(void)
{
    static const double steps[] = {0x1p-7,   0.1,      3e-31, 1e-31, 1e-38,
                                   0x1p-140, 0x1p-149, 3e30,  1e33};
    enum { COUNT = 640 };
    float x[COUNT];
    uint32_t list[COUNT], want_list[COUNT];
    int32_t words[COUNT], want[COUNT];
    uint64_t state = 23;

    for (size_t s = 0; s < 8 * sizeof steps / sizeof *steps; s++) {
        const double step = steps[s / 8];
        struct bale_rounding rounding;
        uint32_t listed = 0;
        uint64_t bits;
        memcpy(&bits, &step, sizeof bits);
        REQUIRE(bale_rounding_make(&rounding, BALE_ROUND_F32, false, bits) == BALE_OK);
        for (size_t i = 0; i < COUNT; i++) {
            const int64_t q = (int64_t)(int32_t)data_next(&state) >> (2 * (i / 64) + s % 3);
            x[i] = (float)((double)q * step);
            if (i / 64 % 2 && data_next(&state) % 64 == 0)
                x[i] = data_next(&state) % 2 ? NAN : -0.0f;
            if (s % 4 == 3 && data_next(&state) % 64 == 0)
                x[i] = nextafterf(x[i], INFINITY);
        }
        for (uint32_t i = 0; i < COUNT; i++) {
            const double t = (double)x[i] * rounding.inverse;
            const double q = isnan(t) ? 0 : fmin(fmax(rint(t), -0x1p30), 0x1p30);
            const float again = (float)((q + 0.0) * step);
            uint32_t bits_again, bits_x;
            want[i] = (int32_t)q;
            memcpy(&bits_again, &again, sizeof again);
            memcpy(&bits_x, &x[i], sizeof bits_x);
            if (bits_again != bits_x)
                want_list[listed++] = i;
        }
        for (unsigned way = 0; cusz_width_at(BALE_ROUND_F32, way); way++) {
            CHECK_EQ_U(cusz_width_at(BALE_ROUND_F32, way)
                           ->quantise(&rounding, (const uint8_t *)x, COUNT, words, list, COUNT),
                       listed);
            CHECK_EQ_MEM((uint8_t *)list, (uint8_t *)want_list, listed * sizeof *list);
            CHECK_EQ_MEM((uint8_t *)words, (uint8_t *)want, sizeof want);
        }
    }
}

/* Codes for what was counted, with runs of zeros or without. */
static void codes_of(const uint32_t counts[CUSZ_TOKENS], const uint32_t runs[CUSZ_RUNS],
                     struct cusz_codes *codes, struct cusz_puts *puts)
{
    uint32_t all[CUSZ_TOKENS];

    memcpy(all, counts, sizeof all);
    for (unsigned i = 0; runs && i < CUSZ_RUNS; i++)
        all[i] = runs[i] + 1;
    *codes = (struct cusz_codes){.low_runs = runs};
    cusz_lengths_huffman(all, codes->length);
    CHECK(cusz_codes_make(codes));
    cusz_puts_make(codes, puts);
}

/* Encodes with just enough room and with less, and decodes. */
static void there_and_back(const struct cusz_width *width, const struct cusz_codes *codes,
                           const struct cusz_puts *puts, const struct cusz_folded *folded,
                           int64_t length, uint8_t *out)
{
    static struct cusz_table table;
    static uint64_t words[ELEMENTS + CUSZ_SLACK];
    static uint8_t lengths[1024], tight[16 * ELEMENTS];
    struct cusz_segment beside[CUSZ_BESIDE] = {{0}};
    uint64_t at = 0;

    for (int64_t less = 0; less < 20; less++) {
        memset(tight, 0xa5, (size_t)length + 1);
        CHECK_EQ(
            width->encode(NULL, codes, puts, folded, 9, lengths, tight, (size_t)(length - less)),
            less ? CUSZ_NO_ROOM : length);
        CHECK_EQ_U(tight[length - less], 0xa5);
        if (less == 0)
            CHECK_EQ_MEM(tight, out, (size_t)length);
    }
    cusz_table_make(codes, &table);
    memset(words, 0, sizeof words);
    for (uint32_t i = 0, begin = 0; begin < folded->count; i++, begin += 512) {
        const uint64_t end = at + lengths[2 * i] + 256u * lengths[2 * i + 1];
        const uint32_t left = folded->count - begin;
        beside[i % CUSZ_BESIDE] = (struct cusz_segment){at, end, begin, left < 512 ? left : 512};
        at = end;
        if (i % CUSZ_BESIDE == CUSZ_BESIDE - 1 || left <= 512) {
            CHECK(width->decode(&table, (struct cusz_bits){out, (uint32_t)length}, beside, words));
            memset(beside, 0, sizeof beside);
        }
    }
    CHECK_EQ_MEM((uint8_t *)words, folded->words, folded->count * width->size);
}

/* All ways in which a processor can do it make the same. */
static void test_ways(enum bale_round_type type, bool has_runs)
{
    static uint8_t elements[8 * ELEMENTS], words[2][8 * ELEMENTS], back[8 * ELEMENTS];
    static uint8_t folded[2][8 * ELEMENTS], out[2][16 * ELEMENTS], lengths[2][1024];
    static uint64_t others[2][ELEMENTS / 64];
    static uint32_t list[2][ELEMENTS];
    static struct cusz_matcher matcher;
    const struct cusz_width *plain = type == BALE_ROUND_F32 ? &cusz_width_f32 : &cusz_width_f64;
    const uint32_t strides[3] = {1, 37, 37 * 41};
    const double step = 0x1p-7;
    struct bale_rounding rounding;
    struct cusz_codes codes;
    struct cusz_puts puts;
    uint64_t state = 11, bits;

    memcpy(&bits, &step, sizeof bits);
    REQUIRE(bale_rounding_make(&rounding, type, false, bits) == BALE_OK);
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        const uint64_t random = data_next(&state);
        const double x = random % 50 ? (double)(random >> 50) / 128 : (double)random;
        const float y = (float)x;
        memcpy(elements + i * plain->size, plain->size == 8 ? (const void *)&x : &y, plain->size);
    }
    for (unsigned i = 0; cusz_width_at(type, i); i++) {
        const struct cusz_width *way[2] = {plain, cusz_width_at(type, i)};
        uint32_t listed[2], counts[2][CUSZ_TOKENS] = {{0}}, runs[2][CUSZ_RUNS] = {{0}};
        uint64_t costs[2][CUSZ_ORDERS] = {{0}};
        uint32_t pairs[2];
        int64_t length[2];
        for (int k = 0; k < 2; k++) {
            const struct cusz_folded made = {folded[k], others[k], ELEMENTS};
            listed[k] =
                way[k]->quantise(&rounding, elements, ELEMENTS, words[k], list[k], ELEMENTS);
            way[k]->sample(words[k], ELEMENTS, strides, 4, costs[k]);
            way[k]->predict(words[k], ELEMENTS, strides, 3, true, folded[k], others[k]);
            pairs[k] = way[k]->count(&made, counts[k], runs[k]);
            if (k == 0)
                codes_of(counts[0], has_runs ? runs[0] : NULL, &codes, &puts);
            length[k] = way[k]->encode(&matcher, &codes, &puts, &made, 9, lengths[k], out[k],
                                       sizeof out[k]);
        }
        CHECK(listed[0] > 0 && listed[0] == listed[1]);
        CHECK_EQ_MEM((uint8_t *)list[0], (uint8_t *)list[1], sizeof *list[0] * listed[0]);
        CHECK_EQ_MEM(words[0], words[1], plain->size * ELEMENTS);
        CHECK_EQ_MEM(folded[0], folded[1], plain->size * ELEMENTS);
        CHECK_EQ_MEM(others[0], others[1], sizeof others[0]);
        CHECK_EQ_U(pairs[0], pairs[1]);
        CHECK_EQ_MEM((uint8_t *)counts[0], (uint8_t *)counts[1], sizeof counts[0]);
        CHECK_EQ_MEM((uint8_t *)runs[0], (uint8_t *)runs[1], sizeof runs[0]);
        CHECK_EQ_MEM((uint8_t *)costs[0], (uint8_t *)costs[1], sizeof costs[0]);
        if (CHECK(length[0] > 0 && length[0] == length[1])) {
            const struct cusz_folded made = {folded[1], others[1], ELEMENTS};
            CHECK_EQ_MEM(out[0], out[1], (size_t)length[0]);
            there_and_back(way[1], &codes, &puts, &made, length[0], out[0]);
        }
        way[1]->restore(&rounding, words[1], ELEMENTS, back);
        for (uint32_t k = 0; k < listed[0]; k++)
            memcpy(back + list[0][k] * plain->size, elements + list[0][k] * plain->size,
                   plain->size);
        CHECK_EQ_MEM(back, elements, plain->size * ELEMENTS);
    }
}

int main(void)
{
    test_prediction();
    test_turning(BALE_ROUND_F32, 32);
    test_turning(BALE_ROUND_F64, 64);
    test_counts();
    test_multiples();
    for (int has_runs = 0; has_runs < 2; has_runs++) {
        test_ways(BALE_ROUND_F32, has_runs);
        test_ways(BALE_ROUND_F64, has_runs);
    }
    return check_result();
}
