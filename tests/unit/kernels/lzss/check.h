/* Checks of a codec with streams as kernels/lzss/spec.md has them, against the reference. */
#ifndef BALE_TESTS_UNIT_KERNELS_LZSS_CHECK_H
#define BALE_TESTS_UNIT_KERNELS_LZSS_CHECK_H

#include <stdlib.h>

#include "format/err.h"
#include "kernels/frame/registry.h"
#include "tests/check.h"
#include "tests/codecs/lzss.h"
#include "tests/unit/kernels/lzss/reference.h"

enum { LZSS_MOST = 70000, LZSS_CHUNK = 1 << 26 };

struct lzss_rig {
    struct bale_scratch *scratch;
    const struct bale_codec *codec;
    int16_t (*parameter_of)(struct reference_how how);
    uint8_t expected[2 * LZSS_MOST + 64];
    uint8_t room[2 * LZSS_MOST + 64];
};

static inline void lzss_open(struct lzss_rig *rig, uint8_t codec,
                             int16_t (*parameter_of)(struct reference_how how))
{
    REQUIRE(bale_scratch_create(&rig->scratch) == BALE_OK);
    rig->codec = bale_codec_find(codec);
    REQUIRE(rig->codec);
    rig->parameter_of = parameter_of;
}

static inline uint8_t *lzss_copy(const void *bytes, size_t length)
{
    uint8_t *copy = malloc(length > 0 ? length : 1);

    REQUIRE(copy);
    if (length > 0)
        memcpy(copy, bytes, length);
    return copy;
}

/* From a block of exactly its size into one, so that a sanitizer sees any excess. */
static inline int lzss_decode(struct lzss_rig *rig, struct reference_how how, const uint8_t *in,
                              size_t length, uint8_t *raw, uint32_t raw_length)
{
    uint8_t *exact = lzss_copy(in, length);
    int err =
        rig->codec->decode(bale_scratch_work(rig->scratch, rig->codec->id), rig->parameter_of(how),
                           (struct bale_extent_part){NULL, 0}, exact, (uint32_t)length, raw,
                           raw_length, LZSS_CHUNK, (struct bale_wanted){0, raw_length});

    free(exact);
    return err;
}

static inline void lzss_check_decode(struct lzss_rig *rig, struct reference_how how, size_t length,
                                     const uint8_t *raw, uint32_t raw_length)
{
    uint8_t *back = malloc(raw_length);

    REQUIRE(back);
    memset(back, 0xa5, raw_length);
    CHECK_EQ(lzss_decode(rig, how, rig->expected, length, back, raw_length), BALE_OK);
    CHECK_EQ_MEM(back, raw, raw_length);
    free(back);
}

static inline void lzss_check_encode(struct lzss_rig *rig, struct reference_how how,
                                     const uint8_t *raw, uint32_t raw_length, size_t length,
                                     size_t capacity)
{
    uint8_t *out = malloc(capacity > 0 ? capacity : 1);

    REQUIRE(out);
    int64_t got = rig->codec->encode(bale_scratch_work(rig->scratch, rig->codec->id),
                                     rig->parameter_of(how), (struct bale_extent_part){NULL, 0},
                                     raw, raw_length, out, (uint32_t)capacity);
    if (CHECK_EQ(got, length <= capacity ? (int64_t)length : 0) && got > 0)
        CHECK_EQ_MEM(out, rig->expected, length);
    free(out);
}

static inline void lzss_check(struct lzss_rig *rig, struct reference_how how, unsigned kind,
                              const uint8_t *bytes, uint32_t length)
{
    unsigned long before = atomic_load(&check_failures);
    uint8_t *raw = lzss_copy(bytes, length);
    size_t stored = reference_encode(how, raw, length, rig->expected, rig->room);

    lzss_check_encode(rig, how, raw, length, stored, length - 1);
    if (stored < length) {
        lzss_check_encode(rig, how, raw, length, stored, stored);
        lzss_check_encode(rig, how, raw, length, stored, stored - 1);
    }
    if (length >= how.symbol) /* a frame has no other chunk that is not raw */
        lzss_check_decode(rig, how, stored, raw, length);
    if (atomic_load(&check_failures) != before)
        fprintf(stderr, "s=%u c=%u w=%u, data %u, %u bytes\n", how.symbol, how.piece, how.window,
                kind, length);
    free(raw);
}

/* Few bytes, and what is about one piece and about three; room for four and 8 bytes at data. */
static inline void lzss_check_lengths(struct lzss_rig *rig, struct reference_how how, uint8_t *data)
{
    shape_fill(SHAPE_RUNS, data, 4 * (size_t)how.piece + 8);
    for (uint32_t length = 1; length < 70; length++)
        lzss_check(rig, how, SHAPE_RUNS, data, length);
    for (uint32_t length = how.piece - 9; length < how.piece + 70; length++)
        lzss_check(rig, how, SHAPE_RUNS, data, length);
    for (uint32_t length = 3 * how.piece - 9; length < 3 * how.piece + 9; length++)
        lzss_check(rig, how, SHAPE_RUNS, data + length % 8, length);
}

#endif
