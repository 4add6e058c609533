/* Whole frames (FORMAT.md section 6): raw bytes to frames and back. */
#ifndef BALE_KERNELS_FRAME_FRAME_H
#define BALE_KERNELS_FRAME_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "format/frame.h"
#include "kernels/codec/codec.h"

struct bale_scratch;

/* Encodes raw[0, raw_length) to one frame at out, which has room for bale_frame_bound().
 * frame->offset, generation, raw_length and chunk_log2 are the caller's; the rest is filled in. A
 * codec with cells may make chunks larger than the caller's (bale_codec_chunk_log2). All-equal
 * input becomes codec zero whatever the setting; a frame none of whose chunks shrank, or whose
 * extent part takes what they gain, becomes codec store. *length: the frame's length. Errors:
 * BALE_E_NOMEM, BALE_E_INVALID. */
int bale_frame_encode(struct bale_scratch *scratch, struct bale_setting setting, const uint8_t *raw,
                      struct bale_frame *frame, uint8_t *out, size_t *length);

/* Decodes a whole frame of length bytes; checks head, chunks and raw checksum. raw has room for
 * raw_length bytes, which must equal the head's. frame (may be NULL) gets the head. Errors:
 * BALE_E_CORRUPT, BALE_E_UNSUPPORTED, BALE_E_NOMEM. */
int bale_frame_decode(struct bale_scratch *scratch, const uint8_t *in, size_t length, uint8_t *raw,
                      uint32_t raw_length, struct bale_frame *frame);

/* Decodes what is wanted of chunk i, whose stored bytes are at in, after checking all of them
 * against the (validated) head at head. part: the frame's extent part, frame->part.stored bytes,
 * which is checked if the chunk needs it. raw has room for bale_frame_chunk_raw(); its bytes
 * outside wanted are then undefined. */
int bale_frame_decode_chunk(struct bale_scratch *scratch, const uint8_t *head,
                            const struct bale_frame *frame, uint32_t i, const uint8_t *part,
                            const uint8_t *in, uint8_t *raw, struct bale_wanted wanted);

#endif
