/* Checks of a codec with streams as kernels/lzss/spec.md has them, against the reference. */
#ifndef BALE_TESTS_UNIT_KERNELS_LZSS_CHECK_H
#define BALE_TESTS_UNIT_KERNELS_LZSS_CHECK_H

#include <stdlib.h>

#include "format/err.h"
#include "kernels/frame/registry.h"
#include "tests/check.h"
#include "tests/unit/kernels/lzss/reference.h"
#include "tests/unit/kernels/lzss/shapes.h"

enum { LZSS_MOST = 70000, LZSS_CHUNK = 1 << 26, LZSS_DAMAGED = 9001 };

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
    int err = rig->codec->decode(bale_scratch_work(rig->scratch, rig->codec->id),
                                 rig->parameter_of(how), exact, (uint32_t)length, raw, raw_length,
                                 LZSS_CHUNK, (struct bale_wanted){0, raw_length});

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
    int64_t got =
        rig->codec->encode(bale_scratch_work(rig->scratch, rig->codec->id), rig->parameter_of(how),
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

/* ---- Hostile streams ---- */

/* Literals a, b, c, a pointer (distance 3, 9 symbols), literal d; symbols are bytes. */
static const uint8_t lzss_letters[] = "abcabcabcabcd";
static const uint8_t lzss_letters_stored[] = {4, 0, 0x08, 'a', 'b', 'c', 2, 6, 'd'};

static inline void lzss_check_refused(struct lzss_rig *rig, struct reference_how how,
                                      const uint8_t *in, size_t length, uint32_t raw_length)
{
    uint8_t *raw = malloc(raw_length);

    REQUIRE(raw);
    CHECK_EQ(lzss_decode(rig, how, in, length, raw, raw_length), BALE_E_CORRUPT);
    free(raw);
}

/* Every rule of a decoder, broken in the letters. */
static inline void lzss_check_rules(struct lzss_rig *rig, struct reference_how how)
{
    const struct {
        const char *what;
        size_t at;
        uint8_t value;
    } rows[] = {
        {"a token less", 0, 3},
        {"a token more", 0, 5},
        {"a spare bit", 2, 0x28},
        {"the highest spare bit", 2, 0x88},
        {"no pointer", 2, 0x00},
        {"two pointers", 2, 0x18},
        {"a pointer first", 2, 0x01},
        {"before the piece", 6, 3},
        {"beyond the window", 6, (uint8_t)how.window},
        {"the greatest distance", 6, 255},
        {"beyond the end", 7, 8},
        {"a byte beyond the end", 7, 7},
        {"a byte less", 7, 5},
        {"many tokens", 1, 1},
        {"far more tokens", 1, 0xff},
    };
    const size_t size = sizeof lzss_letters_stored;
    uint8_t in[sizeof lzss_letters_stored + 1];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        unsigned long before = atomic_load(&check_failures);
        memcpy(in, lzss_letters_stored, size);
        in[rows[i].at] = rows[i].value;
        lzss_check_refused(rig, how, in, size, 13);
        if (atomic_load(&check_failures) != before)
            fprintf(stderr, "in %s\n", rows[i].what);
    }
    memcpy(in, lzss_letters_stored, size);
    in[size] = 'e';
    lzss_check_refused(rig, how, in, sizeof in, 13);
    lzss_check_refused(rig, how, in, sizeof in, 12);
    for (size_t length = 1; length < size; length++)
        lzss_check_refused(rig, how, in, length, 13);
    for (uint32_t raw_length = 1; raw_length < 40; raw_length++)
        if (raw_length != 13)
            lzss_check_refused(rig, how, in, size, raw_length);
}

/* A distance may be as large as the window and the piece allow, and no larger. Symbols are bytes: one
 * more than the window of literals, then a pointer. */
static inline void lzss_check_reach(struct lzss_rig *rig, struct reference_how how)
{
    uint32_t literals = how.window + 1;
    uint8_t in[2 + 256 / 8 + 1 + 256 + 2] = {0};
    uint8_t raw[256 + 3], back[256 + 3];
    uint8_t *payload = in + 2 + literals / 8 + 1;

    REQUIRE(literals <= 255);
    bale_put16(in, (uint16_t)literals);
    in[2 + literals / 8] = (uint8_t)(1u << literals % 8);
    for (uint32_t i = 0; i < literals; i++)
        raw[i] = payload[i] = (uint8_t)(i + 1);
    memcpy(raw + literals, raw + 1, 3);
    payload[literals] = (uint8_t)(how.window - 1);
    size_t length = (size_t)(payload - in) + literals + 2;
    CHECK_EQ(lzss_decode(rig, how, in, length, back, literals + 3), BALE_OK);
    CHECK_EQ_MEM(back, raw, literals + 3);
    payload[literals] = (uint8_t)how.window;
    CHECK_EQ(lzss_decode(rig, how, in, length, back, literals + 3), BALE_E_CORRUPT);
}

/* Whatever it says, a decoder stays within its buffers and gives one of two answers. */
static inline void lzss_check_damage(struct lzss_rig *rig, struct reference_how how,
                                     uint64_t *state)
{
    uint8_t *data = malloc(LZSS_DAMAGED);
    uint8_t *raw = malloc(LZSS_DAMAGED);

    REQUIRE(data && raw);
    shape_fill(SHAPE_RUNS, data, LZSS_DAMAGED);
    size_t length = reference_encode(how, data, LZSS_DAMAGED, rig->expected, rig->room);
    for (int round = 0; round < 4000; round++) {
        uint8_t *in = lzss_copy(rig->expected, length);
        size_t cut = round % 4 ? length : 1 + data_next(state) % length;
        for (uint64_t edits = 1 + data_next(state) % 6; edits > 0; edits--)
            in[data_next(state) % (round % 2 ? length : 40)] = (uint8_t)data_next(state);
        int err = lzss_decode(rig, how, in, cut, raw, LZSS_DAMAGED);
        CHECK(err == BALE_OK || err == BALE_E_CORRUPT);
        free(in);
    }
    free(raw);
    free(data);
}

#endif
