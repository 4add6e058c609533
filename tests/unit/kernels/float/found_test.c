/* The layouts of arrays that are found, by every kind of vectors alike. */
#include <math.h>

#include "tests/unit/kernels/float/steps.h"

struct found {
    unsigned size_log2, lead, row;
    bool is_float, big_endian;
};

/* A surface in rows of 144 elements. */
static int64_t surface(uint32_t i)
{
    const int64_t x = i % 144, y = i / 144;

    return 900 * (144 - x) * x + 1700 * (y % 300) * (300 - y % 300) + 31 * x * (y % 300);
}

static void make_surface(const struct found *as, uint8_t *raw, uint32_t length)
{
    const unsigned size = 1u << as->size_log2;

    memset(raw, 0x77, as->lead);
    for (uint32_t i = 0; as->lead + (i + 1) * size <= length; i++) {
        const int64_t v = surface(i);
        const float f = (float)v;
        const double d = (double)v * 0x1.921fb54442d18p-20;
        uint64_t bits = (uint64_t)(as->size_log2 == 1 ? v / 2048 : v);
        uint32_t half;
        if (as->is_float && size == 8) {
            memcpy(&bits, &d, sizeof bits);
        } else if (as->is_float) {
            memcpy(&half, &f, sizeof half);
            bits = half;
        }
        for (unsigned k = 0; k < size; k++)
            raw[as->lead + i * size + k] =
                (uint8_t)(bits >> 8 * (as->big_endian ? size - 1 - k : k));
    }
}

static void test_found(void)
{
    static const struct found cases[] = {
        {2, 0, 144, true, false}, {2, 3, 144, true, true},  {3, 0, 144, true, false},
        {3, 5, 144, true, true},  {1, 1, 144, false, true}, {2, 2, 144, false, false},
    };
    static uint8_t raw[2 * CHUNK];
    const struct bale_field none = {.type = BALE_FIELD_NONE};

    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (unsigned k = 0; k < steps_count(); k++) {
            struct float_layout layout;
            make_surface(&cases[i], raw, sizeof raw);
            REQUIRE(float_learn(work, all_steps[k], &none, 0, raw, sizeof raw, &layout));
            CHECK_EQ(layout.size_log2, cases[i].size_log2);
            CHECK_EQ(layout.lead, cases[i].lead);
            CHECK(layout.is_float ||
                  !cases[i].is_float); /* of integers above 0, both are as good */
            CHECK(layout.big_endian == cases[i].big_endian);
            CHECK(layout.strides[1] + layout.strides[2] > 0);
            CHECK(layout.strides[layout.strides[2] > 0 ? 2 : 1] % cases[i].row == 0);
        }
}

/* From -1 to 1 and back while phase goes on by 1: nearly a sine. */
static float wave(float phase)
{
    const float x = 2 * (phase - (float)(int)phase) - 1;

    return x < 0 ? 4 * x * (1 + x) : 4 * x * (1 - x);
}

/* The rows and planes of a cube are found. */
static void test_planes(void)
{
    enum { SIDE = 64 };
    static uint8_t raw[2 * CHUNK];
    const struct bale_field none = {.type = BALE_FIELD_NONE};
    struct float_layout layout;

    for (uint32_t i = 0; i < sizeof raw / 4; i++) {
        const uint32_t row = i / SIDE, plane = row / SIDE;
        const float x = (float)(i % SIDE), y = (float)(row % SIDE), z = (float)plane;
        const float f =
            wave(0.019F * x + 0.1F) * wave(0.026F * y + 0.2F) * wave(0.006F * z + 0.3F) +
            wave(0.026F * x + 0.4F) * wave(0.019F * y + 0.7F) * wave(0.0054F * z);
        memcpy(raw + (size_t)4 * i, &f, sizeof f);
    }
    for (unsigned k = 0; k < steps_count(); k++) {
        REQUIRE(float_learn(work, all_steps[k], &none, 0, raw, sizeof raw, &layout));
        CHECK_EQ(layout.strides[1], SIDE);
        CHECK_EQ(layout.strides[2], SIDE * SIDE);
    }
}

/* Of a table, one record is found, not some of them, although all are as near to each other. */
static void test_records(void)
{
    enum { COLUMNS = 6 };
    static const double bases[COLUMNS] = {21, 1013, 45, 3, 700, 90};
    static uint8_t raw[2 * CHUNK];
    const struct bale_field none = {.type = BALE_FIELD_NONE};
    uint64_t state = 1;
    struct float_layout layout;

    for (uint32_t i = 0; i < sizeof raw / 8; i++) {
        const double value = bases[i % COLUMNS] + (double)(data_next(&state) % 10000) / 1000;
        const double digits = (double)(int64_t)(value * 1000 + 0.5) / 1000;
        memcpy(raw + (size_t)8 * i, &digits, sizeof digits);
    }
    for (unsigned k = 0; k < steps_count(); k++) {
        REQUIRE(float_learn(work, all_steps[k], &none, 0, raw, sizeof raw, &layout));
        CHECK_EQ(layout.exponent, FLOAT_DECIMAL + 3);
        CHECK_EQ(layout.strides[1], COLUMNS);
        CHECK_EQ(layout.strides[2], 0);
    }
}

/* Of a field whose elements have components, these are found as what they are, and not as halves of
 * larger ones; components are rows, and rows planes. */
static void test_components(uint32_t components)
{
    enum { SIDE = 50 };
    static uint8_t raw[2 * CHUNK];
    const struct bale_field none = {.type = BALE_FIELD_NONE};
    struct float_layout layout;

    for (uint32_t i = 0; i < sizeof raw / 4; i++) {
        const uint32_t cell = i / components, row = cell / SIDE;
        const float c = (float)(i % components), x = (float)(cell % SIDE), y = (float)row;
        const float f = wave(0.026F * x + 0.3F * c + 0.1F) * wave(0.019F * y + 0.4F * c) +
                        wave(0.019F * x + 0.7F) * wave(0.026F * y + 0.2F) + 3 * c;
        memcpy(raw + (size_t)4 * i, &f, sizeof f);
    }
    for (unsigned k = 0; k < steps_count(); k++) {
        REQUIRE(float_learn(work, all_steps[k], &none, 0, raw, sizeof raw, &layout));
        CHECK_EQ(layout.size_log2, 2);
        CHECK_EQ(layout.lead, 0);
        CHECK_EQ(layout.strides[1], components);
        CHECK_EQ(layout.strides[2], components * SIDE);
    }
}

/* ---- Interpolated rows ---- */

enum { ROW = 128, EXTENT = 4 * CHUNK };

static uint32_t stored_with(const struct float_layout *layout, const uint8_t raw[EXTENT])
{
    static uint8_t out[CHUNK * 2];
    uint32_t sum = 0;

    for (uint32_t from = 0; from < EXTENT; from += CHUNK) {
        const int64_t stored = float_steps_best()[layout->size_log2 - 1].encode(
            work, layout, raw + from, CHUNK, out, CHUNK * 2);
        sum += (uint32_t)stored;
        REQUIRE(stored > 0);
    }
    return sum;
}

/* The least that the extent takes with differences along x and y and the layout's map. */
static uint32_t stored_by_differences(const struct float_layout *like, const uint8_t raw[EXTENT])
{
    uint32_t least = UINT32_MAX;

    for (unsigned n = 0; n < 25; n++) {
        struct float_layout layout = *like;
        layout.interpolated = false;
        layout.details[0] = layout.details[1] = 0;
        layout.orders[0] = (uint8_t)(n % 5), layout.strides[0] = n % 5 > 0;
        layout.orders[1] = (uint8_t)(n / 5), layout.strides[1] = n / 5 > 0 ? ROW : 0;
        layout.orders[2] = 0, layout.strides[2] = 0;
        const uint32_t its = stored_with(&layout, raw);
        least = its < least ? its : least;
    }
    return least;
}

/* A field that is smooth along both axes, and noise upon it. */
static void fill_extent(unsigned size, double noise, uint8_t raw[EXTENT])
{
    uint64_t state = size;

    for (uint32_t i = 0; i < EXTENT / size; i++) {
        const uint32_t row = i / ROW;
        const double x = i % ROW, y = row;
        const double d = sin(x / 11 + y / 19) * cos(y / 13 - x / 29) + 0.3 * sin(y / 7) +
                         noise * (double)(data_next(&state) % 1000) / 1000;
        const float f = (float)d;
        memcpy(raw + (size_t)i * size, size == 8 ? (const void *)&d : (const void *)&f, size);
    }
}

static struct float_layout learn(unsigned size, const uint8_t raw[EXTENT])
{
    const struct bale_field field = {.type = size == 8 ? BALE_FIELD_F64 : BALE_FIELD_F32,
                                     .dims = {ROW, 1000}};
    struct float_layout first, other;

    REQUIRE(float_learn(work, float_plain, &field, 0, raw, EXTENT, &first));
    for (unsigned k = 1; k < steps_count(); k++) {
        uint8_t parts[2][FLOAT_PART_MAX] = {{0}};
        REQUIRE(float_learn(work, all_steps[k], &field, 0, raw, EXTENT, &other));
        CHECK_EQ_U(float_part_write(&other, parts[1]), float_part_write(&first, parts[0]));
        CHECK_EQ_MEM(parts[1], parts[0], FLOAT_PART_MAX);
    }
    return first;
}

/* A smooth field becomes smaller than without, and noise not larger. */
static void test_interpolated(void)
{
    static uint8_t raw[EXTENT];

    for (unsigned size = 4; size <= 8; size += 4) {
        fill_extent(size, 1e-6, raw);
        struct float_layout layout = learn(size, raw);
        CHECK(layout.interpolated);
        CHECK_EQ_U(layout.strides[1], ROW);
        CHECK(stored_with(&layout, raw) < stored_by_differences(&layout, raw));
        fill_extent(size, 1, raw);
        layout = learn(size, raw);
        const uint32_t least = stored_by_differences(&layout, raw);
        CHECK(stored_with(&layout, raw) <= least + least / 100);
    }
}

/* All steps find the same, whatever the bytes and the length. */
static void test_same_layouts(void)
{
    const struct bale_field none = {.type = BALE_FIELD_NONE},
                            field = {.type = BALE_FIELD_F32, .dims = {20, 30, 40}, .offset = 2};
    static uint8_t raw[3 * CHUNK];

    for (uint32_t length = 1, n = 0; length <= sizeof raw; length += 1 + length / 3, n++) {
        struct float_layout first, other;
        uint8_t parts[2][FLOAT_PART_MAX];
        const struct bale_field *with = n % 3 == 0 ? &field : &none;
        bool has;
        data_fill((enum data_kind)(n % DATA_KINDS), n, raw, length);
        if (n % 2 == 0)
            make_surface(&(struct found){.size_log2 = 1 + n % 3, .is_float = n % 4 == 0}, raw,
                         length);
        has = float_learn(work, float_plain, with, 0, raw, length, &first);
        for (unsigned k = 1; k < steps_count(); k++) {
            REQUIRE(float_learn(work, all_steps[k], with, 0, raw, length, &other) == has);
            if (!has)
                continue;
            const uint32_t bytes = float_part_write(&first, parts[0]);
            CHECK_EQ_U(float_part_write(&other, parts[1]), bytes);
            CHECK_EQ_MEM(parts[1], parts[0], bytes);
        }
        CHECK(length >= FLOAT_LEAST || !has);
    }
    data_fill(DATA_RANDOM, 1, raw, sizeof raw);
    CHECK(!float_learn(work, float_steps_best(), &none, 0, raw, sizeof raw,
                       &(struct float_layout){.size_log2 = 0}));
}

int main(void)
{
    REQUIRE(bale_codec_float.create((void **)&work) == BALE_OK);
    test_found();
    test_planes();
    test_records();
    for (uint32_t components = 2; components <= 4; components++)
        test_components(components);
    test_interpolated();
    test_same_layouts();
    bale_codec_float.destroy(work);
    return check_result();
}
