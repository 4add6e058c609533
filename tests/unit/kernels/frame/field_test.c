/* What settings say about arrays: their text, and which are valid. */
#include "kernels/frame/field.h"

#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "kernels/frame/number.h"
#include "tests/check.h"

enum { LOSSY = BALE_CODEC_CUSZ, LOSSLESS = BALE_CODEC_FLOAT };

static const struct {
    uint8_t codec;
    const char *text, *printed;
    struct bale_field field; /* without the step */
    double bound;
} good[] = {
    {LOSSY, "f32,abs=1e-3", "f32,abs=1e-3", {.type = BALE_FIELD_F32}, 0x1.0624dd2f1a9fbp-10},
    {LOSSY, "f64,abs=0.5", "f64,abs=5e-1", {.type = BALE_FIELD_F64}, 0.5},
    {LOSSY, "f32,rel=0.25,range=-1:3", "f32,abs=1", {.type = BALE_FIELD_F32}, 1},
    {LOSSY,
     "f64,be,offset=80,pipeline=rle+huffman,dims=449x449x449,abs=2",
     "f64,abs=2,dims=449x449x449,be,offset=80,pipeline=rle+huffman",
     {.type = BALE_FIELD_F64,
      .big_endian = true,
      .offset = 80,
      .pipeline = BALE_PIPELINE_RLE_HUFFMAN,
      .dims = {449, 449, 449}},
     2},
    {LOSSY,
     "f32,pipeline=gpulz+huffman,abs=1",
     "f32,abs=1,pipeline=gpulz+huffman",
     {.type = BALE_FIELD_F32, .pipeline = BALE_PIPELINE_GPULZ_HUFFMAN},
     1},
    {LOSSY,
     "f64,abs=1.1e307",
     "f64,abs=1.1e307",
     {.type = BALE_FIELD_F64},
     0x1.f543bf5f0e638p+1019},
    {LOSSY, "npy,abs=1e-9", "npy,abs=1e-9", {.type = BALE_FIELD_NPY}, 0x1.12e0be826d694p-30},
    {LOSSLESS, NULL, "", {0}, 0},
    {LOSSLESS, "i16", "i16", {.type = BALE_FIELD_I16}, 0},
    {LOSSLESS,
     "i64,dims=7x5x3x2,be",
     "i64,dims=7x5x6,be",
     {.type = BALE_FIELD_I64, .big_endian = true, .dims = {7, 5, 6}},
     0},
    {LOSSLESS, "f32,dims=12", "f32,dims=12", {.type = BALE_FIELD_F32, .dims = {12}}, 0},
};

static const struct {
    uint8_t codec;
    const char *text, *why; /* a part of the reason */
} bad[] = {
    {LOSSY, NULL, "type of the elements"},
    {LOSSY, "", "type of the elements"},
    {LOSSY, "i32,abs=1", "type of the elements"},
    {LOSSY, "abs=1,f32", "type of the elements"},
    {LOSSY, "f32", "needs a bound"},
    {LOSSY, "f32,rel=1e-3", "range=LOW:HIGH with rel=E where no whole array"},
    {LOSSY, "npy,rel=1e-3", "range=LOW:HIGH with rel=E where no whole array"},
    {LOSSY, "f32,rel=0", "a bound above 0"},
    {LOSSY, "f32,rel=x", "decimal numbers"},
    {LOSSY, "f32,abs=1,range=0:1", "range=LOW:HIGH"},
    {LOSSY, "f32,abs=1,rel=1,range=0:1", "twice"},
    {LOSSY, "f32,rel=1,range=1:1", "a bound above 0"},
    {LOSSY, "f32,rel=1,range=2:1", "a bound above 0"},
    {LOSSY, "f32,rel=1,range=2", "decimal numbers"},
    {LOSSY, "f32,abs=0", "a bound above 0"},
    {LOSSY, "f32,abs=-1", "a bound above 0"},
    {LOSSY, "f32,abs=nan", "decimal numbers"},
    {LOSSY, "f32,abs=inf", "decimal numbers"},
    {LOSSY, "f32,abs=0x1", "decimal numbers"},
    {LOSSY, "f32,abs= 1", "decimal numbers"},
    {LOSSY, "f32,abs=1e", "decimal numbers"},
    {LOSSY, "f32,abs=1e400", "2^-1021 to 2^1021"},
    {LOSSY, "f64,abs=1e-400", "2^-1021 to 2^1021"},
    {LOSSY, "f32,rel=1e-400,range=0:1", "2^-1021 to 2^1021"},
    {LOSSY, "f64,rel=1,range=-1e308:1e308", "2^-1021 to 2^1021"},
    {LOSSY, "f64,rel=1e-200,range=0:1e-200", "2^-1021 to 2^1021"},
    {LOSSY, "f32,abs=-1e400", "a bound above 0"},
    {LOSSY, "f32,abs=+1e-3", "without a plus"},
    {LOSSY, "f32,rel=1,range=+1:2", "without a plus"},
    {LOSSY, "f32,rel=0,range=-1e400:1e400", "a bound above 0"},
    {LOSSY, "f32,abs=1e-308", "2^-1021 to 2^1021"},
    {LOSSY, "f32,abs=1e-310", "2^-1021 to 2^1021"},
    {LOSSY, "f32,abs=1.13e307", "2^-1021 to 2^1021"},
    {LOSSY, "f32,abs=1e308", "2^-1021 to 2^1021"},
    {LOSSY, "f32,abs=1,abs=1", "twice"},
    {LOSSY, "f32,abs=1,", "not an option"},
    {LOSSY, "f32,abs=1,pipeline=zip", "pipeline="},
    {LOSSY, "f32,abs=1,pipeline=gpulz", "pipeline="},
    {LOSSY, "npy,abs=1,dims=3", "header"},
    {LOSSY, "npy,abs=1,be", "header"},
    {LOSSLESS, "", "type of the elements"},
    {LOSSLESS, "npy", "type of the elements"},
    {LOSSLESS, "f32,abs=1", "not an option"},
    {LOSSLESS, "f32,pipeline=rle", "not an option"},
    {LOSSLESS, "f32,dims=", "not an option"},
    {LOSSLESS, "f32,dims=0", "dims"},
    {LOSSLESS, "f32,dims=3x", "dims"},
    {LOSSLESS, "f32,dims=3x4x5x6x7", "dims"},
    {LOSSLESS, "f32,dims=4294967296x4294967296", "a file can have"},
    {LOSSLESS, "f32,dims=18446744073709551616", "dims"},
    {LOSSLESS, "f32,offset=-1", "offset"},
    {LOSSLESS, "f32,offset=9223372036854775808", "a file can have"},
    {LOSSLESS, "f32,be,be", "twice"},
    {LOSSLESS, "f32,huge", "not an option"},
};

static void test_good(void)
{
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct bale_field field, again, expected = good[i].field;
        struct bale_reason why = {0};
        char text[BALE_FIELD_TEXT];

        expected.step = bale_number_bits(2 * good[i].bound);
        if (!CHECK_EQ(bale_field_parse("it", good[i].codec, good[i].text, &field, NULL, &why),
                      BALE_OK)) {
            fprintf(stderr, "    %s: %s\n", good[i].text, why.text);
            continue;
        }
        CHECK_EQ_MEM(field.dims, expected.dims, sizeof field.dims);
        CHECK_EQ_U(field.offset, expected.offset);
        CHECK_EQ_U(field.step, expected.step);
        CHECK_EQ_U(field.type, expected.type);
        CHECK_EQ_U(field.pipeline, expected.pipeline);
        CHECK_EQ_U(field.big_endian, expected.big_endian);
        CHECK(bale_field_valid(good[i].codec, &field));
        bale_field_print(good[i].codec, &field, text, sizeof text);
        CHECK_EQ_STR(text, good[i].printed);
        CHECK_EQ(bale_field_parse("it", good[i].codec, *text ? text : NULL, &again, NULL, NULL),
                 BALE_OK);
        CHECK_EQ_U(again.step, field.step);
    }
}

static void test_bad(void)
{
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct bale_field field;
        struct bale_reason why = {0};

        if (!CHECK_EQ(bale_field_parse("it", bad[i].codec, bad[i].text, &field, NULL, &why),
                      BALE_E_INVALID) ||
            !CHECK(strstr(why.text, bad[i].why) != NULL))
            fprintf(stderr, "    %s: %s\n", bad[i].text, why.text);
    }
}

/* A relative bound whose range comes later gives what it gives with its range. */
static void test_relative(void)
{
    struct bale_field field, said;
    struct bale_reason why = {0};
    double relative;

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        CHECK_EQ(bale_field_parse("it", good[i].codec, good[i].text, &field, &relative, NULL),
                 BALE_OK);
        CHECK(relative == 0);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (!strstr(bad[i].why, "no whole array"))
            CHECK_EQ(bale_field_parse("it", bad[i].codec, bad[i].text, &field, &relative, NULL),
                     BALE_E_INVALID);
    CHECK_EQ(bale_field_parse("it", LOSSY, "f64,dims=3x5,rel=0.1,be", &field, &relative, NULL),
             BALE_OK);
    CHECK(relative < 0.1 && nextafter(relative, 1) == 0.1); /* which is above one tenth */
    CHECK_EQ_U(field.step, 0);
    CHECK_EQ_U(field.dims[1], 5);
    CHECK(field.big_endian);
    CHECK_EQ(bale_field_set_range("it", relative, -0.5, 2.75, &field, NULL), BALE_OK);
    CHECK_EQ(
        bale_field_parse("it", LOSSY, "f64,rel=0.1,range=-0.5:2.75,dims=3x5,be", &said, NULL, NULL),
        BALE_OK);
    CHECK(bale_field_equal(&field, &said));
    CHECK_EQ(bale_field_parse("it", LOSSY, "npy,rel=1e-3", &field, &relative, NULL), BALE_OK);
    CHECK_EQ(bale_field_set_range("it", relative, 1, 1, &field, &why), BALE_E_INVALID);
    CHECK(strstr(why.text, "a bound above 0") != NULL);
    CHECK_EQ(bale_field_set_range("it", 1e-3, 0, 1e-306, &field, &why), BALE_E_INVALID);
    CHECK(strstr(why.text, "2^-1021 to 2^1021") != NULL);
    CHECK_EQ(bale_field_set_range("it", 1, -DBL_MAX, DBL_MAX, &field, NULL), BALE_E_INVALID);
    CHECK_EQ_U(field.step, 0);
    CHECK_EQ(bale_field_set_range("it", 1e-3, -DBL_MAX, DBL_MAX, &field, NULL), BALE_OK);
}

/* The longest field fits its text. */
static void test_longest(void)
{
    struct bale_field field = {.type = BALE_FIELD_F32,
                               .dims = {UINT64_C(1111111111111111111), 1, 1},
                               .offset = UINT64_C(9111111111111111111),
                               .pipeline = BALE_PIPELINE_RLE_HUFFMAN,
                               .big_endian = true,
                               .step = bale_number_bits(0x1.fffffffffffffp-1000)};
    struct bale_field again;
    char text[BALE_FIELD_TEXT];

    CHECK(bale_field_valid(LOSSY, &field));
    bale_field_print(LOSSY, &field, text, sizeof text);
    CHECK(strlen(text) + 1 < sizeof text);
    CHECK_EQ(bale_field_parse("it", LOSSY, text, &again, NULL, NULL), BALE_OK);
    CHECK_EQ_U(again.step, field.step);
}

/* A reader gets any field from a store. */
static void test_validity(void)
{
    const struct bale_field none = {0};
    struct bale_field field = {.type = BALE_FIELD_F64, .step = bale_number_bits(1)};

    CHECK(bale_field_valid(BALE_CODEC_ZSTD, &none));
    CHECK(bale_field_valid(LOSSLESS, &none));
    CHECK(!bale_field_valid(LOSSY, &none));
    CHECK(bale_field_valid(LOSSY, &field));
    CHECK(!bale_field_valid(LOSSLESS, &field));
    CHECK(!bale_field_valid(BALE_CODEC_ZSTD, &field));
    for (size_t i = 0; i < 6; i++) {
        const double steps[] = {
            0, NAN, INFINITY, -1, 0x1.fffffffffffffp-1022, 0x1.0000000000001p1021};

        field.step = bale_number_bits(steps[i]);
        CHECK(!bale_field_valid(LOSSY, &field));
    }
    field.step = bale_number_bits(0x1p1021);
    CHECK(bale_field_valid(LOSSY, &field));
    field.dims[1] = 3;
    CHECK(!bale_field_valid(LOSSY, &field));
    field.dims[0] = UINT64_C(1) << 62;
    CHECK(!bale_field_valid(LOSSY, &field));
    field = (struct bale_field){.type = BALE_FIELD_TYPES};
    CHECK(!bale_field_valid(LOSSLESS, &field));
}

/* Texts are read downwards and printed so that they are read as the same number, in any rounding
 * mode, which stays what it was. */
static void test_numbers(void)
{
    static const char *const texts[] = {
        "0.1", "0.3", "1e-300", "123456789.123456789", "5e-324", "9007199254740993"};
    uint64_t state = 1;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        double down, up, nearest = strtod(texts[i], NULL);

        fesetround(i % 2 ? FE_UPWARD : FE_TONEAREST);
        CHECK(bale_number_read(texts[i], &down, &up) == texts[i] + strlen(texts[i]));
        CHECK_EQ(fegetround(), i % 2 ? FE_UPWARD : FE_TONEAREST);
        fesetround(FE_TONEAREST);
        CHECK(down == nearest || up == nearest);
        CHECK(nextafter(down, INFINITY) == up);
    }
    for (int i = 0; i < 20000; i++) {
        char text[BALE_NUMBER_TEXT];
        double number, down, up;

        state = state * 6364136223846793005u + 1442695040888963407u;
        number = bale_number_of_bits(state >> 1);
        if (!isfinite(number) || number < 0x1p-1022)
            continue;
        bale_number_print_down(number, text);
        bale_number_read(text, &down, &up);
        if (!CHECK(down == number))
            fprintf(stderr, "    %s\n", text);
    }
}

int main(void)
{
    test_good();
    test_bad();
    test_relative();
    test_longest();
    test_validity();
    test_numbers();
    return check_result();
}
