/* Where the sample of an extent lies, from which a codec or auto chooses. */
#ifndef BALE_KERNELS_CODEC_SAMPLE_H
#define BALE_KERNELS_CODEC_SAMPLE_H

#include <stdint.h>

/* A codec's constants. Its specification has them: they decide bytes on disk. */
struct bale_sampling {
    uint32_t piece;    /* bytes, a multiple of 8 */
    uint32_t per_log2; /* one piece for each 2^this bytes of the extent, */
    uint32_t least;    /* but 2 or more of these */
    uint32_t most;
};

/* The number of pieces; 0: the extent is no larger than they are, and is its own sample. */
static inline uint32_t bale_sample_pieces(const struct bale_sampling *sampling, uint32_t raw_length)
{
    uint32_t pieces = raw_length >> sampling->per_log2;

    if (pieces < sampling->least)
        pieces = sampling->least;
    if (pieces > sampling->most)
        pieces = sampling->most;
    return raw_length <= sampling->piece * pieces ? 0 : pieces;
}

/* Where piece i of the pieces begins, rounded down to 8 bytes so that symbols lie in it as they do
 * in the extent. Pieces are spread evenly from the extent's start to its end. */
static inline uint32_t bale_sample_at(const struct bale_sampling *sampling, uint32_t raw_length,
                                      uint32_t pieces, uint32_t i)
{
    return (uint32_t)((uint64_t)(raw_length - sampling->piece) * i / (pieces - 1) / 8 * 8);
}

#endif
