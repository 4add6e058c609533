/* Index pages (FORMAT.md section 5). Pure functions over memory. */
#ifndef BALE_FORMAT_PAGE_H
#define BALE_FORMAT_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/frame.h"
#include "format/limits.h"
#include "format/root.h"

enum { BALE_SEGMENT_UNWRITTEN = 1 << 0 };

/* A leaf record: file bytes [offset, offset + length) are raw bytes [skip, skip + length) of the
 * frame at position. */
struct bale_segment {
    uint64_t offset;
    uint64_t position;
    uint64_t generation; /* of the frame */
    uint64_t checksum;   /* the frame's head checksum */
    uint32_t length;
    uint32_t skip;
    uint32_t frame_length;
    uint8_t codec;
    uint8_t chunk_log2;
    uint8_t flags; /* BALE_SEGMENT_* */
};

/* An inner record. */
struct bale_child {
    uint64_t first; /* lower bound of the offsets below */
    uint64_t generation;
    struct bale_ref ref;
};

struct bale_page {
    uint64_t generation;
    uint64_t container_id;
    uint64_t checksum;
    uint16_t count;
    uint8_t height;
    union {
        struct bale_segment segments[BALE_PAGE_LEAF_RECORDS]; /* height 1 */
        struct bale_child children[BALE_PAGE_INNER_RECORDS];  /* height > 1 */
    };
};

/* What a page is validated against; extent, end and features come from the root. */
struct bale_page_context {
    uint64_t container_id;
    uint64_t generation; /* greatest allowed */
    uint64_t end;
    uint64_t size;
    uint32_t extent;
    uint8_t features; /* BALE_FEATURE_* */
};

/* Length of a page with count records. */
size_t bale_page_length(uint8_t height, uint16_t count);

/* Number of records of a page of that length; 0: no page of that height has it. */
uint16_t bale_page_count(uint8_t height, size_t length);

/* Writes bale_page_length() bytes and sets page->checksum. */
size_t bale_page_encode(struct bale_page *page, uint8_t out[static BALE_PAGE_MAX]);

/* Reads and validates a page of exactly ref->length bytes: checksum (also against ref->checksum),
 * counts, order, and every record against ctx; the page and what it refers to must not overlap.
 * What only the parent knows is the caller's to check: height, generation (that of the parent's
 * record), and the bounds of the offsets below. BALE_OK, BALE_E_CORRUPT, BALE_E_UNSUPPORTED. */
int bale_page_decode(const uint8_t *in, const struct bale_ref *ref,
                     const struct bale_page_context *ctx, struct bale_page *page);

/* One segment against ctx (also used for the segment a direct root implies). BALE_OK or
 * BALE_E_CORRUPT. */
int bale_segment_check(const struct bale_segment *segment, const struct bale_page_context *ctx);

/* The segment that refers to a whole frame of frame_length bytes at position. Takes generation and
 * head checksum from frame, so its head must have been encoded, decoded or stamped. */
struct bale_segment bale_segment_of_frame(const struct bale_frame *frame, uint64_t position,
                                          uint32_t frame_length);

/* Whether two segments refer to the same frame and agree about it. */
bool bale_segment_same_frame(const struct bale_segment *a, const struct bale_segment *b);

#endif
