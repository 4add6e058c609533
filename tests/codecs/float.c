#include "tests/codecs/bytes.h"
#include "tests/codecs/cases.h"
#include "tests/codecs/streams.h"

static const struct codec_setting settings[] = {
    {"float", SETTINGS_ALL & ~(unsigned)SETTINGS_CHUNK_SIZES},
    {"float:f32,dims=64x64x64", SETTINGS_FRAMES | SETTINGS_API},
    {"float:f64,be,dims=100,offset=3", SETTINGS_FRAMES},
    {"float:i16,offset=1", SETTINGS_FRAMES | SETTINGS_API},
    {.text = NULL},
};

/* ---- Data: integers and exact products alone, so that every machine makes the same ---- */

/* A smooth surface with rows of 40, and noise of so many bits. */
static int64_t surface(uint32_t i, unsigned noise, uint64_t *state)
{
    const int64_t x = i % 40, y = i / 40 % 64;

    return 5000 * (40 - x) * x + 3000 * y * (64 - y) - 1000000 + 700 * x * y +
           (noise > 0 ? (int64_t)(data_next(state) >> (64 - noise)) : 0);
}

/* The sine of t 1024ths of a turn, in 2^30ths. */
static int64_t sine(uint32_t t)
{
    const int64_t one = 1 << 30, turn = t % 1024;
    const int64_t angle = (turn < 256 ? turn : turn < 768 ? 512 - turn : turn - 1024) * 6588397;
    int64_t sum = one;

    for (int64_t n = 13; n > 1; n -= 2)
        sum = one - angle * angle / one * sum / one / (n * (n - 1));
    return angle * sum / one;
}

/* A field of waves with rows of 128, and noise of 2^43 in 2^60. */
static int64_t waves(uint32_t i, uint64_t *state)
{
    const uint32_t x = i % 128, y = i / 128;

    return sine(15 * x + 9 * y) * sine(13 * y + 65536 - 6 * x) + sine(23 * y) * 300000000 +
           (int64_t)(data_next(state) >> 21);
}

enum {
    SHAPE_F32 = DATA_KINDS,
    SHAPE_F64,
    SHAPE_I16,
    SHAPE_WIDE,
    SHAPE_SPECIAL,
    SHAPE_IDS,
    SHAPE_PRICES,
    SHAPE_TENTHS,
    SHAPE_UNEVEN,
    SHAPE_WAVES_F32,
    SHAPE_WAVES_F64,
    SHAPES_END
};

static uint64_t float_pattern(int64_t value)
{
    const float f = (float)value * 0x1p-18f;
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static uint64_t double_pattern(int64_t value)
{
    const double f = (double)value * 0x1.921fb54442d18p-20;
    uint64_t bits;

    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* -0, infinities, NaNs with a payload, denormals and the ends of every exponent among others. */
static uint64_t special_pattern(uint32_t i, uint64_t *state)
{
    static const uint32_t some[] = {0,          0x80000000, 1,          0x80000001, 0x7f800000,
                                    0xff800000, 0x7fc12345, 0xffc54321, 0x7f7fffff, 0x00800000,
                                    0x007fffff, 0x3f800000, 0x3f7fffff, 0xbf800001};
    const uint64_t random = data_next(state);

    if (i % 97 == 0)
        return some[random % (sizeof some / sizeof some[0])];
    return i % 61 == 0 ? (uint32_t)random : float_pattern(surface(i, 4, state));
}

/* Hundredths as doubles, with a number of more digits and what else doubles are among them. */
static uint64_t price_pattern(uint32_t i, uint64_t *state)
{
    const int64_t cents = 1000000 + surface(i, 8, state) / 1000;
    const double d = (double)cents / 100;
    uint64_t bits;

    memcpy(&bits, &d, sizeof bits);
    return i % 83 == 5 ? data_next(state) : bits;
}

static uint64_t tenth_pattern(int64_t value)
{
    const int64_t tenths = value / 500;
    const float f = (float)tenths / 10;
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* Numbers of very different lengths, one beside the other. */
static uint64_t uneven_pattern(uint64_t *state)
{
    const uint64_t random = data_next(state);

    return float_pattern((int64_t)(1 << 23 | (random >> 41) >> random % 16));
}

/* Elements of the shape behind the first `lead` bytes. */
static void fill_shape(unsigned shape, unsigned lead, bool big_endian, uint8_t *out, size_t length)
{
    static const uint8_t sizes[SHAPES_END - DATA_KINDS] = {4, 8, 2, 8, 4, 8, 8, 4, 4, 4, 8};
    const unsigned size = sizes[shape - DATA_KINDS];
    uint64_t state = shape;
    uint8_t element[8];

    for (size_t at = 0; at < length; at++) {
        const uint32_t i = (uint32_t)((at + size - lead) / size);
        const uint32_t of = (uint32_t)((at + size - lead) % size);
        uint64_t pattern = 0;
        if (at == 0 || of == 0) {
            if (shape == SHAPE_F32)
                pattern = float_pattern(surface(i, 6, &state));
            else if (shape == SHAPE_F64)
                pattern = double_pattern(surface(i, 0, &state));
            else if (shape == SHAPE_I16)
                pattern = (uint64_t)(surface(i, 10, &state) >> 9);
            else if (shape == SHAPE_WIDE)
                pattern = double_pattern(surface(i, 2, &state)) & ~UINT64_C(0xffffffff);
            else if (shape == SHAPE_SPECIAL)
                pattern = special_pattern(i, &state);
            else if (shape == SHAPE_PRICES)
                pattern = price_pattern(i, &state);
            else if (shape == SHAPE_TENTHS)
                pattern = tenth_pattern(surface(i, 12, &state));
            else if (shape == SHAPE_UNEVEN)
                pattern = uneven_pattern(&state);
            else if (shape == SHAPE_WAVES_F32)
                pattern = float_pattern(waves(i, &state));
            else if (shape == SHAPE_WAVES_F64)
                pattern = double_pattern(waves(i, &state));
            else
                pattern = UINT64_C(1) << 40 | i;
            bytes_put_element(pattern, size, big_endian, element);
        }
        out[at] = element[of];
    }
}

static void fill_kind(unsigned kind, uint8_t *out, size_t length)
{
    fill_shape(kind, 0, false, out, length);
}

static void fill_seed(uint64_t seed, uint8_t *out, size_t length)
{
    fill_shape(SHAPE_F32, (unsigned)(seed % 4), false, out, length);
}

static void sample_f32(uint8_t *raw, size_t length)
{
    fill_shape(SHAPE_F32, 0, false, raw, length);
}

static void sample_f64_be(uint8_t *raw, size_t length)
{
    fill_shape(SHAPE_F64, 3, true, raw, length);
}

static void sample_i16(uint8_t *raw, size_t length)
{
    fill_shape(SHAPE_I16, 1, false, raw, length);
}

static void sample_wide(uint8_t *raw, size_t length)
{
    fill_shape(SHAPE_WIDE, 0, false, raw, length);
}

static void sample_special(uint8_t *raw, size_t length)
{
    fill_shape(SHAPE_SPECIAL, 0, false, raw, length);
}

static void sample_prices(uint8_t *raw, size_t length)
{
    fill_shape(SHAPE_PRICES, 0, false, raw, length);
}

static void sample_tenths(uint8_t *raw, size_t length)
{
    fill_shape(SHAPE_TENTHS, 2, true, raw, length);
}

static void sample_uneven(uint8_t *raw, size_t length)
{
    fill_shape(SHAPE_UNEVEN, 1, false, raw, length);
}

static void sample_waves_f32(uint8_t *raw, size_t length)
{
    fill_shape(SHAPE_WAVES_F32, 0, false, raw, length);
}

static void sample_waves_f64_be(uint8_t *raw, size_t length)
{
    fill_shape(SHAPE_WAVES_F64, 3, true, raw, length);
}

static void sample_ids(uint8_t *raw, size_t length)
{
    fill_shape(SHAPE_IDS, 0, false, raw, length);
    if (length > 65536)
        sample_random(raw + 65536, length - 65536);
}

static const struct codec_sample samples[] = {
    {"f32", "float", 70000, 16, sample_f32, "f32 in rows that are found, two chunks"},
    {"f64-be", "float", 65536, 16, sample_f64_be, "f64, big-endian, from byte 3 on"},
    {"i16", "float", 20001, 16, sample_i16, "i16 from byte 1 on"},
    {"wide", "float", 30000, 16, sample_wide, "f64 with low bits that are zero"},
    {"special", "float", 16384, 16, sample_special, "NaN, infinities, denormals and -0"},
    {"prices", "float", 20000, 16, sample_prices, "f64 that are decimals, and exceptions"},
    {"tenths", "float", 16000, 16, sample_tenths, "f32 that are decimals, big-endian, from byte 2"},
    {"uneven", "float", 12345, 16, sample_uneven, "f32 from byte 1 on, of different lengths"},
    {"waves", "float:f32,dims=128x128", 66000, 16, sample_waves_f32, "f32 in interpolated rows"},
    {"waves-be", "float:f64,be,dims=128x128,offset=3", 65536, 16, sample_waves_f64_be,
     "f64, big-endian, from byte 3 on, in interpolated rows"},
    {"ids", "float", 70000, 16, sample_ids, "i64, and a chunk that is stored raw"},
    {.name = NULL},
};

extern const struct codec_case codec_case_float;
const struct codec_case codec_case_float = {
    .id = BALE_CODEC_FLOAT,
    .defined = true,
    .settings = settings,
    .setting_parameters = 1,
    .frame_parameters = 1,
    .least = 1500,
    .fill = fill_seed,
    .shapes = SHAPES_END - DATA_KINDS,
    .shape_fill = fill_kind,
    .samples = samples,
    .streams = float_streams,
};
