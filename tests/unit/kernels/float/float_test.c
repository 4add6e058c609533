/* The worked examples of kernels/float/spec.md, the map and its inverse, and every kind of vectors
 * against plain C. */
#include <math.h>

#include "tests/unit/kernels/float/steps.h"

enum { ROOM = CHUNK + 4096 };

/* Encodes with all steps, and decodes. Returns the stored length. */
static int64_t round_trip(const struct float_layout *layout, const uint8_t *raw, uint32_t length)
{
    static uint8_t out[3][ROOM], back[ROOM];
    int64_t stored[3] = {0};

    for (unsigned i = 0; i < steps_count(); i++) {
        const struct float_steps *steps = &all_steps[i][layout->size_log2 - 1];
        stored[i] = steps->encode(work, layout, raw, length, out[i], ROOM);
        REQUIRE(stored[i] == stored[0]);
        if (stored[i] == 0) { /* exceptions take more than their elements */
            CHECK((layout->exponent & FLOAT_DECIMAL) != 0);
            continue;
        }
        CHECK_EQ_MEM(out[i], out[0], (size_t)stored[0]);
        memset(back, 0xa5, length);
        CHECK_EQ(steps->decode(work, layout, out[0], (uint32_t)stored[0], back, length,
                               (struct bale_wanted){0, length}),
                 BALE_OK);
        CHECK_EQ_MEM(back, raw, length);
    }
    return stored[0];
}

/* What a part can say, mostly with small numbers. */
static struct float_layout random_layout(uint64_t *state)
{
    struct float_layout l = {.size_log2 = (uint8_t)(1 + data_next(state) % 3)};

    l.is_float = data_next(state) % 4 > 0;
    l.singles = l.size_log2 > 1 && data_next(state) % 4 > 0;
    l.big_endian = data_next(state) % 4 == 0;
    l.lead = (uint8_t)(data_next(state) % (1u << l.size_log2));
    l.interpolated = data_next(state) % 4 == 0;
    for (unsigned i = 0; i < FLOAT_AXES; i++) {
        const uint8_t *most = l.interpolated ? float_order_max_interpolated : float_order_max;
        l.orders[i] = (uint8_t)(data_next(state) % (most[i] + 1u));
        l.strides[i] = i == 0 ? 1 : 1 + (uint32_t)(data_next(state) % 300);
        if (l.orders[i] == 0 && (i != 1 || !l.interpolated))
            l.strides[i] = 0;
    }
    for (unsigned i = 0; i < FLOAT_LEVELS && l.interpolated; i++)
        l.details[i] = (uint8_t)(data_next(state) % 3);
    if (l.is_float && data_next(state) % 4 > 0) {
        const unsigned top = 1u << ((8u << l.size_log2) - 1 - float_mantissa(l.size_log2));
        l.exponent = (uint16_t)(1 + data_next(state) % (top - 1));
    }
    if (l.is_float && l.size_log2 > 1 && data_next(state) % 4 == 0)
        l.exponent = (uint16_t)(FLOAT_DECIMAL + data_next(state) % 11);
    return l;
}

static void test_layouts(void)
{
    uint64_t state = 1;
    uint8_t *raw = malloc(CHUNK);

    REQUIRE(raw);
    for (unsigned round = 0; round < 300; round++) {
        const uint32_t length = round < 100 ? 1 + round : 1 + (uint32_t)(data_next(&state) % 9000);
        const struct float_layout layout = random_layout(&state);
        uint8_t part[FLOAT_PART_MAX], again[FLOAT_PART_MAX];
        struct float_layout read;
        data_fill((enum data_kind)(round % DATA_KINDS), round, raw, length);
        round_trip(&layout, raw, length);
        const uint32_t bytes = float_part_write(&layout, part);
        REQUIRE(float_part_read((struct bale_extent_part){part, bytes}, &read) == BALE_OK);
        CHECK_EQ_U(float_part_write(&read, again), bytes);
        CHECK_EQ_MEM(again, part, bytes);
    }
    free(raw);
}

/* Patterns of f32 from `from` on, in steps, through each fixed point and back. */
static void test_patterns(uint32_t from, uint32_t step)
{
    static const uint16_t exponents[] = {0, 1, 2, 21, 22, 23, 100, 127, 253, 254, 255};
    uint32_t *raw = malloc(CHUNK);

    REQUIRE(raw);
    for (unsigned i = 0; i < sizeof exponents / sizeof exponents[0]; i++) {
        struct float_layout layout = {.size_log2 = 2,
                                      .is_float = true,
                                      .exponent = exponents[i],
                                      .orders = {1},
                                      .strides = {1}};
        uint32_t pattern = from;
        for (unsigned chunk = 0; chunk < 8; chunk++) {
            for (unsigned k = 0; k < CHUNK / 4; k++, pattern += step)
                raw[k] = pattern;
            round_trip(&layout, (const uint8_t *)raw, CHUNK);
        }
    }
    free(raw);
}

/* Every pattern of f32 that a fixed point treats apart lies around these. */
static void test_zones(void)
{
    uint32_t *raw = malloc(CHUNK);

    REQUIRE(raw);
    for (uint32_t at = 0, e = 0; at < CHUNK / 4; e++)
        for (uint32_t k = 0; k < 32; k++, at++)
            raw[at % (CHUNK / 4)] = (e % 512 << 23) + k - 16;
    for (uint16_t exponent = 0; exponent < 256; exponent++) {
        const struct float_layout layout = {.size_log2 = 2, .is_float = true, .exponent = exponent};
        round_trip(&layout, (const uint8_t *)raw, CHUNK);
    }
    free(raw);
}

/* Each of the 2^32 patterns through these maps and back, by the fastest vectors. */
static void test_all_patterns(void)
{
    static const uint16_t exponents[] = {0, 1, 22, 127, 254, 255, FLOAT_DECIMAL + 2};
    const struct float_steps *steps = &float_steps_best()[1];
    static uint32_t raw[CHUNK / 4], back[CHUNK / 4];
    static uint8_t out[ROOM + CHUNK * 2];

    for (unsigned i = 0; i < sizeof exponents / sizeof exponents[0]; i++) {
        const struct float_layout layout = {.size_log2 = 2,
                                            .is_float = true,
                                            .exponent = exponents[i],
                                            .orders = {1},
                                            .strides = {1}};
        for (uint64_t from = 0; from < UINT64_C(1) << 32; from += CHUNK / 4) {
            int64_t stored;
            for (unsigned k = 0; k < CHUNK / 4; k++)
                raw[k] = (uint32_t)(from + k);
            stored = steps->encode(work, &layout, (const uint8_t *)raw, CHUNK, out, sizeof out);
            REQUIRE(stored > 0);
            REQUIRE(steps->decode(work, &layout, out, (uint32_t)stored, (uint8_t *)back, CHUNK,
                                  (struct bale_wanted){0, CHUNK}) == BALE_OK);
            REQUIRE(memcmp(back, raw, CHUNK) == 0);
        }
        printf("E = %u: 2^32 patterns\n", exponents[i]);
    }
}

static void put_double(double value, uint8_t *out)
{
    memcpy(out, &value, sizeof value);
}

/* Decimals at the ends of what an integer may be, and what is none. */
static void test_decimals(void)
{
    static const double some[] = {0x1p51,    0x1p51 - 1, -0x1p51, 1 - 0x1p51, 0x1p52, 0x1p53,
                                  -0x1p62,   0x1p63,     1e300,   -1e300,     0.005,  -0.0,
                                  0x1p-1074, 0.1 + 0.2,  1.0 / 3, -0.01};
    enum { COUNT = 64, SOME = sizeof some / sizeof some[0] };
    static uint8_t raw[8 * COUNT];
    const struct bale_field none = {.type = BALE_FIELD_NONE};
    static uint8_t many[2 * CHUNK];
    struct float_layout found;
    uint64_t state = 3;

    for (unsigned digits = 0; digits <= 22; digits++) {
        const struct float_layout layout = {
            .size_log2 = 3, .is_float = true, .exponent = (uint16_t)(FLOAT_DECIMAL + digits)};
        double scale = 1;
        for (unsigned i = 0; i < digits; i++)
            scale *= 10;
        for (unsigned i = 0; i < COUNT; i++)
            put_double(i < SOME       ? some[i]
                       : i < 2 * SOME ? some[i - SOME] / scale
                                      : (double)(int64_t)data_next(&state) * 0x1p-13 / scale,
                       raw + (size_t)8 * i);
        round_trip(&layout, raw, sizeof raw);
    }
    for (unsigned i = 0; i < sizeof many / 8; i++)
        put_double(i % 50 == 9 ? 1.0 / (i + 2) : (double)(data_next(&state) % 1000000) / 1000,
                   many + (size_t)8 * i);
    for (unsigned k = 0; k < steps_count(); k++) {
        REQUIRE(float_learn(work, all_steps[k], &none, 0, many, sizeof many, &found));
        CHECK_EQ(found.exponent, FLOAT_DECIMAL + 3);
        CHECK_EQ(found.shift, 0);
    }
    CHECK(round_trip(&found, many, CHUNK) < CHUNK * 2 / 5); /* 20 bits of 64, and exceptions */
}

/* Decimals whose patterns differ in all bits, with numbers that are missing: the type is found,
 * byte order and place included, and the integers are. */
static void test_types_of_decimals(void)
{
    const struct bale_field none = {.type = BALE_FIELD_NONE};
    static uint8_t raw[CHUNK];
    struct float_layout found;
    uint64_t state = 5;

    for (unsigned lead = 0; lead < 8; lead += 3)
        for (unsigned big_endian = 0; big_endian < 2; big_endian++) {
            memset(raw, 0, sizeof raw);
            for (uint32_t at = lead; at + 8 <= sizeof raw; at += 8) {
                const double degrees = (double)(data_next(&state) % 360000000) / 1e6;
                uint8_t *element = raw + at;
                put_double(data_next(&state) % 20 == 0 ? NAN : degrees, element);
                for (unsigned i = 0; big_endian && i < 4; i++) {
                    const uint8_t other = element[i];
                    element[i] = element[7 - i];
                    element[7 - i] = other;
                }
            }
            for (unsigned k = 0; k < steps_count(); k++) {
                REQUIRE(float_learn(work, all_steps[k], &none, 0, raw, sizeof raw, &found));
                CHECK_EQ(found.exponent, FLOAT_DECIMAL + 6);
                CHECK_EQ(found.size_log2, 3);
                CHECK_EQ(found.lead, lead);
                CHECK_EQ(found.big_endian, big_endian);
            }
            CHECK(round_trip(&found, raw, CHUNK) < CHUNK * 3 / 5);
        }
}

/* Parts of a chunk that was encoded, at its ends, around blocks, of an element and anywhere. */
static void check_parts(const struct float_layout *layout, const uint8_t *raw, uint32_t length,
                        uint64_t *state)
{
    static uint8_t out[ROOM], back[ROOM];
    const int64_t stored =
        float_plain[layout->size_log2 - 1].encode(work, layout, raw, length, out, ROOM);

    for (unsigned round = 0; round < 40 && stored > 0; round++) {
        const uint32_t block = (uint32_t)FLOAT_BLOCK << layout->size_log2;
        const uint32_t at = (uint32_t)(data_next(state) % length);
        const uint32_t near = at / block * block + layout->lead + round % 3;
        const uint32_t from = round % 4 == 0 ? 0 : near > 0 && near <= length ? near - 1 : at;
        const uint32_t some = 1 + (uint32_t)(data_next(state) % (round % 2 == 0 ? length : 9));
        const uint32_t to = round % 5 > 0 && some < length - from ? from + some : length;
        for (unsigned i = 0; i < steps_count(); i++) {
            /* The chunk has its own memory: sanitizers see what is read behind it. */
            uint8_t *in = malloc((size_t)stored);
            REQUIRE(in);
            memcpy(in, out, (size_t)stored);
            memset(back + from, 0xa5, to - from);
            CHECK_EQ(all_steps[i][layout->size_log2 - 1].decode(work, layout, in, (uint32_t)stored,
                                                                back, length,
                                                                (struct bale_wanted){from, to}),
                     BALE_OK);
            CHECK_EQ_MEM(back + from, raw + from, to - from);
            free(in);
        }
    }
}

/* Any part is decoded as it is in the whole, with every type, map and orders, also of chunks of a
 * few bytes, and of fields, which are smooth. */
static void test_wanted(void)
{
    uint64_t state = 11;
    uint8_t *raw = malloc(CHUNK);

    REQUIRE(raw);
    for (unsigned round = 0; round < 400; round++) {
        const struct float_layout layout = random_layout(&state);
        const uint32_t length = 1 + (uint32_t)(data_next(&state) % (round % 2 ? 300 : 20000));
        const enum data_kind kind =
            round % 4 < 2 ? DATA_FIELD : (enum data_kind)(round % DATA_KINDS);
        data_fill(kind, round, raw, length);
        check_parts(&layout, raw, length, &state);
    }
    free(raw);
}

/* With an argument, all patterns of f32: that takes minutes. */
int main(int argc, char **argv)
{
    (void)argv;
    REQUIRE(bale_codec_float.create((void **)&work) == BALE_OK);
    if (argc > 1)
        test_all_patterns();
    test_layouts();
    test_patterns(0, 0x8001);
    test_patterns(0x7f000000, 257);
    test_zones();
    test_wanted();
    test_decimals();
    test_types_of_decimals();
    bale_codec_float.destroy(work);
    return check_result();
}
