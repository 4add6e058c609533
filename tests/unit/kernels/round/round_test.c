/* Rounding gives, bit for bit, what integers alone say; its error never exceeds the bound; and done
 * twice it changes nothing. "round_test N" looks at about N elements instead of a few, of other
 * random numbers each time when "round_test N SEED" has another seed. */
#include <fenv.h>
#include <float.h>
#include <math.h>

#include "format/err.h"
#include "kernels/round/mode.h"
#include "kernels/round/round.h"
#include "tests/check.h"
#include "tests/unit/kernels/round/draw.h"
#include "tests/unit/kernels/round/exact.h"

enum { ELEMENTS = 1000 }; /* no multiple of a block */

/* What the specification says of an element. */
static uint64_t expected(const struct bale_rounding *rounding, uint64_t bits)
{
    const struct exact_format format = rounding->type == BALE_ROUND_F32 ? exact_f32 : exact_f64;
    struct exact x, once, twice, f, g, bound;

    exact_from(exact_f64, double_bits(rounding->inverse), &f);
    exact_from(exact_f64, double_bits(rounding->step), &g);
    exact_from(exact_f64, double_bits(rounding->bound), &bound);
    if (exact_from(format, bits, &x) != EXACT_FINITE || !exact_multiple(format, x, f, g, &once) ||
        !exact_is_near(x, once, bound) || !exact_multiple(format, once, f, g, &twice) ||
        exact_bits(format, twice) != exact_bits(format, once))
        return bits;
    return exact_bits(format, once);
}

static void put(const struct bale_rounding *rounding, uint8_t *at, uint64_t bits)
{
    const size_t width = bale_rounding_width(rounding);

    for (size_t i = 0; i < width; i++)
        at[rounding->big_endian ? width - 1 - i : i] = (uint8_t)(bits >> 8 * i);
}

static uint64_t get(const struct bale_rounding *rounding, const uint8_t *at)
{
    const size_t width = bale_rounding_width(rounding);
    uint64_t bits = 0;

    for (size_t i = 0; i < width; i++)
        bits |= (uint64_t)at[rounding->big_endian ? width - 1 - i : i] << 8 * i;
    return bits;
}

/* All ways make what is expected of the elements, and of that the same. */
static void check_elements(const struct bale_rounding *rounding, const uint64_t *bits)
{
    static uint8_t bytes[ELEMENTS * 8 + 1], given[ELEMENTS * 8];
    static uint64_t want[ELEMENTS];
    const size_t width = bale_rounding_width(rounding);
    uint8_t *at = bytes + 1; /* not aligned */

    for (size_t i = 0; i < ELEMENTS; i++)
        want[i] = expected(rounding, bits[i]);
    for (size_t way = 0; bale_round_way_at(way); way++) {
        for (size_t i = 0; i < ELEMENTS; i++)
            put(rounding, given + i * width, bits[i]);
        for (int times = 1; times <= 2; times++) {
            size_t wrong = 0;
            bale_round_way_at(way)(rounding, at, times == 1 ? given : at, ELEMENTS);
            for (size_t i = 0; i < ELEMENTS; i++) {
                const uint64_t got = get(rounding, at + i * width);
                if (got == want[i] || wrong++ > 0)
                    continue;
                fprintf(stderr,
                        "way %zu, type %d, step %a, element %#jx, times %d: %#jx, not %#jx\n", way,
                        (int)rounding->type, rounding->step, (uintmax_t)bits[i], times,
                        (uintmax_t)got, (uintmax_t)want[i]);
            }
            CHECK_EQ_U(wrong, 0);
        }
    }
}

/* f is the binary64 nearest to 1 / g. */
static void check_inverse(const struct bale_rounding *rounding)
{
    struct exact f, g;
    unsigned __int128 one;
    uint64_t quotient;

    exact_from(exact_f64, double_bits(rounding->inverse), &f);
    exact_from(exact_f64, double_bits(rounding->step), &g);
    one = (unsigned __int128)1 << (g.significand == UINT64_C(1) << 52 ? 104 : 105);
    quotient = (uint64_t)((one + g.significand / 2) / g.significand);
    CHECK_EQ_U(f.significand, quotient);
}

/* Elements of all kinds for one bound. */
static void test_bound(enum bale_round_type type, double bound, double range)
{
    static uint64_t bits[ELEMENTS];
    struct bale_rounding rounding;

    if (!CHECK_EQ(bale_rounding_make(&rounding, type, draw() & 1, double_bits(2 * bound)), BALE_OK))
        return;
    CHECK(rounding.bound == bound);
    check_inverse(&rounding);
    for (unsigned kind = 0; kind < DRAW_KINDS; kind++) {
        for (size_t i = 0; i < ELEMENTS; i++)
            bits[i] = draw_element(&rounding, kind, range);
        check_elements(&rounding, bits);
    }
}

/* Bounds from 1e-1 to 1e-12 of ranges of every size that a type has, bounds that f32 has, powers of
 * two, and the least and greatest bounds. Returns how many elements that were. */
static uint64_t test_bounds(void)
{
    uint64_t elements = 0;

    for (int type = BALE_ROUND_F32; type <= BALE_ROUND_F64; type++)
        for (int power = 1; power <= 12; power++) {
            const double range = draw_range((enum bale_round_type)type);
            const double bounds[] = {range * pow(10, -power), pow(10, -power),
                                     (double)(float)pow(10, -power), ldexp(1, -4 * power),
                                     ldexp(1, (int)(draw() % 2000) - 1000)};
            for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
                test_bound((enum bale_round_type)type, bounds[i], i == 0 ? range : 1);
                elements += (uint64_t)DRAW_KINDS * ELEMENTS;
            }
        }
    for (int type = BALE_ROUND_F32; type <= BALE_ROUND_F64; type++) {
        test_bound((enum bale_round_type)type, 0x1p-1022, 1e-300);
        test_bound((enum bale_round_type)type, 0x1p1020, 1e308);
    }
    return elements;
}

static void test_steps(void)
{
    const double bad[] = {0,         -1,        NAN,        INFINITY, -INFINITY,
                          0x1p-1022, 0x1p-1074, 0x1.1p1021, DBL_MAX};
    struct bale_rounding rounding;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_EQ(bale_rounding_make(&rounding, BALE_ROUND_F32, false, double_bits(bad[i])),
                 BALE_E_INVALID);
}

/* What is known by heart. */
static void test_known(void)
{
    const float in[] = {0.26f, -0.0f, -0.1f, 0.25f, 0.75f, NAN, INFINITY, 3e38f, -1.2f};
    const float out[] = {0.5f, 0.0f, 0.0f, 0.0f, 1.0f, NAN, INFINITY, 3e38f, -1.0f};
    struct bale_rounding rounding;
    float x[sizeof in / sizeof *in];

    CHECK_EQ(bale_rounding_make(&rounding, BALE_ROUND_F32, false, double_bits(0.5)), BALE_OK);
    bale_round(&rounding, (uint8_t *)x, (const uint8_t *)in, sizeof in / sizeof *in);
    CHECK_EQ_MEM((const uint8_t *)x, (const uint8_t *)out, sizeof x);
}

/* A thread that rounds upwards and, on x86, has neither denormals nor masked traps gets the same
 * bytes, and keeps its mode. */
static void test_mode(void)
{
    const float in[] = {0x1.8p-140f, 0x1.4p-140f, 1.3f, -2.6f};
    const float out[] = {0x1.8p-140f, 0x1p-140f, 1.3f, -2.6f};
    struct bale_rounding rounding;
    float x[4];
    fenv_t before;

    CHECK_EQ(bale_rounding_make(&rounding, BALE_ROUND_F32, false, double_bits(0x1p-141)), BALE_OK);
    fegetenv(&before);
    fesetround(FE_UPWARD);
#ifdef __x86_64__
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040); /* FTZ, DAZ */
#endif
    memcpy(x, in, sizeof x);
    bale_round(&rounding, (uint8_t *)x, (const uint8_t *)x, 4);
    CHECK(fegetround() == FE_UPWARD);
#ifdef __x86_64__
    CHECK((__builtin_ia32_stmxcsr() & 0x8040) == 0x8040);
#endif
    fesetenv(&before);
    CHECK_EQ_MEM((const uint8_t *)x, (const uint8_t *)out, sizeof x);
}

int main(int argc, char **argv)
{
    const uint64_t least = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    struct bale_float_mode mode;
    uint64_t elements = 0;

    if (argc > 2)
        draw_state = strtoull(argv[2], NULL, 10);
    test_steps();
    test_known();
    test_mode();
    bale_float_mode_enter(&mode);
    while (elements < least)
        elements += test_bounds();
    bale_float_mode_leave(&mode);
    printf("%ju elements\n", (uintmax_t)elements);
    return check_result();
}
