/* The codec lzr: its classes, the worked example of its specification, the same bytes from all
 * kinds of rounds, and data of every length and many kinds through both searches. */
#include "format/bytes.h"
#include "format/err.h"
#include "kernels/lzr/decode.h"
#include "kernels/lzr/search.h"
#include "tests/check.h"
#include "tests/codecs/data.h"

#include <stdlib.h>

static struct lzr_emit emit;
static struct lzr_decode decoder;
static struct lzr_full full;
static struct lzr_found found;
static uint8_t data[LZR_CHUNK], stored[LZR_CHUNK], other[LZR_CHUNK];

/* From a block of exactly its size into one, so that a sanitizer sees any excess. */
static int decode(const uint8_t *in, uint32_t length, uint8_t *raw, uint32_t raw_length)
{
    uint8_t *exact = malloc(length), *back = malloc(raw_length);
    int err;

    REQUIRE(exact && back);
    memcpy(exact, in, length);
    err = lzr_decode(&decoder, exact, length, back, raw_length, raw_length);
    memcpy(raw, back, raw_length);
    free(back);
    free(exact);
    return err;
}

/* ---- Classes ---- */

static void check_class(unsigned value, unsigned class, struct lzr_class of)
{
    CHECK(value >= of.base && value < of.base + (1u << of.bits));
    if (value < of.base || value >= of.base + (1u << of.bits))
        fprintf(stderr, "    %u in class %u\n", value, class);
}

static void test_classes(void)
{
    unsigned class;

    for (unsigned run = 0; run < LZR_RUN; run++) {
        class = lzr_class_of_run(run);
        CHECK(class < LZR_RUN_ONLY);
        check_class(run, class, lzr_run_class(class));
    }
    for (unsigned length = LZR_MATCH_MIN; length <= LZR_MATCH_MAX; length++) {
        class = lzr_class_of_length(length);
        CHECK(class > LZR_MATCH_NONE && class < LZR_MATCH_CLASSES);
        check_class(length, class, lzr_match_class(class));
    }
    for (unsigned offset = 1; offset < LZR_CHUNK; offset++) {
        class = lzr_class_of_offset(offset);
        CHECK(class >= LZR_REPEATS && class < LZR_OFFSET_CLASSES);
        check_class(offset, class, lzr_offset_class(class));
    }
}

/* ---- The example ---- */

/* 16 times "abc" and 18 bytes at the offset 3: 48 literals, all in the carries. */
static void test_example(void)
{
    static const uint8_t head[] = {0x00, 0x10, 0x00, 0x00, 0x01, 0x01, 0x08, 0x00,
                                   0x01, 0x01, 0x04, 0x01, 0x01, 0x01, 0x20, 0x00};
    uint8_t in[sizeof head + BALE_RANS_STATES] = {0}, raw[16 * 21];

    memcpy(in, head, sizeof head);
    in[10] = 0x01; /* the mask of match class 16 */
    in[9] = 0x04;  /* in group 2 */
    in[11] = 0x00;
    for (unsigned lane = 0; lane < BALE_RANS_LANES; lane++) {
        uint8_t *low = in + sizeof head + (size_t)2 * lane;
        low[0] = (uint8_t)("abc"[lane % 3]);
        low[1] = lane + BALE_RANS_LANES < 48 ? (uint8_t)("abc"[(lane + BALE_RANS_LANES) % 3]) : 0;
        bale_put16(low + (size_t)2 * BALE_RANS_LANES, 1);
    }
    CHECK_EQ(decode(in, sizeof in, raw, sizeof raw), BALE_OK);
    for (size_t i = 0; i < sizeof raw; i++)
        CHECK_EQ(raw[i], "abc"[i % 3]);
}

/* ---- Data ---- */

/* A byte of a pattern changes now and then. */
static void fill_period(uint32_t period, uint32_t changes, uint64_t seed, uint8_t *out,
                        uint32_t length)
{
    uint64_t state = seed;

    for (uint32_t i = 0; i < length; i++)
        out[i] = i < period || data_next(&state) % 1000 < changes ? (uint8_t)data_next(&state)
                                                                  : out[i - period];
}

/* Words of four bytes whose places differ. */
static void fill_floats(uint64_t seed, uint8_t *out, uint32_t length)
{
    uint64_t state = seed;

    for (uint32_t i = 0; i < length; i++)
        out[i] = i % 4 == 3   ? 0x3f
                 : i % 4 == 2 ? (uint8_t)(data_next(&state) % 30)
                              : (uint8_t)data_next(&state);
}

static void fill(unsigned kind, uint8_t *out, uint32_t length)
{
    static const uint32_t periods[] = {1, 2, 3, 7, 15, 16, 17, 100, 5000, 40000};
    enum { PERIODS = sizeof periods / sizeof periods[0] };

    if (kind < DATA_KINDS)
        data_fill((enum data_kind)kind, kind, out, length);
    else if (kind == DATA_KINDS)
        fill_floats(3, out, length);
    else
        fill_period(periods[kind % PERIODS], kind % 3 * 20, kind, out, length);
}
enum { KINDS = DATA_KINDS + 1 + 30 };

static void search(int level, const uint8_t *raw, uint32_t length)
{
    if (level == 1)
        lzr_search_fast(&full.fast, raw, length, &found);
    else
        lzr_search_full(&full, raw, length, &found);
}

/* The sequences stand for the bytes. */
static void check_found(const uint8_t *raw, uint32_t length)
{
    uint32_t at = 0, literals = 0;
    bool good = found.count <= LZR_SEQUENCES;

    for (uint32_t i = 0; good && i < found.count; i++) {
        uint32_t run = found.runs[i], match = found.lengths[i];
        uint32_t offset = found.offsets[LZR_REPEATS + i];
        at += run;
        literals += run;
        good = at <= length && match <= length - at &&
               (match == 0 ? (run == LZR_RUN || i + 1 == found.count) &&
                                 offset == found.offsets[LZR_REPEATS + i - 1]
                           : run < LZR_RUN && match >= LZR_MATCH_MIN && match <= LZR_MATCH_MAX &&
                                 offset > 0 && offset <= at);
        for (uint32_t n = 0; good && n < match; n++, at++)
            good = raw[at] == raw[at - offset];
    }
    CHECK(good && at == length && literals == found.literals);
}

static const struct lzr_rounds *rounds_at(size_t i)
{
    const struct bale_rans_steps *steps = bale_rans_steps_at(i);

    return steps ? lzr_rounds_with(steps) : NULL;
}

/* Every kind of rounds has the classes of lzr.h. */
static void check_classes(const struct lzr_coded *coded)
{
    for (uint32_t i = 0; i < found.count; i++) {
        unsigned run = found.runs[i], length = found.lengths[i], bits = 0, class;
        const uint16_t *offset = found.offsets + LZR_REPEATS + i;
        uint32_t raw = 0;
        CHECK_EQ_U(coded->run[i], run == LZR_RUN ? LZR_RUN_ONLY : lzr_class_of_run(run));
        class = length == 0 ? LZR_MATCH_NONE : lzr_class_of_length(length);
        CHECK_EQ_U(coded->match[i], run == LZR_RUN ? LZR_ABSENT : class);
        if (length > 0) {
            unsigned repeat = offset[0] == offset[-1]   ? 0
                              : offset[0] == offset[-2] ? 1
                              : offset[0] == offset[-3] ? 2
                                                        : lzr_class_of_offset(offset[0]);
            CHECK_EQ_U(coded->offset[i], repeat);
            bits = repeat < LZR_REPEATS ? 0 : lzr_offset_class(repeat).bits;
            raw = bits > 0 ? offset[0] - lzr_offset_class(repeat).base : 0;
            raw |= (uint32_t)(length - lzr_match_class(class).base) << bits;
            bits += lzr_match_class(class).bits;
        } else {
            CHECK_EQ_U(coded->offset[i], LZR_ABSENT);
        }
        if (run < LZR_RUN) {
            raw |= (uint32_t)(run - lzr_run_class(lzr_class_of_run(run)).base) << bits;
            bits += lzr_run_class(lzr_class_of_run(run)).bits;
        }
        CHECK_EQ_U(coded->bits[i], bits);
        CHECK_EQ_U(coded->raw[i], raw);
    }
}

static void test_classify(void)
{
    static struct lzr_coded coded;
    uint64_t state = 4;

    lzr_found_begin(&found);
    while (found.count + 10 < LZR_SEQUENCES) {
        uint32_t run = (uint32_t)(data_next(&state) % 100),
                 bits = (uint32_t)(data_next(&state) % 17);
        uint32_t length =
            (uint32_t)(data_next(&state) % 5 == 0 ? 0 : data_next(&state) & 0x7fff >> bits % 16);
        uint32_t offset = 1 + (uint32_t)(data_next(&state) % ((1u << bits) - (bits > 0)));
        if (data_next(&state) % 3 == 0)
            offset = found.offsets[found.count + data_next(&state) % LZR_REPEATS];
        lzr_found_add(&found, run, length + (length > 0 ? 2 : 0), offset);
    }
    for (size_t i = 0; rounds_at(i); i++) {
        memset(&coded, 0x55, sizeof coded);
        rounds_at(i)->classify(&found, &coded);
        check_classes(&coded);
    }
}

static void check(int level, const uint8_t *bytes, uint32_t length)
{
    const struct lzr_rounds *rounds;
    uint8_t *raw = malloc(length);
    uint32_t size;

    REQUIRE(raw);
    memcpy(raw, bytes, length);
    search(level, raw, length);
    check_found(raw, length);
    lzr_emit_init(&emit, lzr_rounds_with(&bale_rans_plain));
    size = lzr_emit(&emit, &found, raw, length, stored, length - 1);
    for (size_t i = 0; size > 0 && (rounds = rounds_at(i)); i++) {
        lzr_emit_init(&emit, rounds);
        CHECK_EQ_U(lzr_emit(&emit, &found, raw, length, other, length - 1), size);
        if (!CHECK_EQ_MEM(other, stored, size))
            fprintf(stderr, "    %s\n", rounds->steps->name);
        CHECK_EQ_U(lzr_emit(&emit, &found, raw, length, other, size - 1), 0);
        lzr_decode_init(&decoder, rounds);
        memset(raw, 0xa5, length);
        CHECK_EQ(decode(stored, size, raw, length), BALE_OK);
        CHECK_EQ_MEM(raw, bytes, length);
    }
    free(raw);
}

static void test_kinds(void)
{
    static const uint32_t lengths[] = {2, 11, 12, 13, 300, 4096, 16383, 16384, 40001, LZR_CHUNK};

    for (unsigned kind = 0; kind < KINDS; kind++)
        for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
            fill(kind, data, lengths[l]);
            check(1, data, lengths[l]);
            check(2, data, lengths[l]);
        }
}

/* Elements of eight bytes of which one always is the same: an eighth of the chunk is gained,
 * although no match is found. */
static void test_elements(void)
{
    uint64_t state = 6;

    for (unsigned place = 0; place < 8; place++) {
        data_random(&state, data, LZR_CHUNK);
        for (uint32_t at = place; at < LZR_CHUNK; at += 8)
            data[at] = 0x3f;
        search(1, data, LZR_CHUNK);
        CHECK(lzr_emit(&emit, &found, data, LZR_CHUNK, stored, LZR_CHUNK - LZR_CHUNK / 16) > 0);
    }
}

/* What level 2 makes of the data. */
static uint32_t size_of_full(void)
{
    search(2, data, LZR_CHUNK);
    return lzr_emit(&emit, &found, data, LZR_CHUNK, stored, LZR_CHUNK - 1);
}

/* Level 2 takes a match if its bytes would take more as literals: not the short ones among random
 * letters of four kinds, at two bits each, but the long ones where all bytes are the same. Where
 * every fourth byte is, the others count, too. */
static void test_ranks(void)
{
    uint64_t state = 7;

    for (uint32_t i = 0; i < LZR_CHUNK; i++)
        data[i] = (uint8_t) "acgt"[data_next(&state) % 4];
    CHECK(size_of_full() < LZR_CHUNK * 28 / 100);
    memset(data, 'a', LZR_CHUNK);
    CHECK(size_of_full() < LZR_CHUNK / 300);
    CHECK(found.count < 5);
    for (uint32_t i = 0; i < LZR_CHUNK; i++)
        data[i] = i % 4 == 0 ? 0 : i < 4096 ? (uint8_t)data_next(&state) : data[i - 4096];
    CHECK(size_of_full() < LZR_CHUNK / 15);
}

/* Damaged streams: an error or some bytes, the same on all kinds of steps. */
static void test_damage(void)
{
    enum { LENGTH = 20000, ROUNDS = 300 };
    const struct lzr_rounds *rounds;
    uint64_t state = 9;
    static uint8_t raw[LENGTH], plain[LENGTH];

    for (unsigned kind = 0; kind < KINDS; kind += 2) {
        fill(kind, data, LENGTH);
        search(1, data, LENGTH);
        uint32_t size = lzr_emit(&emit, &found, data, LENGTH, stored, LENGTH - 1);
        for (int round = 0; size > 0 && round < ROUNDS; round++) {
            memcpy(other, stored, size);
            for (uint64_t edits = 1 + data_next(&state) % 4; edits > 0; edits--)
                other[data_next(&state) % (round % 2 ? size : 40)] = (uint8_t)data_next(&state);
            lzr_decode_init(&decoder, lzr_rounds_with(&bale_rans_plain));
            int err = decode(other, size, plain, LENGTH);
            CHECK(err == BALE_OK || err == BALE_E_CORRUPT);
            for (size_t i = 0; (rounds = rounds_at(i)); i++) {
                lzr_decode_init(&decoder, rounds);
                CHECK_EQ(decode(other, size, raw, LENGTH), err);
                if (err == BALE_OK)
                    CHECK_EQ_MEM(raw, plain, LENGTH);
            }
        }
    }
}

int main(void)
{
    lzr_emit_init(&emit, lzr_rounds());
    lzr_decode_init(&decoder, lzr_rounds());
    test_classes();
    test_classify();
    test_example();
    test_kinds();
    test_elements();
    test_ranks();
    test_damage();
    return check_result();
}
