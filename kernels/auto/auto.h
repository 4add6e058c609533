/* The choice behind the setting `auto` (spec.md): a probe of a sample, in integers. */
#ifndef BALE_KERNELS_AUTO_AUTO_H
#define BALE_KERNELS_AUTO_AUTO_H

#include <stdint.h>

#define BALE_AUTO_PIECE 1024u   /* bytes */
#define BALE_AUTO_PIECES_MIN 8u /* an extent of this many pieces or fewer is its own sample */
#define BALE_AUTO_PIECES_MAX 64u
#define BALE_AUTO_SAMPLE_MAX (BALE_AUTO_PIECE * BALE_AUTO_PIECES_MAX)
#define BALE_AUTO_HASH_LOG2 12

/* Working memory of the probe; part of a scratch. */
struct bale_auto {
    uint8_t sample[BALE_AUTO_SAMPLE_MAX];
    uint16_t heads[1u << BALE_AUTO_HASH_LOG2]; /* last position of each hash */
    uint32_t counts[4][256]; /* literals, in four lanes so that equal bytes do not wait */
};

#endif
