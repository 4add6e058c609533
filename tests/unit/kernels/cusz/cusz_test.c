/* The worked example of kernels/cusz/spec.md; its codebooks; and what the codec does with data that
 * is not for it. */
#include <math.h>
#include <stdlib.h>

#include "format/err.h"
#include "kernels/cusz/cusz.h"
#include "kernels/frame/registry.h"
#include "tests/check.h"
#include "tests/codecs/cases.h"
#include "tests/codecs/data.h"

enum { ELEMENTS = 40000, CHUNK = 1 << 20, SMALL = 1 << 16 };

static struct bale_scratch *scratch;
static const struct bale_codec *codec;
static void *work;

static struct bale_field field_of(enum bale_field_type type, double step, uint64_t x, uint64_t y,
                                  enum bale_field_pipeline pipeline)
{
    struct bale_field field = {
        .type = (uint8_t)type, .dims = {x, y, x && y ? 1000 : 0}, .pipeline = (uint8_t)pipeline};

    memcpy(&field.step, &step, sizeof step);
    return field;
}

/* ---- Codebooks ---- */

/* The bits that Huffman's codes take: the sum of all joined nodes, found by looking through all. */
static uint64_t huffman_bits(const uint32_t counts[CUSZ_TOKENS])
{
    uint64_t nodes[CUSZ_TOKENS], bits = 0;
    size_t n = 0;

    for (size_t i = 0; i < CUSZ_TOKENS; i++)
        if (counts[i])
            nodes[n++] = counts[i];
    for (; n > 1; n--)
        for (size_t times = 0; times < 2; times++) {
            size_t least = 0;
            for (size_t i = 1; i < n - times; i++)
                least = nodes[i] < nodes[least] ? i : least;
            const uint64_t count = nodes[least];
            bits += count;
            nodes[least] = nodes[n - 1 - times];
            if (times == 0)
                nodes[n - 1] = count;
            else
                nodes[n - 2] = nodes[n - 1] + count;
        }
    return bits;
}

static void test_lengths(void)
{
    struct cusz_codes codes;
    uint64_t state = 9;

    for (unsigned n = 0; n < 60; n++) {
        const unsigned used = 2 + (unsigned)(data_next(&state) % (CUSZ_TOKENS - 1)) % (4 * n + 2);
        uint32_t counts[CUSZ_TOKENS] = {0}, most = 0;
        uint64_t bits = 0;
        for (unsigned i = 0; i < used; i++)
            counts[data_next(&state) % CUSZ_TOKENS] = 1 + (uint32_t)(data_next(&state) % 400);
        counts[0] = counts[1] = 50;
        cusz_lengths_huffman(counts, codes.length);
        CHECK(cusz_codes_make(&codes));
        for (unsigned i = 0; i < CUSZ_TOKENS; i++) {
            bits += (uint64_t)counts[i] * codes.length[i];
            CHECK(!counts[i] == !codes.length[i]);
        }
        CHECK_EQ_U(bits, huffman_bits(counts));
        cusz_lengths_equal(counts, codes.length);
        CHECK(cusz_codes_make(&codes));
        for (unsigned i = 0; i < CUSZ_TOKENS; i++)
            most = codes.length[i] > most ? codes.length[i] : most;
        for (unsigned i = 0; i < CUSZ_TOKENS; i++)
            CHECK(!codes.length[i] == !counts[i] && (!counts[i] || codes.length[i] + 1u >= most));
    }
}

/* Counts that grow as Fibonacci's would take longer codes than there are. */
static void test_long_codes(void)
{
    uint32_t counts[CUSZ_TOKENS] = {1, 1};
    struct cusz_codes codes;

    for (unsigned i = 2; i < 40; i++)
        counts[i] = counts[i - 1] + counts[i - 2];
    cusz_lengths_huffman(counts, codes.length);
    CHECK(cusz_codes_make(&codes));
    for (unsigned i = 0; i < CUSZ_TOKENS; i++)
        CHECK(codes.length[i] <= CUSZ_LENGTH_MAX && !counts[i] == !codes.length[i]);
}

/* ---- The codec ---- */

struct made {
    uint8_t part[1024];
    uint32_t part_length;
    uint8_t stored[CHUNK];
    int64_t length;
};

/* Learns and encodes one chunk, and decodes it again. */
static void make(const struct bale_field *field, const uint8_t *raw, uint32_t length,
                 struct made *made)
{
    static uint8_t back[CHUNK];
    struct bale_extent_part part = {made->part, 0};
    int64_t learned = codec->learn(work, 0, field, 0, CHUNK, raw, length, made->part, 1024);

    REQUIRE(learned >= 0);
    made->part_length = part.length = (uint32_t)learned;
    made->length = codec->encode(work, 0, part, raw, length, made->stored, length - 1);
    if (made->length <= 0)
        return;
    CHECK_EQ(codec->decode(work, 0, part, made->stored, (uint32_t)made->length, back, length, CHUNK,
                           (struct bale_wanted){0, length}),
             BALE_OK);
    CHECK_EQ_MEM(back, raw, length);
}

static void fill(float *x, size_t count, uint32_t spread, unsigned sparse)
{
    uint64_t state = spread;

    for (size_t i = 0; i < count; i++) {
        const uint64_t random = data_next(&state);
        x[i] = random % 1000 < sparse ? 0 : (float)((double)(random >> 32) * spread * 0x1p-32) / 4;
        x[i] = rintf(x[i] * 4) / 4;
    }
}

/* Each pipeline gives the bytes back; auto is as good as the best one. */
static void test_pipelines(void)
{
    static const struct {
        uint32_t spread;
        unsigned sparse;
    } kinds[] = {{6, 0}, {40, 300}, {200, 700}, {9, 990}, {1000000, 0}, {3, 600}};
    static float x[ELEMENTS];
    static struct made made;

    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        int64_t best = INT64_MAX, chosen = 0;
        fill(x, ELEMENTS, kinds[k].spread, kinds[k].sparse);
        for (int p = BALE_PIPELINE_AUTO; p < BALE_PIPELINES; p++) {
            struct bale_field field =
                field_of(BALE_FIELD_F32, 0.25, 100, 20, (enum bale_field_pipeline)p);
            make(&field, (const uint8_t *)x, sizeof x, &made);
            REQUIRE(made.length > 0);
            if (p == BALE_PIPELINE_AUTO)
                chosen = made.length + made.part_length;
            else if (made.length + made.part_length < best)
                best = made.length + made.part_length;
        }
        CHECK(chosen * 98 <= best * 100);
    }
}

/* An extent with too many elements on no multiple, one without a type, and one too short. */
static void test_unfit(void)
{
    struct bale_field field = field_of(BALE_FIELD_F32, 0.25, 0, 0, BALE_PIPELINE_AUTO);
    static float x[ELEMENTS];
    static struct made made;

    fill(x, ELEMENTS, 9, 0);
    for (size_t i = 0; i < ELEMENTS / CUSZ_UNFIT; i++)
        x[i * 7] = NAN;
    make(&field, (const uint8_t *)x, sizeof x, &made);
    CHECK(made.part_length > 0 && made.length > 0);
    x[ELEMENTS - 1] = INFINITY;
    make(&field, (const uint8_t *)x, sizeof x, &made);
    CHECK(made.part_length == 0 && made.length == 0);
    x[ELEMENTS - 1] = 0;
    field.type = BALE_FIELD_NONE;
    make(&field, (const uint8_t *)x, sizeof x, &made);
    CHECK_EQ_U(made.part_length, 0);
    field.type = BALE_FIELD_F32;
    make(&field, (const uint8_t *)x, 3, &made);
    CHECK_EQ_U(made.part_length, 0);
}

/* Words that are all 0, of which no frame of zeros is made, for an element is listed: runs. */
static void test_zeros(void)
{
    const struct bale_field field = field_of(BALE_FIELD_F32, 0.25, 0, 0, BALE_PIPELINE_AUTO);
    static float x[ELEMENTS];
    static struct made made;

    x[ELEMENTS / 2] = NAN;
    make(&field, (const uint8_t *)x, sizeof x, &made);
    CHECK(made.length > 0 && made.length < 100);
}

/* One segment of more bits than a length has: segments become shorter. */
static void test_long_segment(void)
{
    const struct bale_field field = field_of(BALE_FIELD_F64, 0.25, 0, 0, BALE_PIPELINE_AUTO);
    static double x[CHUNK / 8];
    static struct made made;
    uint64_t state = 1;

    for (size_t i = 0; i < 1400; i++)
        x[i + 4200] = (double)(data_next(&state) >> 17);
    make(&field, (const uint8_t *)x, sizeof x, &made);
    CHECK(made.length > 0);
    CHECK(made.stored[0] < 8 + (made.part[0] >> 4 & 7));
}

/* spec.md's example. */
static void test_example(void)
{
    static const uint8_t part[] = {0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xe0, 0x3f,
                                   0x44, 0x44, 0x44, 0x44, 0x44, 0x44, 0x54, 0x55, 0x55, 0xf0,
                                   0xf0, 0xf0, 0xf0, 0xf0, 0xf0, 0xf0, 0xc0, 0x05};
    static const uint8_t stored[] = {0x08, 0x30, 0x00, 0x0d, 0x00, 0x0e, 0xfb,
                                     0xe0, 0x76, 0x54, 0x32, 0xea, 0x08};
    float x[275], raw[275] = {0, -0.5f, 0};

    for (size_t i = 3; i < 275; i++)
        raw[i] = i < 256 ? 32 : 31.5f;
    CHECK_EQ(codec->decode(work, 0, (struct bale_extent_part){part, sizeof part}, stored,
                           sizeof stored, (uint8_t *)x, sizeof x, SMALL,
                           (struct bale_wanted){0, sizeof x}),
             BALE_OK);
    CHECK_EQ_MEM((uint8_t *)x, (uint8_t *)raw, sizeof raw);
}

int main(void)
{
    REQUIRE(bale_scratch_create(&scratch) == BALE_OK);
    codec = bale_codec_find(BALE_CODEC_CUSZ);
    work = bale_scratch_work(scratch, BALE_CODEC_CUSZ);
    test_lengths();
    test_long_codes();
    test_pipelines();
    test_unfit();
    test_zeros();
    test_long_segment();
    test_example();
    bale_scratch_destroy(scratch);
    return check_result();
}
