/* Streams of LZSS tokens in pieces (spec.md) on the CPU, for the codecs gpulz and culzss. */
#ifndef BALE_KERNELS_LZSS_LZSS_H
#define BALE_KERNELS_LZSS_LZSS_H

#include <stdint.h>

#include "kernels/codec/codec.h"

#define BALE_LZSS_WINDOW_MAX 255u    /* symbols: a distance less one is a byte */
#define BALE_LZSS_PIECE_LOG2_MAX 16u /* bytes: a number of tokens less one is a u16 */
#define BALE_LZSS_SYMBOL_LOG2_MAX 3u /* bytes */

/* The table of hashes is a few times the largest window. Older positions may be lost from it. */
#define BALE_LZSS_HASH_LOG2 12
#define BALE_LZSS_PIECE_MAX (1u << BALE_LZSS_PIECE_LOG2_MAX)

/* The code is compiled once for each size of symbols, so that their log2 is a constant. */
#define BALE_LZSS_INLINE static inline __attribute__((always_inline))

/* What a codec's parameter means: S, C and W of spec.md. */
struct bale_lzss_geometry {
    uint8_t symbol_log2; /* bytes, to BALE_LZSS_SYMBOL_LOG2_MAX */
    uint8_t piece_log2;  /* bytes, a symbol or more, to BALE_LZSS_PIECE_LOG2_MAX */
    uint8_t window;      /* symbols, 1 or more */
};

/* Working memory of the encoder. */
struct bale_lzss_work {
    uint32_t heads[1u << BALE_LZSS_HASH_LOG2]; /* last position of each hash */
    /* For each position the distance, in symbols, to the last position with the same hash; 0: none.
     * A 1 follows the last entry, and then room to read a word. */
    uint8_t back[BALE_LZSS_PIECE_MAX + 8];
    uint8_t flags[BALE_LZSS_PIECE_MAX / 8];
    uint8_t payload[BALE_LZSS_PIECE_MAX + 64]; /* literals are copied eight at a time */
};

/* A piece after its parse. */
struct bale_lzss_tokens {
    uint32_t count;
    uint32_t payload; /* bytes */
};

/* The shortest match that becomes a pointer, in symbols. */
BALE_LZSS_INLINE uint32_t bale_lzss_least(unsigned symbol_log2)
{
    return (2u >> symbol_log2) + 1;
}

static inline uint32_t bale_lzss_flag_bytes(struct bale_lzss_tokens tokens)
{
    return (tokens.count + 7) / 8;
}

/* Parses a piece of count whole symbols, 1 or more, into work->flags and work->payload. It does not
 * use the geometry's size of pieces. */
struct bale_lzss_tokens bale_lzss_parse(struct bale_lzss_work *work,
                                        struct bale_lzss_geometry geometry, const uint8_t *raw,
                                        uint32_t count);

/* Makes the encoder's working memory, and frees it; as the callbacks of struct bale_codec. */
int bale_lzss_create(void **work);
void bale_lzss_destroy(void *work);

/* Encodes a chunk; as the callback of struct bale_codec. */
int64_t bale_lzss_encode(struct bale_lzss_work *work, struct bale_lzss_geometry geometry,
                         const uint8_t *raw, uint32_t raw_length, uint8_t *out, uint32_t capacity);

/* Decodes the pieces with wanted bytes of a chunk of hostile bytes; as the callback of struct
 * bale_codec. */
int bale_lzss_decode(struct bale_lzss_geometry geometry, const uint8_t *in, uint32_t length,
                     uint8_t *raw, uint32_t raw_length, struct bale_wanted wanted);

#endif
