/* The library with settings that have a bound, in memory. */
#include <math.h>

#include "kernels/api/balefs.h"
#include "kernels/round/round.h"
#include "tests/check.h"
#include "tests/codecs/data.h"

enum { K = 1024, LARGE = 3 * 1024 * K + 77 };

static struct bale_context *context;
static uint8_t raw[LARGE];

static struct bale_buffer compressed(const char *codec, const void *in, size_t length)
{
    struct bale_params params = BALE_PARAMS_INIT;
    struct bale_buffer made = {0};

    params.codec = codec;
    CHECK_EQ(bale_compress(context, &params, in, length, &made), BALE_API_OK);
    return made;
}

static struct bale_buffer decompressed(const struct bale_buffer *made)
{
    struct bale_buffer back = {0};

    CHECK_EQ(bale_decompress(context, NULL, made->data, made->length, &back), BALE_API_OK);
    return back;
}

/* With a bound: what comes back is what rounding makes of the input, which stays as it is; a text
 * comes back as it was. */
static void test_bound(void)
{
    struct bale_rounding rounding;
    const double step = 0.25;
    uint64_t bits, state = 5;

    memcpy(&bits, &step, sizeof bits);
    CHECK_EQ(bale_rounding_make(&rounding, BALE_ROUND_F32, false, bits), 0);
    for (int text = 0; text <= 1; text++) {
        struct bale_buffer made, back;
        uint8_t *want = malloc(LARGE);
        REQUIRE(want);
        for (size_t i = 0; i + 4 <= LARGE; i += 4) {
            const float x = (float)(data_next(&state) % 4096) / 64 + (float)(i % 400);
            memcpy(raw + i, &x, 4);
        }
        if (text)
            data_text(&state, raw, LARGE);
        memcpy(want, raw, LARGE);
        if (!text)
            bale_round(&rounding, want, want, LARGE / 4);
        made = compressed("cusz:f32,abs=0.125,dims=100x100", raw, LARGE);
        back = decompressed(&made);
        if (CHECK_EQ_U(back.length, LARGE))
            CHECK_EQ_MEM(back.data, want, LARGE);
        CHECK((memcmp(raw, want, LARGE) == 0) == text);
        CHECK(made.length < LARGE / 2);
        bale_buffer_free(&made);
        bale_buffer_free(&back);
        free(want);
    }
}

/* A relative bound is one of the range, as if that had been said; without a range, and in what is
 * no array, nothing changes. */
static void test_relative(void)
{
    const double huge[] = {-1e308, 1e308};
    struct bale_params params = BALE_PARAMS_INIT;
    struct bale_buffer made, said, back;

    params.codec = "cusz:f64,rel=0.9";
    for (size_t i = 0; i + 4 <= LARGE; i += 4) {
        const float x = i == 4000 ? NAN : i == 8000 ? INFINITY : (float)(i % 4001) / 16;
        memcpy(raw + i, &x, 4);
    }
    made = compressed("cusz:f32,rel=1e-3", raw, LARGE);
    said = compressed("cusz:f32,rel=1e-3,range=0:250", raw, LARGE);
    if (CHECK_EQ_U(made.length, said.length))
        CHECK_EQ_MEM(made.data, said.data, said.length);
    bale_buffer_free(&made);
    bale_buffer_free(&said);

    for (int text = 0; text <= 1; text++) {
        memset(raw, 0xff, LARGE); /* NaN */
        if (text)
            data_fill(DATA_TEXT, 1, raw, LARGE);
        made = compressed("cusz:f32,rel=1e-3", raw, LARGE);
        back = decompressed(&made);
        if (CHECK_EQ_U(back.length, LARGE))
            CHECK_EQ_MEM(back.data, raw, LARGE);
        bale_buffer_free(&made);
        bale_buffer_free(&back);
    }
    made = compressed("cusz:f32,rel=1e-3", NULL, 0);
    bale_buffer_free(&made);
    CHECK(bale_compress_bound(&params, LARGE) > LARGE);
    CHECK_EQ(bale_compress(context, &params, huge, sizeof huge, &made), BALE_API_INVALID);
    CHECK(strstr(bale_context_message(context), "2^1021") != NULL);
}

/* HDF5 behind a user block is exact from the extent on that has its signature, as of the command;
 * with a relative bound, and where it begins within the first bytes, it is exact as a whole. */
static void test_user_block(void)
{
    static const size_t blocks[] = {512, 4096, K * K / 2, 2 * K * K};

    for (size_t i = 0; i < 2 * sizeof blocks / sizeof *blocks; i++) {
        const size_t block = blocks[i / 2];
        const char *codec = i % 2 ? "cusz:f32,rel=1e-3" : "cusz:f32,abs=0.125";
        const size_t exact = block < K * K || i % 2 ? 0 : block;
        struct bale_buffer made, back;
        for (size_t at = 0; at + 4 <= LARGE; at += 4) {
            const float x = (float)(at % 4001) / 64 + 1;
            memcpy(raw + at, &x, 4);
        }
        memcpy(raw + block, "\x89HDF\r\n\x1a\n", 8);
        made = compressed(codec, raw, LARGE);
        back = decompressed(&made);
        if (CHECK_EQ_U(back.length, LARGE)) {
            CHECK_EQ_MEM((uint8_t *)back.data + exact, raw + exact, LARGE - exact);
            for (size_t at = 0; at < exact; at += K * K) /* an extent */
                CHECK(memcmp((uint8_t *)back.data + at, raw + at, K * K) != 0);
        }
        bale_buffer_free(&made);
        bale_buffer_free(&back);
    }
}

int main(void)
{
    struct bale_context_params params = BALE_CONTEXT_PARAMS_INIT;

    params.threads = 3;
    REQUIRE(bale_context_create(&params, &context) == BALE_API_OK);
    test_bound();
    test_relative();
    test_user_block();
    bale_context_destroy(context);
    return check_result();
}
