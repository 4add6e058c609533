/* The codec gpulz (spec.md) on the CPU: what its files share. */
#ifndef BALE_KERNELS_GPULZ_GPULZ_H
#define BALE_KERNELS_GPULZ_GPULZ_H

#include <stddef.h>
#include <stdint.h>

#include "format/gpulz.h"

/* A few times the largest window: what is older may be forgotten. */
#define BALE_GPULZ_HASH_LOG2 12
#define BALE_GPULZ_PIECE_MAX (1u << BALE_GPULZ_PIECE_LOG2_MAX)

/* One code for all sizes of symbols, compiled for each: their log2 is a constant everywhere. */
#define BALE_GPULZ_INLINE static inline __attribute__((always_inline))

/* Working memory of the encoder; part of a scratch. */
struct bale_gpulz {
    uint32_t heads[1u << BALE_GPULZ_HASH_LOG2]; /* last position of each hash */
    /* Symbols to the last position of the same hash, 0: none; then a 1, and room for a word. */
    uint8_t back[BALE_GPULZ_PIECE_MAX + 8];
    uint8_t flags[BALE_GPULZ_PIECE_MAX / 8];
    uint8_t payload[BALE_GPULZ_PIECE_MAX + 64]; /* literals are copied eight at a time */
};

/* A piece after its parse. */
struct bale_gpulz_tokens {
    uint32_t count;
    uint32_t payload; /* bytes */
};

/* The shortest match that becomes a pointer, in symbols. */
BALE_GPULZ_INLINE uint32_t bale_gpulz_least(unsigned symbol_log2)
{
    return (2u >> symbol_log2) + 1;
}

/* Parses a piece of count whole symbols, 1 or more, into work->flags and work->payload. */
struct bale_gpulz_tokens bale_gpulz_parse(struct bale_gpulz *work, const uint8_t *raw,
                                          uint32_t count, uint32_t window, unsigned symbol_log2);

/* Decodes a chunk of hostile bytes; parameter is a frame's. BALE_OK or BALE_E_CORRUPT. */
int bale_gpulz_decode(uint16_t parameter, const uint8_t *in, uint32_t length, uint8_t *raw,
                      uint32_t raw_length);

/* Reads the options behind "gpulz:"; NULL: there are none. As bale_setting_parse; why is not
 * NULL unless why_size is 0. */
int bale_gpulz_setting_parse(const char *options, int16_t *parameter, char *why, size_t why_size);

/* Writes the shortest text, with the codec's name. */
void bale_gpulz_setting_print(int16_t parameter, char *text, size_t size);

#endif
