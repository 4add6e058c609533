#include "kernels/round/round.h"
#include "tests/codecs/bytes.h"
#include "tests/codecs/cases.h"
#include "tests/codecs/streams.h"

/* Chunks have 64 KiB or more, and the library gives other bytes back. */
enum {
    SETTINGS =
        SETTINGS_ALL & ~(SETTINGS_CHUNK_SIZES | SETTINGS_DAMAGE | SETTINGS_API | SETTINGS_GPU_API),
};

static const struct codec_setting settings[] = {
    {"cusz:f32,abs=0.001953125", SETTINGS},
    {"cusz:f32,abs=0.001953125,dims=30x20x100,pipeline=rle+huffman", SETTINGS},
    {"cusz:f32,abs=0.001953125,be,offset=3,pipeline=rle", SETTINGS_FRAMES},
    {"cusz:f64,abs=0.0009765625,dims=100x100,pipeline=huffman", SETTINGS_FRAMES},
    {"cusz:f32,abs=0.001953125,dims=30x20x100,pipeline=gpulz+huffman", SETTINGS},
    {.text = NULL},
};

/* ---- Data: of the first setting's type and step, unless its name says something else ---- */

static void round_all(enum bale_round_type type, bool big_endian, double step, uint8_t *raw,
                      size_t length)
{
    struct bale_rounding rounding;
    uint64_t bits;

    memcpy(&bits, &step, sizeof bits);
    REQUIRE(bale_rounding_make(&rounding, type, big_endian, bits) == BALE_OK);
    bale_round(&rounding, raw, raw, length / bale_rounding_width(&rounding));
}

/* Random steps up and down, few and small ones. */
static void walk(uint64_t seed, uint8_t *out, size_t length)
{
    int64_t q = 0;

    for (size_t at = 0; at < length; at += 4) {
        uint64_t random = data_next(&seed);
        float x = (float)q * 0x1p-8f;
        memcpy(out + at, &x, length - at < 4 ? length - at : 4);
        q += random % 8 == 0 ? 1 : random % 8 == 1 ? -1 : 0;
        if (random % 509 == 8)
            q += (int64_t)(random >> 40) - (1 << 23);
    }
}

/* Waves in 30 x 20 x 100 elements, in integers. */
static double wave(size_t i)
{
    const int64_t x = (int64_t)(i % 30) - 15, y = (int64_t)(i / 30 % 20) - 10;
    const int64_t z = (int64_t)(i / 600 % 100) - 50;

    return (double)(x * x * 40 - y * y * 31 + z * z * 7 + x * y * z) / 4096;
}

static void sample_waves(uint8_t *raw, size_t length)
{
    for (size_t i = 0; i < length / 4; i++) {
        const float x = (float)wave(i);
        memcpy(raw + 4 * i, &x, 4);
    }
    round_all(BALE_ROUND_F32, false, 0x1p-8, raw, length);
}

/* Waves with holes and what no multiple is near to. */
static void sample_listed(uint8_t *raw, size_t length)
{
    static const uint32_t odd[] = {0x7fc00001, 0xff800000, 0x7f7fffff, 0x80000000, 0x00000001};

    sample_waves(raw, length);
    for (size_t i = 0; i < 5; i++)
        memcpy(raw + length / 4 / 6 * i * 4, &odd[i], 4);
}

static void sample_sparse(uint8_t *raw, size_t length)
{
    uint64_t seed = 5;

    memset(raw, 0, length);
    for (size_t i = 0; i < length / 4; i += 1 + data_next(&seed) % 900) {
        const float x = (float)(data_next(&seed) % 7000) * 0.3f;
        memcpy(raw + 4 * i, &x, 4);
    }
    round_all(BALE_ROUND_F32, false, 0x1p-8, raw, length);
}

/* A few rows of waves, again and again. */
static void sample_repeated(uint8_t *raw, size_t length)
{
    for (size_t i = 0; i < length / 4; i++) {
        const float x = (float)(wave(i % 60) * (i % 7000 < 3500));
        memcpy(raw + 4 * i, &x, 4);
    }
    round_all(BALE_ROUND_F32, false, 0x1p-8, raw, length);
}

static void sample_big_endian(uint8_t *raw, size_t length)
{
    sample_waves(raw, length - 3);
    for (size_t i = 0; i + 4 <= length - 3; i += 4) {
        uint32_t x;
        memcpy(&x, raw + i, 4);
        x = __builtin_bswap32(x);
        memcpy(raw + i, &x, 4);
    }
    memmove(raw + 3, raw, length - 3);
    memset(raw, 'h', 3);
}

static void sample_doubles(uint8_t *raw, size_t length)
{
    for (size_t i = 0; i < length / 8; i++) {
        const double x = wave(i) * (i % 1000 == 0 ? 1e9 : 1);
        memcpy(raw + 8 * i, &x, 8);
    }
    round_all(BALE_ROUND_F64, false, 0x1p-9, raw, length);
}

static const struct codec_sample samples[] = {
    {"waves", "cusz:f32,abs=0.001953125,dims=30x20x100", 70000, 16, sample_waves,
     "three dimensions, two chunks that share a codebook"},
    {"listed", "cusz:f32,abs=0.001953125,dims=30x20", 24000, 13, sample_listed,
     "NaN, an infinity, an edge, -0 and a denormal"},
    {"sparse", "cusz:f32,abs=0.001953125", 65536, 16, sample_sparse, "runs of zeros"},
    {"rle", "cusz:f32,abs=0.001953125,pipeline=rle", 40000, 14, sample_sparse,
     "codes of equal length"},
    {"big-endian", "cusz:f32,abs=0.001953125,be,offset=3,dims=30x20x100", 30000, 13,
     sample_big_endian, "big-endian elements that begin at byte 3"},
    {"doubles", "cusz:f64,abs=0.0009765625,dims=30x20x100", 48000, 14, sample_doubles,
     "binary64, some far from their neighbours"},
    {"huffman", "cusz:f32,abs=0.001953125,pipeline=huffman", 20000, 12, sample_waves,
     "no runs, and a prediction in one dimension"},
    {"gpulz", "cusz:f32,abs=0.001953125,pipeline=gpulz+huffman", 48000, 14, sample_repeated,
     "matches, short ones, too"},
    {"gpulz-long", "cusz:f64,abs=0.0009765625,pipeline=gpulz+huffman,dims=30x20", 48000, 14,
     sample_doubles, "long matches only, and segments that have none"},
    {.name = NULL},
};

/* Shapes that strain the codec. */
enum { SHAPE_WALK, SHAPE_NAN, SHAPE_HUGE, SHAPE_SPARSE, SHAPES };

static void shape_fill(unsigned kind, uint8_t *out, size_t length)
{
    uint64_t seed = length;

    walk(seed, out, length);
    for (size_t i = 0; kind != SHAPE_WALK && i < length / 4; i++) {
        const uint64_t random = data_next(&seed);
        float x = (float)((int64_t)random % 65536) * 0x1p-8f;
        if (kind == SHAPE_NAN && random % 40)
            continue;
        if (kind == SHAPE_NAN)
            x = -__builtin_nanf("");
        if (kind == SHAPE_HUGE)
            x *= random % 3 ? 0x1p13f : 0x1p100f;
        if (kind == SHAPE_SPARSE && random % 100)
            x = 0;
        memcpy(out + 4 * i, &x, 4);
    }
}

/* A short chunk has no room for a codebook. */
extern const struct codec_case codec_case_cusz;
const struct codec_case codec_case_cusz = {
    .id = BALE_CODEC_CUSZ,
    .defined = true,
    .least = 400,
    .fill = walk,
    .shapes = SHAPES,
    .shape_fill = shape_fill,
    .settings = settings,
    .setting_parameters = 0, /* without a field */
    .frame_parameters = 1,
    .samples = samples,
    .streams = cusz_streams,
};
