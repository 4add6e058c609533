/* The setting `auto` (spec.md): a choice by estimates from a sample, in integers. */
#ifndef BALE_KERNELS_AUTO_AUTO_H
#define BALE_KERNELS_AUTO_AUTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/bytes.h"

#define BALE_AUTO_PIECE 1024u /* bytes */
#define BALE_AUTO_PIECES_MIN 8u
#define BALE_AUTO_PIECES_MAX 64u
#define BALE_AUTO_SAMPLE_MAX (BALE_AUTO_PIECE * BALE_AUTO_PIECES_MAX)
#define BALE_AUTO_CLOSER 32768u   /* bytes of the piece of a closer look; no more than a sample */
#define BALE_AUTO_FLOAT_MIN 4096u /* bytes of an extent for which float is considered */
#define BALE_AUTO_HASH_LOG2 12
#define BALE_AUTO_STRINGS_LOG2 16
#define BALE_AUTO_SKIP_LOG2 4 /* after each 2^this misses in a row, the parse takes longer steps */

/* The parameters of the gpulz that is considered. */
#define BALE_AUTO_GPULZ_WINDOW 255u /* symbols */
#define BALE_AUTO_GPULZ_PIECE_LOG2 12

/* Working memory of the choice. */
struct bale_auto {
    uint8_t sample[BALE_AUTO_SAMPLE_MAX + sizeof(uint64_t)]; /* and room for a word */
    uint16_t heads[1u << BALE_AUTO_HASH_LOG2];               /* last position of each hash */
    /* How often each literal occurs, in four arrays, so that equal bytes in a row do not wait for
     * each other. */
    uint32_t counts[4][256];
    uint8_t strings[1u << BALE_AUTO_STRINGS_LOG2]; /* how often each hash of a string was seen */
};

/* Estimated sizes of the compressed sample, in bytes. */
struct bale_auto_lz {
    uint32_t lz4;
    uint32_t zstd;     /* zstd:1, and lzr:1 nearly */
    uint32_t literals; /* zstd:1's, raw */
};

/* Estimates both by one parse of the sample, whose length is 1 byte or more. */
struct bale_auto_lz bale_auto_lz(struct bale_auto *a, uint32_t length);

/* Whether zstd:1 needs so many bytes, less 1/32, for up to BALE_AUTO_SAMPLE_MAX bytes: by a parse
 * of its own, which finds what the other one hides behind shorter matches, and ends when it
 * knows. */
bool bale_auto_zstd_needs(struct bale_auto *a, const uint8_t *raw, uint32_t length, uint64_t bytes);

/* Estimates the size in gpulz, in bytes, with symbols of this size: two bytes or more. */
uint32_t bale_auto_gpulz(struct bale_auto *a, uint32_t length, unsigned symbol_log2);

/* Estimates the size in fsst, in bytes, without the extent part. */
uint32_t bale_auto_fsst(struct bale_auto *a, uint32_t length);

/* Estimates the size in float, in bytes of a sample of so many, from an extent of
 * BALE_AUTO_FLOAT_MIN bytes or more. All of them, if a first look promises no less than `below`. */
uint32_t bale_auto_float(const uint8_t *raw, uint32_t raw_length, uint32_t sample_length,
                         uint32_t below);

/* The number of equal bytes from candidate and from at on, up to end. candidate < at < end. */
static inline uint32_t bale_auto_agree(const uint8_t *sample, uint32_t candidate, uint32_t at,
                                       uint32_t end)
{
    uint32_t n = 0;

    for (; at + n + sizeof(uint64_t) <= end; n += (uint32_t)sizeof(uint64_t)) {
        uint64_t differ = bale_get64(sample + candidate + n) ^ bale_get64(sample + at + n);
        if (differ != 0)
            return n + (uint32_t)__builtin_ctzll(differ) / 8;
    }
    while (at + n < end && sample[candidate + n] == sample[at + n])
        n++;
    return n;
}

#endif
