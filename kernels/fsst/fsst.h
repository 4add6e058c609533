/* Symbols and the extent part that has them; encoding and decoding chunks (spec.md). */
#ifndef BALE_KERNELS_FSST_FSST_H
#define BALE_KERNELS_FSST_FSST_H

#include <stdint.h>

#include "kernels/codec/codec.h"
#include "kernels/fsst/sizes.h"

enum {
    FSST_SYMBOLS = 255,                     /* at most */
    FSST_SYMBOL = 8,                        /* bytes of a symbol, at most */
    FSST_ESCAPE = 255,                      /* the code before a literal byte */
    FSST_SPLIT = 1 << BALE_FSST_SPLIT_LOG2, /* raw bytes of a split */
    FSST_PART_HEAD = FSST_SYMBOL,
    FSST_PART = FSST_PART_HEAD + FSST_SYMBOLS * FSST_SYMBOL, /* the longest */
    FSST_HEAD = 3, /* bytes of a chunk before the lengths of its splits */
    FSST_WIDTH_MAX = BALE_FSST_SPLIT_LOG2 + 1,                       /* bits of a length */
    FSST_SPLITS = 1 << (BALE_CHUNK_LOG2_MAX - BALE_FSST_SPLIT_LOG2), /* of the largest chunk */
};

/* Symbol c is the low length[c] bytes of bytes[c], the first byte lowest; the others are zero. */
struct fsst_symbols {
    uint64_t bytes[FSST_SYMBOLS];
    uint8_t length[FSST_SYMBOLS];
    unsigned count;
};

/* Reads the symbols of a hostile part. BALE_OK or BALE_E_CORRUPT. */
int fsst_part_read(struct bale_extent_part part, struct fsst_symbols *symbols);

/* Writes symbols whose lengths ascend, and returns the length of the part. */
uint32_t fsst_part_write(const struct fsst_symbols *symbols, uint8_t *out);

struct fsst_matcher;

/* Encodes a chunk as bale_codec.encode does. lengths has room for the chunk's splits. */
int64_t fsst_encode(const struct fsst_matcher *matcher, uint16_t *lengths, const uint8_t *raw,
                    uint32_t raw_length, uint8_t *out, uint32_t capacity);

/* Decodes a chunk as bale_codec.decode does. */
int fsst_decode(const struct fsst_symbols *symbols, const uint8_t *in, uint32_t length,
                uint8_t *raw, uint32_t raw_length, struct bale_wanted wanted);

/* Splits of a chunk, and the bytes of their lengths with so many bits each. */
static inline uint32_t fsst_splits(uint32_t raw_length)
{
    return (raw_length + FSST_SPLIT - 1) / FSST_SPLIT;
}
static inline uint32_t fsst_lengths_size(uint32_t splits, unsigned width)
{
    return (uint32_t)(((uint64_t)splits * width + 7) / 8);
}

#endif
