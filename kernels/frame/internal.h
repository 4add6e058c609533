/* For the sources of this directory: what a scratch is. */
#ifndef BALE_KERNELS_FRAME_INTERNAL_H
#define BALE_KERNELS_FRAME_INTERNAL_H

#include "format/frame.h"
#include "kernels/frame/registry.h"

struct bale_scratch {
    void *work[UINT8_MAX + 1]; /* by codec id, auto included */
    struct bale_chunk *chunks; /* chunk table of the frame being encoded */
    uint8_t *hashes;           /* raw checksums of its chunks, BALE_HASH_SIZE bytes each */
    uint32_t capacity;         /* entries in chunks and hashes */
    uint8_t *rooms;            /* the caller's, two of BALE_SCRATCH_ROOM bytes */
};

/* Makes room for count entries in chunks and hashes; their contents are lost. BALE_OK or
 * BALE_E_NOMEM. */
int bale_scratch_reserve(struct bale_scratch *scratch, uint32_t count);

#endif
