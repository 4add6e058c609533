/* Codecs: settings, the registry, and whole frames (FORMAT.md sections 6 and 7). */
#ifndef BALE_KERNELS_CODEC_CODEC_H
#define BALE_KERNELS_CODEC_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/frame.h"
#include "format/reason.h"

/* Reads "NAME", "NAME:key=value,..." or "zstd:3". BALE_E_INVALID: why (a full sentence without a
 * newline, may be NULL) says what is wrong and what would be right. */
int bale_setting_parse(const char *text, struct bale_setting *setting, struct bale_reason *why);

/* Writes the shortest text that parses to the same setting ("zstd:1", "auto"); size at least
 * BALE_SETTING_TEXT. */
#define BALE_SETTING_TEXT 32
void bale_setting_print(struct bale_setting setting, char *text, size_t size);

/* One codec. Callbacks never allocate; work comes from the scratch. */
struct bale_scratch;
struct bale_codec {
    uint8_t id;
    const char *name;
    /* Compresses one chunk of raw_length bytes to capacity bytes at most; capacity <= raw_length
     * - 1. Returns the stored length, 0 when it does not fit (the chunk is then stored raw), or a
     * negative bale_err. */
    int64_t (*encode)(struct bale_scratch *scratch, int16_t parameter, const uint8_t *raw,
                      uint32_t raw_length, uint8_t *out, uint32_t capacity);
    /* Decompresses one chunk of hostile bytes to exactly raw_length bytes: BALE_OK or
     * BALE_E_CORRUPT. parameter and chunk_size are the frame's, checked; chunk_size is raw_length or
     * more: FORMAT.md section 7 bounds a window by it. */
    int (*decode)(struct bale_scratch *scratch, int16_t parameter, const uint8_t *in,
                  uint32_t length, uint8_t *raw, uint32_t raw_length, uint32_t chunk_size);
    /* Settles what a setting's parameter leaves open: a pure function of the extent's raw bytes.
     * NULL: nothing can be left open. */
    int16_t (*choose)(struct bale_scratch *scratch, int16_t parameter, const uint8_t *raw,
                      uint32_t raw_length);
};

/* The codec of an id, or NULL. store and zero have NULL callbacks: the frame layer does them. */
const struct bale_codec *bale_codec_find(uint8_t id);

/* Per-thread working memory of all codecs, allocated once; about 1.5 MiB after first use of
 * zstd. */
int bale_scratch_create(struct bale_scratch **scratch);
void bale_scratch_destroy(struct bale_scratch *scratch);

/* Chooses what an open setting leaves open: a pure function of the raw bytes. What comes back is not
 * open. A setting that is not open comes back unchanged. */
struct bale_setting bale_auto_choose(struct bale_scratch *scratch, struct bale_setting setting,
                                     const uint8_t *raw, uint32_t raw_length);

/* Encodes raw[0, raw_length) to one frame at out, which has room for bale_frame_bound().
 * frame->offset, generation, raw_length and chunk_log2 are the caller's; the rest is filled in.
 * All-equal input becomes codec zero whatever the setting; a frame none of whose chunks shrank
 * becomes codec store. *length: the frame's length. Errors: BALE_E_NOMEM, BALE_E_INVALID. */
int bale_frame_encode(struct bale_scratch *scratch, struct bale_setting setting, const uint8_t *raw,
                      struct bale_frame *frame, uint8_t *out, size_t *length);

/* Decodes a whole frame of length bytes; checks head, chunks and raw checksum. raw has room for
 * raw_length bytes, which must equal the head's. frame (may be NULL) gets the head. Errors:
 * BALE_E_CORRUPT, BALE_E_UNSUPPORTED, BALE_E_NOMEM. */
int bale_frame_decode(struct bale_scratch *scratch, const uint8_t *in, size_t length, uint8_t *raw,
                      uint32_t raw_length, struct bale_frame *frame);

/* Decodes chunk i, whose stored bytes are at in, after checking them against the (validated) head
 * at head. raw has room for bale_frame_chunk_raw(). */
int bale_frame_decode_chunk(struct bale_scratch *scratch, const uint8_t *head,
                            const struct bale_frame *frame, uint32_t i, const uint8_t *in,
                            uint8_t *raw);

#endif
