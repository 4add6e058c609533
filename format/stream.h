/* Streams: frames one behind the other in a file, a pipe or memory (FORMAT.md section 11). Pure
 * functions over memory. */
#ifndef BALE_FORMAT_STREAM_H
#define BALE_FORMAT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/codecs.h"
#include "format/features.h"
#include "format/frame.h"

#define BALE_STREAM_HEAD 32u
#define BALE_STREAM_END 48u
#define BALE_STREAM_MAGIC 4u /* bytes by which head, frame and end record differ */

/* The sums over the frames read or written so far. */
struct bale_stream {
    uint64_t frames;
    uint64_t size;   /* where the last frame's raw bytes end */
    uint64_t stored; /* sum of the frame lengths */
    uint64_t chain;
    uint32_t extent;
    uint8_t features; /* BALE_FEATURE_* */
};

/* The kind of part that begins with these BALE_STREAM_MAGIC bytes. */
enum bale_stream_part { BALE_PART_HEAD, BALE_PART_FRAME, BALE_PART_END, BALE_PART_OTHER };
enum bale_stream_part bale_stream_part(const uint8_t in[static BALE_STREAM_MAGIC]);

/* Begins a stream of frames of at most extent raw bytes, a size that FORMAT.md allows, that are
 * encoded with the setting, and writes its head. */
void bale_stream_begin(struct bale_stream *stream, uint32_t extent, struct bale_setting setting,
                       uint8_t out[static BALE_STREAM_HEAD]);

/* Reads a head. BALE_OK, BALE_E_CORRUPT or BALE_E_UNSUPPORTED. */
int bale_stream_head_decode(const uint8_t in[static BALE_STREAM_HEAD], struct bale_stream *stream);

/* Adds the next frame, whose head is valid. BALE_OK, or BALE_E_CORRUPT if it may not follow. */
int bale_stream_add(struct bale_stream *stream, const struct bale_frame *frame);

/* Writes the end record. size: length of the contents, stream->size or more, at most
 * BALE_SIZE_MAX. */
void bale_stream_end_encode(const struct bale_stream *stream, uint64_t size,
                            uint8_t out[static BALE_STREAM_END]);

/* Reads the end record after the stream's frames were added. BALE_OK, BALE_E_UNSUPPORTED, or
 * BALE_E_CORRUPT, also if it does not agree with the frames. */
int bale_stream_end_decode(const uint8_t in[static BALE_STREAM_END],
                           const struct bale_stream *stream, uint64_t *size);

/* Reads an input part by part. It consists of streams one behind the other. Zero it first. */
struct bale_stream_reader {
    struct bale_stream stream;
    uint64_t base;    /* length of the contents of the streams before this one */
    uint64_t streams; /* whose end record was read */
    bool inside;      /* between a head and its end record */
};

struct bale_stream_item {
    enum bale_stream_part part; /* not BALE_PART_OTHER */
    size_t length;           /* of the part in the input: at most BALE_STREAM_HEAD for a head, else
                    * bale_frame_bound(extent, BALE_CHUNK_LOG2_MIN) */
    struct bale_frame frame; /* BALE_PART_FRAME */
    /* Place in the contents of all streams: a frame's first raw byte; with BALE_PART_END the end of
     * all so far. What lies between the end of the frame before and this reads as zeros. */
    uint64_t offset;
    const char *why; /* after an error: what is wrong, a half-sentence; static */
};

/* Reads the part that begins with in[0, length). BALE_E_SHORT: item->length bytes are needed at
 * least, and nothing was read yet. Of a frame only the head is looked at. Other errors:
 * BALE_E_CORRUPT, BALE_E_UNSUPPORTED, BALE_E_TOOBIG (contents of 2^64 bytes or more). */
int bale_stream_read(struct bale_stream_reader *reader, const uint8_t *in, size_t length,
                     struct bale_stream_item *item);

/* What to say of an input that ends here, where a part should begin or, with some > 0 bytes, go on;
 * NULL: it may end. */
const char *bale_stream_ended(const struct bale_stream_reader *reader, size_t some);

#endif
