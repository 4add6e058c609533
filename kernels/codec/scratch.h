/* Working memory of one thread, shared by all codecs. Not thread-safe: one scratch, one thread at a
 * time. */
#ifndef BALE_KERNELS_CODEC_SCRATCH_H
#define BALE_KERNELS_CODEC_SCRATCH_H

#include <stdint.h>

#include "format/frame.h"
#include "kernels/codec/codec.h"

struct bale_auto;
struct bale_lzss_work;

#define BALE_SCRATCH_HASH 8u /* bytes of a checksum in hashes */

struct bale_scratch {
    struct ZSTD_CCtx_s *zstd_encoder; /* all parameters but the level are set once */
    struct ZSTD_DCtx_s *zstd_decoder;
    void *lz4_encoder; /* LZ4_sizeofState() bytes */
    struct bale_auto *choice;
    struct bale_lzss_work *lzss;
    struct bale_chunk *chunks; /* chunk table of the frame being encoded */
    uint8_t *hashes;   /* raw checksums of the chunks of the frame at hand, little-endian u64 */
    uint32_t capacity; /* entries in chunks and hashes */
};

/* Makes room for count entries in chunks and hashes; their contents are lost. BALE_OK or
 * BALE_E_NOMEM. */
int bale_scratch_reserve(struct bale_scratch *scratch, uint32_t count);

#endif
