/* The interface that a codec implements on the CPU; codec.cuh is the one for a device. */
#ifndef BALE_KERNELS_CODEC_CODEC_H
#define BALE_KERNELS_CODEC_CODEC_H

#include <stdint.h>

#include "format/codecs.h"

/* Bytes [from, to) of a chunk, from < to. */
struct bale_wanted {
    uint32_t from, to;
};

/* What the chunks of one frame share, of a codec with an extent part (FORMAT.md section 6). Chunks
 * of other codecs come with none: NULL and 0. */
struct bale_extent_part {
    const uint8_t *bytes;
    uint32_t length;
};

/* One codec of format/codecs.h, or auto. kernels/NAME/cpu.c defines bale_codec_NAME. A NULL member
 * means that the codec does not need it. encode, decode and choose never allocate: their working
 * memory is what create made. */
struct bale_codec {
    uint8_t id;
    const char *name;
    /* Makes the working memory that one thread at a time uses: BALE_OK or BALE_E_NOMEM. Without
     * create, work is NULL. Codecs with the same create share the memory: no call finds there what
     * an earlier one left. */
    int (*create)(void **work);
    void (*destroy)(void *work);
    /* For a codec with an extent part: makes it from a frame's raw bytes, 1 or more, which begin at
     * offset in the file and will be encoded in chunks of chunk_size, and what is known of the
     * array there (field; all zero: nothing), as a pure function of these. What decoding needs of
     * field and offset goes into the part. Returns its length, at most capacity, which may be 0, or
     * a negative bale_err. Of a codec that has fields, 0: the bytes do not suit it, and the frame
     * becomes what auto chooses. */
    int64_t (*learn)(void *work, int16_t parameter, const struct bale_field *field, uint64_t offset,
                     uint32_t chunk_size, const uint8_t *raw, uint32_t raw_length, uint8_t *out,
                     uint32_t capacity);
    /* Compresses one chunk of raw_length bytes to capacity bytes at most; capacity <= raw_length
     * - 1. part is what learn made of its frame. Returns the stored length, 0 when it does not fit
     * (the chunk is then stored raw), or a negative bale_err. */
    int64_t (*encode)(void *work, int16_t parameter, struct bale_extent_part part,
                      const uint8_t *raw, uint32_t raw_length, uint8_t *out, uint32_t capacity);
    /* Decompresses one chunk of hostile bytes that stands for exactly raw_length bytes: BALE_OK or
     * BALE_E_CORRUPT. part is hostile, too. parameter and chunk_size are the frame's, checked;
     * chunk_size is raw_length or more: FORMAT.md section 7 bounds a window by it. raw has room for
     * the whole chunk. Only the wanted bytes need to be decoded; the others are then undefined. If
     * all are wanted, every rule of the codec's specification is checked; if not, a damaged chunk
     * is BALE_E_CORRUPT or yields some bytes. */
    int (*decode)(void *work, int16_t parameter, struct bale_extent_part part, const uint8_t *in,
                  uint32_t length, uint8_t *raw, uint32_t raw_length, uint32_t chunk_size,
                  struct bale_wanted wanted);
    /* Chooses what an open setting leaves open: a pure function of the extent's raw bytes, 1 or
     * more. The setting that it returns is not open. */
    struct bale_setting (*choose)(void *work, int16_t parameter, const uint8_t *raw,
                                  uint32_t raw_length);
};

#endif
