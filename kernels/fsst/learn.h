/* Learning the symbols of a frame from a sample of it (spec.md, Learning). */
#ifndef BALE_KERNELS_FSST_LEARN_H
#define BALE_KERNELS_FSST_LEARN_H

#include <stdint.h>

#include "kernels/fsst/match.h"

enum {
    FSST_SAMPLE = 16384, /* bytes */
    FSST_PIECE = 64,     /* bytes of the sample that lie together */
    FSST_PIECES = FSST_SAMPLE / FSST_PIECE,
    FSST_CODES = 2 * FSST_LITERAL, /* symbols and literals */
    FSST_FREQUENT = 6,             /* a pair that occurs less often makes no candidate */
    FSST_FREQUENT_PAIRS = FSST_SAMPLE / FSST_FREQUENT,
    FSST_CANDIDATES = FSST_CODES + FSST_FREQUENT_PAIRS,
    FSST_STRINGS = 8192, /* slots of the table of candidates */
    FSST_SLOTS = 256 + FSST_PAIRS + FSST_LONGS,
};

/* A string that may become a symbol. */
struct fsst_candidate {
    uint64_t bytes;
    uint32_t gain;
    uint32_t length;
};

/* Working memory. Between two calls pair and string are zero. */
struct fsst_learn {
    struct fsst_matcher matcher;
    struct fsst_symbols symbols;
    uint32_t once[FSST_CODES];
    uint16_t pair[FSST_CODES * FSST_CODES]; /* how often code b follows a: [a * FSST_CODES + b] */
    uint32_t pairs[FSST_SAMPLE];            /* those that are not zero */
    uint32_t pair_count;
    struct fsst_candidate candidates[FSST_CANDIDATES];
    uint32_t candidate_count;
    uint16_t string[FSST_STRINGS]; /* candidates by their hash: the number plus 1, or 0 */
    uint16_t slot[FSST_SLOTS];     /* the best candidate of a slot: the number plus 1, or 0 */
};

/* Learns symbols whose part has capacity bytes at most, in the order of their codes. None: the
 * bytes are not worth it. */
void fsst_learn(struct fsst_learn *learn, const uint8_t *raw, uint32_t raw_length,
                uint32_t capacity, struct fsst_symbols *symbols);

#endif
