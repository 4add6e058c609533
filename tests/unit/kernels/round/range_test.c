/* The range of pieces of arrays, against a plain search for it. */
#include "kernels/round/range.h"

#include <math.h>

#include "tests/check.h"
#include "tests/codecs/data.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif

enum { LENGTH = 6000 };

static double element(const struct bale_field *field, const uint8_t *at)
{
    const size_t width = field->type == BALE_FIELD_F64 ? 8 : 4;
    uint8_t bytes[8];
    double wide;
    float narrow;

    for (size_t i = 0; i < width; i++)
        bytes[i] = at[field->big_endian ? width - 1 - i : i];
    memcpy(&wide, bytes, 8);
    memcpy(&narrow, bytes, 4);
    return width == 8 ? wide : narrow;
}

static struct bale_range expect(const struct bale_field *field, uint64_t offset,
                                const uint8_t *bytes, size_t length)
{
    const size_t width = field->type == BALE_FIELD_F64 ? 8 : 4;
    struct bale_range range = {INFINITY, -INFINITY};

    for (uint64_t at = field->offset; at + width <= offset + length; at += width)
        if (at >= offset && (field->end == 0 || at + width <= field->end)) {
            const double x = element(field, bytes + (at - offset));
            range.low = isfinite(x) && x < range.low ? x : range.low;
            range.high = isfinite(x) && x > range.high ? x : range.high;
        }
    return range;
}

/* Any bits: NaN, infinities and denormals are among them. */
static void test_pieces(void)
{
    static uint8_t raw[LENGTH];
    uint64_t state = 4;

    for (unsigned n = 0; n < 3000; n++) {
        const struct bale_field field = {
            .type = n % 2 ? BALE_FIELD_F32 : BALE_FIELD_F64,
            .big_endian = n % 5 == 0,
            .offset = n % 3 ? data_next(&state) % 3000 : 0,
            .end = n % 7 ? 0 : data_next(&state) % 9000,
        };
        const uint64_t offset = n % 4 ? data_next(&state) % 4000 : 0;
        const size_t length = data_next(&state) % (n % 6 ? 40 : LENGTH);
        struct bale_range got, want;

        for (size_t i = 0; i < length; i++)
            raw[i] = (uint8_t)(data_next(&state) >> (n % 11 ? 0 : 6)); /* or hardly a bit is set */
        got = bale_range_of_piece(&field, offset, raw, length);
        want = expect(&field, offset, raw, length);
        CHECK(got.low == want.low && got.high == want.high);
    }
}

static void test_edges(void)
{
    const float all[] = {NAN, -INFINITY, 0x1p-149F, -0x1p-149F, 0x1.fffffep127F, INFINITY, -NAN};
    const struct bale_field field = {.type = BALE_FIELD_F32};
    const struct bale_field other = {.type = BALE_FIELD_I32};
    struct bale_range range;

    for (size_t count = 0; count <= 7; count++) {
        range = bale_range_of_piece(&field, 0, (const uint8_t *)all, 4 * count);
        CHECK(range.low == (count < 3 ? INFINITY : count < 4 ? 0x1p-149 : -0x1p-149));
        CHECK(range.high == (count < 3 ? -INFINITY : count < 5 ? 0x1p-149 : 0x1.fffffep127));
    }
    range = bale_range_of_piece(&other, 0, (const uint8_t *)all, sizeof all);
    CHECK(range.low > range.high);
}

/* A stranger's thread may take denormals for zero. */
static void test_mode(void)
{
#ifdef __SSE2__
    const float denormal = 0x1p-149F;
    const struct bale_field field = {.type = BALE_FIELD_F32};
    const unsigned was = _mm_getcsr();
    struct bale_range range;
    uint64_t bits;

    _mm_setcsr(was | 0x8040);
    range = bale_range_of_piece(&field, 0, (const uint8_t *)&denormal, sizeof denormal);
    CHECK_EQ_U(_mm_getcsr() & 0x8040, 0x8040);
    _mm_setcsr(was);
    memcpy(&bits, &range.high, sizeof bits);
    CHECK_EQ_U(bits, UINT64_C(0x36a0000000000000));
#endif
}

int main(void)
{
    test_pieces();
    test_edges();
    test_mode();
    return check_result();
}
