/* No element moves by more than the bound, over as many elements as one likes: "bound_test N SEED"
 * looks at about N. round_test knows what each element must become, and takes 0.7 us for one; here
 * the error alone is looked at, exactly, but in the processor's arithmetic. What was rounded stays
 * when it is rounded again, has the word of cusz that it had before, and some of it goes through
 * that codec. */
#include "format/err.h"
#include "kernels/cusz/cusz.h"
#include "kernels/frame/registry.h"
#include "kernels/round/mode.h"
#include "tests/check.h"
#include "tests/unit/kernels/round/draw.h"
#include "tests/unit/kernels/round/exact.h"

enum { ELEMENTS = 16384, CODEC_EVERY = 50, BYTES = ELEMENTS * 8 };

static struct bale_scratch *scratch;
static uint64_t moved, elements, coded, blocks;

/* Elements as bits and as numbers. Both types' numbers are binary64. */
struct block {
    union {
        uint8_t bytes[BYTES];
        uint32_t narrow[ELEMENTS];
        uint64_t wide[ELEMENTS];
        float floats[ELEMENTS];
        double doubles[ELEMENTS];
    };
    double numbers[ELEMENTS];
};

static void make_numbers(struct block *b, enum bale_round_type type)
{
    for (size_t i = 0; i < ELEMENTS; i++)
        b->numbers[i] = type == BALE_ROUND_F32 ? (double)b->floats[i] : b->doubles[i];
}

/* Whether |x - y| is above the bound. d is the difference, rounded, and d + rest is exactly the
 * difference (Knuth). Rounding is monotonic and the bound a binary64, so that the rest decides only
 * where |d| is the bound. */
static inline bool is_far(double x, double y, double bound)
{
    const double d = x - y, other = d - x;
    const double rest = (x - (d - other)) + (-y - other);
    const double size = fabs(d), beyond = d < 0 ? -rest : rest;

    return !(size < bound) && !(size == bound && beyond <= 0);
}

/* How many elements moved, and by more than the bound. */
static uint64_t count_far(const struct block *x, const struct block *y,
                          const struct bale_rounding *rounding)
{
    const double bound = rounding->bound;
    uint64_t far = 0, count = 0;

    for (size_t i = 0; i < ELEMENTS; i++) {
        const bool differ = rounding->type == BALE_ROUND_F32 ? x->narrow[i] != y->narrow[i]
                                                             : x->wide[i] != y->wide[i];
        count += differ;
        far += differ && is_far(x->numbers[i], y->numbers[i], bound);
    }
    moved += count;
    return far;
}

/* The numbers that is_far is right about are those that integers alone find near or far: pairs
 * whose distance is the bound, or a unit of its last place more or less. */
static void test_is_far(void)
{
    for (int i = 0; i < 200000; i++) {
        const uint64_t x_bits = draw() % (UINT64_C(0x7ff) << 52) | (draw() & 1) << 63;
        const uint64_t by = draw() % 8 ? draw() >> (draw() % 60) : draw() % 4;
        const uint64_t y_bits = x_bits + (x_bits << 1 > by ? -by : by);
        struct exact x, y, bound;
        double a, b, e;
        memcpy(&a, &x_bits, sizeof a);
        memcpy(&b, &y_bits, sizeof b);
        e = fabs(a - b);
        if (exact_from(exact_f64, y_bits, &y) != EXACT_FINITE || e == 0 || isinf(e))
            continue;
        exact_from(exact_f64, x_bits, &x);
        for (int units = -1; units <= 1; units++) {
            const uint64_t bound_bits = double_bits(e) + (uint64_t)(int64_t)units;
            memcpy(&e, &bound_bits, sizeof e);
            if (isinf(e) || exact_from(exact_f64, bound_bits, &bound) != EXACT_FINITE)
                continue;
            CHECK(is_far(a, b, e) == !exact_is_near(x, y, bound));
            e = fabs(a - b);
        }
    }
}

/* Elements have the words of cusz that they had before they were rounded. */
static void check_words(const struct bale_rounding *rounding, const struct block *x,
                        const struct block *y)
{
    const struct cusz_width *width =
        rounding->type == BALE_ROUND_F32 ? &cusz_width_f32 : &cusz_width_f64;
    static struct block before, behind;

    (void)width->quantise(rounding, x->bytes, ELEMENTS, before.bytes, NULL, 0);
    (void)width->quantise(rounding, y->bytes, ELEMENTS, behind.bytes, NULL, 0);
    CHECK_EQ_MEM(behind.bytes, before.bytes, ELEMENTS * bale_rounding_width(rounding));
}

/* The codec gives the bytes back, if it is for them. */
static void check_codec(const struct bale_rounding *rounding, const uint8_t *bytes, size_t length)
{
    static uint8_t part[2048], stored[BYTES], back[BYTES];
    const struct bale_codec *codec = bale_codec_find(BALE_CODEC_CUSZ);
    void *work = bale_scratch_work(scratch, BALE_CODEC_CUSZ);
    const struct bale_field field = {.type = rounding->type == BALE_ROUND_F32 ? BALE_FIELD_F32
                                                                              : BALE_FIELD_F64,
                                     .pipeline = (uint8_t)(draw() % BALE_PIPELINES),
                                     .dims = {64, 64, 4},
                                     .step = double_bits(rounding->step)};
    struct bale_extent_part made = {.bytes = part};
    int64_t size =
        codec->learn(work, 0, &field, 0, BYTES, bytes, (uint32_t)length, part, sizeof part);

    REQUIRE(size >= 0);
    made.length = (uint32_t)size;
    size = codec->encode(work, 0, made, bytes, (uint32_t)length, stored, (uint32_t)length - 1);
    REQUIRE(size >= 0);
    if (size == 0)
        return;
    coded += length / bale_rounding_width(rounding);
    CHECK_EQ(codec->decode(work, 0, made, stored, (uint32_t)size, back, (uint32_t)length, BYTES,
                           (struct bale_wanted){0, (uint32_t)length}),
             BALE_OK);
    CHECK_EQ_MEM(back, bytes, length);
}

static void check_block(const struct bale_rounding *rounding, unsigned kind, double range)
{
    static struct block x, y, z;
    const size_t length = ELEMENTS * bale_rounding_width(rounding);

    for (size_t i = 0; i < ELEMENTS; i++) {
        const uint64_t bits = draw_element(rounding, kind, range);
        if (rounding->type == BALE_ROUND_F32)
            x.narrow[i] = (uint32_t)bits;
        else
            x.wide[i] = bits;
    }
    bale_round(rounding, y.bytes, x.bytes, ELEMENTS);
    make_numbers(&x, rounding->type);
    make_numbers(&y, rounding->type);
    if (!CHECK_EQ_U(count_far(&x, &y, rounding), 0))
        fprintf(stderr, "type %d, step %a, kind %u\n", (int)rounding->type, rounding->step, kind);
    bale_round(rounding, z.bytes, y.bytes, ELEMENTS);
    CHECK_EQ_MEM(z.bytes, y.bytes, length);
    check_words(rounding, &x, &y);
    elements += ELEMENTS;
    if (blocks++ % CODEC_EVERY == 0)
        check_codec(rounding, y.bytes, length);
}

/* Bounds from 1e-1 to 1e-12 of a range. */
static void test_bounds(enum bale_round_type type)
{
    for (int power = 1; power <= 12; power++) {
        const double range = draw_range(type);
        struct bale_rounding rounding;
        REQUIRE(bale_rounding_make(&rounding, type, false,
                                   double_bits(2 * range * pow(10, -power))) == BALE_OK);
        for (unsigned kind = 0; kind < DRAW_KINDS; kind++)
            check_block(&rounding, kind, range);
    }
}

int main(int argc, char **argv)
{
    const uint64_t least = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    struct bale_float_mode mode;

    if (argc > 2)
        draw_state = strtoull(argv[2], NULL, 10);
    REQUIRE(bale_scratch_create(&scratch) == BALE_OK);
    bale_float_mode_enter(&mode);
    test_is_far();
    while (elements < least) {
        test_bounds(BALE_ROUND_F32);
        test_bounds(BALE_ROUND_F64);
    }
    bale_float_mode_leave(&mode);
    bale_scratch_destroy(scratch);
    printf("%ju elements, %ju moved, %ju through the codec\n", (uintmax_t)elements,
           (uintmax_t)moved, (uintmax_t)coded);
    return check_result();
}
