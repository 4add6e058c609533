/* Arrays, and what is none, for settings with a bound; what the library has to give back; and the
 * library on a device held to the CPU. */
#ifndef BALE_TESTS_API_BOUNDS_H
#define BALE_TESTS_API_BOUNDS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/api/context.h"
#include "kernels/frame/setting.h"
#include "kernels/round/piece.h"
#include "tests/check.h"
#include "tests/codecs/data.h"

struct bounded {
    const char *codec;
    double bound;
    size_t offset; /* of the array; before it are blanks, or a header */
    bool f64, big_endian, npy;
    size_t behind; /* bytes behind an npy array, which are not rounded */
    unsigned wild; /* one element of so many has any bits; 0: all of the file is text */
    size_t exact; /* from this extent on there is no rounding, for the signature of HDF5; 0: none */
};

/* Those behind the suited ones are left to the CPU, in part at least: the codec is not for their
 * elements. */
static const struct bounded bounded[] = {
    {"cusz:f32,abs=0.125,dims=100x100", 0.125, .wild = 100},
    {"cusz:f64,abs=0.001,be,offset=100", 0.001, 100, true, true, .wild = 100},
    {"cusz:npy,abs=0.001", 0.001, 128, true, .npy = true, .wild = 100},
    {"cusz:npy,abs=0.001", 0.001, 128, true, .npy = true, .behind = 8000, .wild = 100},
    {"cusz:f32,abs=0.125", 0.125, .wild = 2},
    {"cusz:f32,abs=0.125", 0.125, .wild = 0},
    {"cusz:f32,abs=0.125", 0.125, .wild = 100, .exact = 2 << 20},
};
enum { BOUNDED = sizeof bounded / sizeof *bounded, BOUNDED_SUITED = 4 };

static inline void bounded_swap(const struct bounded *b, uint8_t *element)
{
    const size_t width = b->f64 ? 8 : 4;

    for (size_t k = 0; b->big_endian && k < width / 2; k++) {
        const uint8_t byte = element[k];
        element[k] = element[width - 1 - k];
        element[width - 1 - k] = byte;
    }
}

static inline double bounded_element(const struct bounded *b, const uint8_t *at)
{
    uint8_t bytes[8];
    double wide;
    float narrow;

    memcpy(bytes, at, b->f64 ? 8 : 4);
    bounded_swap(b, bytes);
    memcpy(&wide, bytes, sizeof wide);
    memcpy(&narrow, bytes, sizeof narrow);
    return b->f64 ? wide : (double)narrow;
}

/* Of NumPy's format, for doubles up to what lies behind them, in bytes that are spaces. */
static inline void bounded_header(const struct bounded *b, uint8_t *raw, size_t length)
{
    char text[119];
    const int n = snprintf(text, sizeof text,
                           "{'descr': '<f8', 'fortran_order': False, "
                           "'shape': (%zu,), }",
                           (length - b->offset - b->behind) / 8);

    memcpy(raw, "\x93NUMPY\1\0v\0", 10);
    memcpy(raw + 10, text, (size_t)n);
}

static inline void bounded_fill(const struct bounded *b, uint64_t seed, uint8_t *raw, size_t length)
{
    const size_t width = b->f64 ? 8 : 4;

    if (b->wild == 0) {
        data_fill(DATA_TEXT, seed, raw, length);
        return;
    }
    memset(raw, ' ', b->offset);
    if (b->npy)
        bounded_header(b, raw, length);
    for (size_t at = b->offset, i = 0; at + width <= length; at += width, i++) {
        const uint64_t random = data_next(&seed);
        const double wide = sin((double)i * 0.01) * 100 + (double)(random % 64) / 1024;
        const float narrow = (float)wide;
        memcpy(raw + at, b->f64 ? (const void *)&wide : &narrow, width);
        if ((random >> 32) % b->wild == 0)
            memcpy(raw + at, &random, width);
        bounded_swap(b, raw + at);
    }
    if (b->exact > 0)
        memcpy(raw + b->exact, "\x89HDF\r\n\x1a\n", 8);
}

/* What comes back of raw, of at least BALE_ROUND_BEGIN bytes, in memory that the caller frees. */
static inline uint8_t *bounded_want(const struct bounded *b, const uint8_t *raw, size_t length)
{
    struct bale_setting setting;
    struct bale_reason why;
    struct bale_field field;
    uint8_t *want = malloc(length);

    REQUIRE(want && bale_setting_parse(b->codec, &setting, &why) == 0);
    CHECK((bale_round_resolve(&setting.field, raw, BALE_ROUND_BEGIN, &field) == NULL) ==
          (b->wild > 0));
    memcpy(want, raw, length);
    bale_round_piece(&field, 0, want, raw, b->exact > 0 ? b->exact : length);
    CHECK((memcmp(want, raw, length) != 0) == (b->wild > 0));
    return want;
}

/* No element of back is further from that of raw than the bound; NaN and infinities are equal. */
static inline void bounded_check(const struct bounded *b, const uint8_t *raw, const uint8_t *back,
                                 size_t length)
{
    const size_t width = b->f64 ? 8 : 4;
    size_t off = 0;

    CHECK_EQ_MEM(back, raw, b->offset);
    for (size_t at = b->offset; at + width <= length; at += width)
        off += memcmp(back + at, raw + at, width) != 0 &&
               !(fabs(bounded_element(b, back + at) - bounded_element(b, raw + at)) <= b->bound);
    CHECK_EQ_U(off, 0);
}

/* A device's memory, as a test gets at it. */
struct bounded_device {
    uint8_t *memory; /* of the device */
    void (*upload)(void *device, const void *bytes, size_t length);
    /* What the device has there; until the next call. */
    const uint8_t *(*download)(const void *device, size_t length);
};

static inline void check_ok(struct bale_context *context, int err)
{
    if (!CHECK_EQ(err, BALE_API_OK))
        fprintf(stderr, "%s\n", bale_context_message(context));
}

/* From the device's memory: the context makes the CPU's stream, and its input stays as it is. raw:
 * room for length bytes. */
static inline void bounded_check_device(const struct bounded *b, struct bale_context *cpu,
                                        struct bale_context *context,
                                        const struct bounded_device *device, uint8_t *raw,
                                        size_t length)
{
    uint8_t *from = device->memory + 13; /* askew */
    struct bale_params params = BALE_PARAMS_INIT;
    struct bale_buffer made = {0}, back = {0}, expected = {0};
    uint8_t *want;

    params.codec = b->codec;
    bounded_fill(b, 6, raw, length);
    want = bounded_want(b, raw, length);
    device->upload(from, raw, length);
    check_ok(context, bale_compress(context, &params, from, length, &made));
    CHECK_EQ_MEM(device->download(from, length), raw, length);
    check_ok(cpu, bale_compress(cpu, &params, raw, length, &expected));
    if (CHECK_EQ_U(made.length, expected.length))
        CHECK_EQ_MEM(made.data, expected.data, expected.length);
    check_ok(cpu, bale_decompress(cpu, NULL, made.data, made.length, &back));
    if (CHECK_EQ_U(back.length, length)) {
        CHECK_EQ_MEM(back.data, want, length);
        bounded_check(b, raw, back.data, length);
    }
    bale_buffer_free(&back);
    bale_buffer_free(&made);
    bale_buffer_free(&expected);
    free(want);
}

#endif
