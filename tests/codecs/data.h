/* Deterministic test data of several kinds. */
#ifndef BALE_TESTS_CODECS_DATA_H
#define BALE_TESTS_CODECS_DATA_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum data_kind {
    DATA_RANDOM, /* incompressible */
    DATA_TEXT,   /* words */
    DATA_FIELD,  /* f32 of a narrow range with noisy mantissas */
    DATA_RUNS,   /* long runs of a few values */
    DATA_MIXED,  /* random, then text, in turns of 5000 bytes */
    DATA_KINDS
};

static inline uint64_t data_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline void data_random(uint64_t *state, uint8_t *out, size_t length)
{
    for (size_t i = 0; i < length; i++)
        out[i] = (uint8_t)(data_next(state) >> 56);
}

/* Appends the number to the text, which ends at end; returns its new end. */
static inline char *data_number(char *end, unsigned number)
{
    if (number >= 10)
        end = data_number(end, number / 10);
    *end = (char)('0' + number % 10);
    return end + 1;
}

/* Words like "12-word345 ". Tests fill megabytes: printf would take longer than what they test. */
static inline void data_text(uint64_t *state, uint8_t *out, size_t length)
{
    size_t at = 0;

    while (at < length) {
        char word[32];
        unsigned last = (unsigned)(data_next(state) % 400); /* drawn before the first */
        char *end = data_number(word, (unsigned)(data_next(state) % 50));
        memcpy(end, "-word", 5);
        end = data_number(end + 5, last);
        *end++ = ' ';
        size_t take = (size_t)(end - word) < length - at ? (size_t)(end - word) : length - at;
        memcpy(out + at, word, take);
        at += take;
    }
}

static inline void data_field(uint64_t *state, uint8_t *out, size_t length)
{
    for (size_t at = 0; at < length; at += sizeof(float)) {
        float f = 1.0f + (float)(data_next(state) >> 40) * 0x1p-23f;
        size_t take = sizeof f < length - at ? sizeof f : length - at;
        memcpy(out + at, &f, take);
    }
}

static inline void data_runs(uint64_t *state, uint8_t *out, size_t length)
{
    size_t at = 0;

    while (at < length) {
        size_t run = 1 + data_next(state) % 3000;
        size_t take = run < length - at ? run : length - at;
        memset(out + at, (int)(data_next(state) % 5), take);
        at += take;
    }
}

static inline void data_fill(enum data_kind kind, uint64_t seed, uint8_t *out, size_t length)
{
    uint64_t state = seed * 31 + kind;

    switch (kind) {
    case DATA_TEXT:
        data_text(&state, out, length);
        break;
    case DATA_FIELD:
        data_field(&state, out, length);
        break;
    case DATA_RUNS:
        data_runs(&state, out, length);
        break;
    case DATA_MIXED:
        for (size_t at = 0, turn = 0; at < length; at += 5000, turn++) {
            size_t take = 5000 < length - at ? 5000 : length - at;
            if (turn % 2 == 0)
                data_random(&state, out + at, take);
            else
                data_text(&state, out + at, take);
        }
        break;
    default:
        data_random(&state, out, length);
        break;
    }
}

#endif
