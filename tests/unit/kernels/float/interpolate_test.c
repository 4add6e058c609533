/* Interpolated rows (kernels/float/spec.md): the differences against the steps of the
 * specification one by one, every kind of vectors against plain C, and ranges. */
#include <math.h>

#include "tests/codecs/bytes.h"
#include "tests/unit/kernels/float/steps.h"

enum { ROOM = FLOAT_CHUNK };

static uint64_t state = 1;
static unsigned chunks, too_long; /* those that were encoded, and did not fit */

static uint32_t below(uint32_t limit)
{
    return (uint32_t)(data_next(&state) % limit);
}

/* ---- The specification's steps, an element at a time ---- */

/* A chunk's integers in rows; the last one may be shorter. */
struct rows {
    uint64_t v[FLOAT_ELEMENTS];
    uint32_t count, row;
    unsigned bits; /* of each */
};

static bool has(const struct rows *r, int64_t y, uint32_t x)
{
    return y >= 0 && y * r->row + x < r->count;
}

static uint64_t *at(struct rows *r, int64_t y, uint32_t x)
{
    return &r->v[y * r->row + x];
}

static uint64_t cut(const struct rows *r, uint64_t value)
{
    return value & UINT64_MAX >> (64 - r->bits);
}

/* floor(value / 2^by), value taken signed. */
static uint64_t floor_of(const struct rows *r, uint64_t value, unsigned by)
{
    return (uint64_t)((int64_t)(value << (64 - r->bits)) >> (64 - r->bits) >> by);
}

/* The prediction from the rows y + k s; d[i] is D of k = 2 i - 4, from v of 2 i - 5 on. */
static uint64_t predict(struct rows *r, uint32_t y, uint32_t x, int s)
{
    enum { LEFT = 2, STEPS = 5 };
    uint64_t d[STEPS] = {0};
    int first = STEPS, last = -1;

    for (int i = 0; i < STEPS; i++) {
        const int64_t from = (int64_t)y + (2 * i - 5) * s, to = from + 2 * s;
        if (has(r, from, x) && has(r, to, x)) {
            d[i] = *at(r, to, x) - *at(r, from, x);
            first = first < i ? first : i;
            last = i;
        }
    }
    for (int i = last + 1; last >= 0 && i < STEPS; i++)
        d[i] = i - 2 >= first ? 2 * d[i - 1] - d[i - 2] : d[i - 1];
    for (int i = first - 1; last >= 0 && i >= 0; i--)
        d[i] = i + 2 < STEPS ? 2 * d[i + 1] - d[i + 2] : d[i + 1];
    const uint64_t bend = floor_of(r, 22 * (d[1] - d[3]) - 3 * (d[0] - d[4]) + 64, 7);
    return *at(r, (int64_t)y - s, x) + floor_of(r, d[LEFT] + bend + 1, 1);
}

/* Of each odd multiple of s. The rows around are even ones, which change later or never. */
static void leave_predictions(struct rows *r, uint32_t rows, int s)
{
    for (uint32_t y = (uint32_t)s; y < rows; y += 2 * (uint32_t)s)
        for (uint32_t x = 0; x < r->row && has(r, y, x); x++)
            *at(r, y, x) -= predict(r, y, x, s);
}

/* A pass: elements become themselves less those `apart` rows or columns before, from the last. */
static void subtract_rows(struct rows *r, uint32_t rows, uint32_t pass)
{
    for (uint32_t y = (rows - 1) / 4 * 4; y >= 4 * pass; y -= 4)
        for (uint32_t x = 0; x < r->row && has(r, y, x); x++)
            *at(r, y, x) -= *at(r, y - 4, x);
}

static void subtract_in_row(struct rows *r, uint32_t y, uint32_t pass)
{
    for (uint32_t x = r->row; x-- > pass;)
        if (has(r, y, x))
            *at(r, y, x) -= *at(r, y, x - 1);
}

static void subtract(struct rows *r, const struct float_layout *layout)
{
    const uint32_t rows = (r->count + r->row - 1) / r->row;

    leave_predictions(r, rows, 1);
    leave_predictions(r, rows, 2);
    for (uint32_t pass = 1; pass <= layout->orders[1]; pass++)
        subtract_rows(r, rows, pass);
    for (uint32_t y = 0; y < rows; y++) {
        const unsigned order = y % 2 == 1   ? layout->details[0]
                               : y % 4 == 2 ? layout->details[1]
                                            : layout->orders[0];
        for (uint32_t pass = 1; pass <= order; pass++)
            subtract_in_row(r, y, pass);
    }
}

/* ---- Chunks ---- */

static uint64_t load(const struct float_layout *layout, const uint8_t *from)
{
    const unsigned size = 1u << layout->size_log2;
    uint64_t pattern = 0;

    for (unsigned k = 0; k < size; k++)
        pattern |= (uint64_t)from[layout->big_endian ? size - 1 - k : k] << 8 * k;
    return pattern;
}

/* The integer of a pattern without a fixed point. */
static uint64_t integer_of(const struct float_layout *layout, uint64_t pattern)
{
    const unsigned bits = 8u << layout->size_log2;
    const uint64_t a = pattern & ~(UINT64_C(1) << (bits - 1));

    if (!layout->is_float)
        return pattern;
    return pattern >> (bits - 1) ? -a - 1 : a;
}

/* The chunk's differences as integers of a chunk without orders: all sections are those of them. */
static int64_t encode_plainly(const struct float_layout *layout, const uint8_t *raw,
                              uint32_t length, uint8_t *out)
{
    static struct rows r;
    static uint8_t differences[FLOAT_CHUNK];
    const struct float_layout plain = {
        .size_log2 = layout->size_log2, .lead = layout->lead, .singles = layout->singles};
    const unsigned size = 1u << layout->size_log2;

    r.count = float_elements(layout, length);
    r.row = layout->strides[1];
    r.bits = 8 * size;
    for (uint32_t i = 0; i < r.count; i++)
        r.v[i] = cut(&r, integer_of(layout, load(layout, raw + layout->lead + (size_t)i * size)));
    if (r.count > 0)
        subtract(&r, layout);
    memcpy(differences, raw, length);
    for (uint32_t i = 0; i < r.count; i++)
        bytes_put_element(cut(&r, r.v[i]), size, false,
                          differences + layout->lead + (size_t)i * size);
    return float_plain[layout->size_log2 - 1].encode(work, &plain, differences, length, out, ROOM);
}

/* All steps make the same of a chunk, which, without raw bits, is what the specification says, and
 * decode it. Returns the stored length, the stream being in out. */
static int64_t round_trip(const struct float_layout *layout, const uint8_t *raw, uint32_t length,
                          uint8_t out[static ROOM])
{
    static uint8_t other[ROOM], back[FLOAT_CHUNK];
    int64_t stored =
        float_plain[layout->size_log2 - 1].encode(work, layout, raw, length, out, ROOM);

    if (layout->exponent == 0) {
        REQUIRE(encode_plainly(layout, raw, length, other) == stored);
        CHECK_EQ_MEM(other, out, (size_t)stored);
    }
    chunks++;
    too_long += stored == 0;
    for (unsigned i = 0; i < steps_count(); i++) {
        const struct float_steps *steps = &all_steps[i][layout->size_log2 - 1];
        REQUIRE(steps->encode(work, layout, raw, length, other, ROOM) == stored);
        if (stored == 0)
            continue;
        CHECK_EQ_MEM(other, out, (size_t)stored);
        memset(back, 0xa5, length);
        CHECK_EQ(steps->decode(work, layout, out, (uint32_t)stored, back, length,
                               (struct bale_wanted){0, length}),
                 BALE_OK);
        CHECK_EQ_MEM(back, raw, length);
    }
    return stored;
}

enum kind { RANDOM, CONSTANT, SMOOTH, NOISY, KINDS };

/* Elements of a kind in rows; smooth ones are a float's or an integer's value. */
static void fill(enum kind kind, const struct float_layout *layout, uint8_t *raw, uint32_t length)
{
    const unsigned size = 1u << layout->size_log2;
    const uint32_t count = float_elements(layout, length), row = layout->strides[1];

    data_random(&state, raw, length);
    for (uint32_t i = 0; i < count && kind != RANDOM; i++) {
        const uint32_t number = i / row;
        const double x = i % row, y = number;
        const double v = kind == CONSTANT ? 7
                                          : 9000 * sin(x / 17 + y / 40) * cos(y / 23 - x / 90) +
                                                (kind == NOISY ? below(100) : 0);
        const float f = (float)v;
        uint64_t pattern = (uint64_t)(int64_t)v;
        uint32_t half;
        if (layout->is_float && size == 8) {
            memcpy(&pattern, &v, sizeof pattern);
        } else if (layout->is_float && size == 4) {
            memcpy(&half, &f, sizeof half);
            pattern = half;
        }
        bytes_put_element(pattern, size, layout->big_endian, raw + layout->lead + (size_t)i * size);
    }
}

/* A part's type and orders at random, with rows of so many elements. */
static struct float_layout layout_of(unsigned size_log2, uint32_t row)
{
    struct float_layout l = {.size_log2 = (uint8_t)size_log2,
                             .is_float = below(3) > 0,
                             .big_endian = below(4) == 0,
                             .singles = size_log2 > 1 && below(2) > 0,
                             .lead = (uint8_t)(below(3) == 0 ? below(1u << size_log2) : 0),
                             .orders = {(uint8_t)below(5), (uint8_t)below(3)},
                             .interpolated = true,
                             .details = {(uint8_t)below(3), (uint8_t)below(3)}};

    l.strides[0] = l.orders[0] > 0;
    l.strides[1] = row;
    if (l.is_float && below(3) == 0)
        l.exponent = (uint16_t)(size_log2 == 1 ? 1 + below(30) : (size_log2 == 2 ? 130 : 1030));
    else if (l.is_float && size_log2 > 1 && below(4) == 0)
        l.exponent = (uint16_t)(FLOAT_DECIMAL + below(4));
    return l;
}

/* Rows of all lengths, longer than the chunk among them, and from one element to a whole chunk. */
static void test_rows(void)
{
    static const uint32_t rows[] = {1,  2,  3,   5,   7,   8,    31,   32,    33,
                                    64, 97, 100, 256, 300, 1000, 5000, 20000, FLOAT_STRIDE_MAX};
    static const uint32_t lengths[] = {
        1, 2, 9, 64, 100, 511, 512, 513, 3000, 9999, 20001, 65536, 65537, FLOAT_CHUNK, FLOAT_CHUNK};
    static uint8_t raw[FLOAT_CHUNK], out[ROOM];

    for (unsigned size_log2 = 1; size_log2 <= FLOAT_SIZES; size_log2++)
        for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
            for (unsigned k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
                const struct float_layout layout = layout_of(size_log2, rows[i]);
                fill((enum kind)((i + k) % KINDS), &layout, raw, lengths[k]);
                round_trip(&layout, raw, lengths[k], out);
            }
}

/* As many rows as there can be around one that is predicted, with each order and detail. */
static void test_orders(void)
{
    enum { LENGTH = 1500 };
    static uint8_t raw[LENGTH], out[ROOM];

    for (unsigned n = 0; n < 5 * 3 * 3 * 3; n++)
        for (unsigned size_log2 = 1; size_log2 <= FLOAT_SIZES; size_log2++) {
            const uint32_t row = 1 + below(40), size = 1u << size_log2;
            const uint32_t some = 1 + below(24 * row), most = LENGTH / size;
            const uint32_t count = some < most ? some : most;
            struct float_layout layout = layout_of(size_log2, row);
            layout.orders[0] = (uint8_t)(n % 5);
            layout.strides[0] = n % 5 > 0;
            layout.orders[1] = (uint8_t)(n / 5 % 3);
            layout.details[0] = (uint8_t)(n / 15 % 3);
            layout.details[1] = (uint8_t)(n / 45);
            layout.lead = count * size + layout.lead > LENGTH ? 0 : layout.lead;
            fill((enum kind)(n % KINDS), &layout, raw, count * size + layout.lead);
            round_trip(&layout, raw, count * size + layout.lead, out);
        }
}

/* ---- Ranges ---- */

/* A range of a chunk that is stored, with memory of its own: sanitizers see what is read behind. */
static void check_range(const struct float_layout *layout, const uint8_t *in, uint32_t stored,
                        const uint8_t *raw, uint32_t length, struct bale_wanted wanted)
{
    static uint8_t back[FLOAT_CHUNK];

    for (unsigned i = 0; i < steps_count(); i++) {
        memset(back, 0xa5, length);
        CHECK_EQ(all_steps[i][layout->size_log2 - 1].decode(work, layout, in, stored, back, length,
                                                            wanted),
                 BALE_OK);
        CHECK_EQ_MEM(back + wanted.from, raw + wanted.from, wanted.to - wanted.from);
    }
}

/* What is wanted needs rows behind it. */
static void check_ranges(const struct float_layout *layout, uint32_t length, unsigned step)
{
    static uint8_t raw[FLOAT_CHUNK], out[ROOM];
    int64_t stored;
    uint8_t *in;

    fill((enum kind)below(KINDS), layout, raw, length);
    stored = round_trip(layout, raw, length, out);
    if (stored == 0)
        return;
    in = malloc((size_t)stored);
    REQUIRE(in);
    memcpy(in, out, (size_t)stored);
    for (uint32_t from = 0; from < length; from += 1 + below(step))
        for (uint32_t to = from + 1; to <= length; to += 1 + below(3 * step))
            check_range(layout, in, (uint32_t)stored, raw, length, (struct bale_wanted){from, to});
    free(in);
}

static void test_ranges(void)
{
    static const uint32_t rows[] = {1, 3, 8, 20, 33, 64, 100, 700, 40000};

    for (unsigned size_log2 = 1; size_log2 <= FLOAT_SIZES; size_log2++) {
        const struct float_layout small = layout_of(size_log2, 1 + below(9));
        check_ranges(&small, 180, 1);
        for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            const struct float_layout layout = layout_of(size_log2, rows[i]);
            check_ranges(&layout, 900 + below(9000), 500);
            check_ranges(&layout, 60000 + below(FLOAT_CHUNK - 60000), 30000);
        }
    }
}

int main(void)
{
    REQUIRE(bale_codec_float.create((void **)&work) == BALE_OK);
    test_orders();
    test_rows();
    test_ranges();
    CHECK(too_long < chunks / 10);
    bale_codec_float.destroy(work);
    return check_result();
}
