/* A leaf and an inner page, as bytes and as what they say. */
#ifndef BALE_TESTS_UNIT_FORMAT_PAGE_DATA_H
#define BALE_TESTS_UNIT_FORMAT_PAGE_DATA_H

#include <stdlib.h>
#include <string.h>

#include "format/page.h"
#include "tests/check.h"
#include "tests/support/offsets.h"

enum {
    LEAF = PAGE_WITHOUT_RECORDS + 3 * SEGMENT_SIZE,
    INNER = PAGE_WITHOUT_RECORDS + 2 * CHILD_SIZE,
    EXTENT = 1 << 20,
    /* Where records begin. */
    S0 = PAGE_AT_RECORDS,
    S1 = S0 + SEGMENT_SIZE,
    S2 = S1 + SEGMENT_SIZE,
    C0 = PAGE_AT_RECORDS,
    C1 = C0 + CHILD_SIZE,
};

#define ID UINT64_C(0x4142434445464748)
#define GENERATION UINT64_C(0x3132333435363738) /* of both pages */
#define FRAME_OFFSET UINT64_C(0x0102030405010203)
#define FRAME_POSITION UINT64_C(0x1112131415161718)
#define FRAME_GENERATION UINT64_C(0x2122232425262728)
#define TOP (UINT64_C(1) << 63)

/* Two parts of one frame and an unwritten segment. */
static const uint8_t leaf_bytes[LEAF] = {
    0x42, 0x49, 0x44, 0x58, 0x01, 0x01, 0x03, 0x00, /* magic, version, height, count */
    0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31, /* generation */
    0x48, 0x47, 0x46, 0x45, 0x44, 0x43, 0x42, 0x41, /* container id */
    0x45, 0x43, 0x01, 0x05, 0x04, 0x03, 0x02, 0x01, /* offset */
    0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, /* position */
    0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21, /* generation */
    0x62, 0x61, 0x00, 0x00, 0x42, 0x41, 0x00, 0x00, /* length, skip */
    0x54, 0x53, 0x00, 0x00, 0x03, 0x0c, 0x00, 0x00, /* frame length, codec, chunk log2, flags, 0 */
    0x78, 0x77, 0x76, 0x75, 0x74, 0x73, 0x72, 0x71, /* checksum of the frame */
    0x03, 0xb2, 0x01, 0x05, 0x04, 0x03, 0x02, 0x01, /* offset */
    0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, /* position */
    0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21, /* generation */
    0x00, 0x10, 0x00, 0x00, 0x00, 0xb0, 0x00, 0x00, /* length, skip */
    0x54, 0x53, 0x00, 0x00, 0x03, 0x0c, 0x00, 0x00, /* frame length, codec, chunk log2, flags, 0 */
    0x78, 0x77, 0x76, 0x75, 0x74, 0x73, 0x72, 0x71, /* checksum of the frame */
    0x03, 0xc2, 0x01, 0x05, 0x04, 0x03, 0x02, 0x01, /* offset */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* position */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* generation */
    0x00, 0x00, 0x00, 0x40, 0x00, 0x00, 0x00, 0x00, /* length, skip */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, /* frame length, codec, chunk log2, flags, 0 */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* checksum of the frame */
    0xab, 0xfb, 0x3d, 0x02, 0x60, 0x66, 0xbd, 0xe5, /* checksum */
};

static const struct bale_page leaf_page = {
    .generation = GENERATION,
    .container_id = ID,
    .checksum = UINT64_C(0xe5bd6660023dfbab),
    .count = 3,
    .height = 1,
    .segments = {{.offset = FRAME_OFFSET + 0x4142,
                  .position = FRAME_POSITION,
                  .generation = FRAME_GENERATION,
                  .checksum = UINT64_C(0x7172737475767778),
                  .length = 0x6162,
                  .skip = 0x4142,
                  .frame_length = 0x5354,
                  .codec = 3,
                  .chunk_log2 = 12},
                 {.offset = FRAME_OFFSET + 0xb000,
                  .position = FRAME_POSITION,
                  .generation = FRAME_GENERATION,
                  .checksum = UINT64_C(0x7172737475767778),
                  .length = 0x1000,
                  .skip = 0xb000,
                  .frame_length = 0x5354,
                  .codec = 3,
                  .chunk_log2 = 12},
                 {.offset = FRAME_OFFSET + 0xc000,
                  .length = 1 << 30,
                  .flags = BALE_SEGMENT_UNWRITTEN}},
};

static const uint8_t inner_bytes[INNER] = {
    0x42, 0x49, 0x44, 0x58, 0x01, 0x03, 0x02, 0x00, /* magic, version, height, count */
    0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31, /* generation */
    0x48, 0x47, 0x46, 0x45, 0x44, 0x43, 0x42, 0x41, /* container id */
    0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, /* first offset */
    0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, /* position */
    0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21, /* generation */
    0xe0, 0x0f, 0x00, 0x00,                         /* length */
    0x58, 0x57, 0x56, 0x55, 0x54, 0x53, 0x52, 0x51, /* checksum */
    0x09, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, /* first offset */
    0x68, 0x67, 0x66, 0x65, 0x64, 0x63, 0x62, 0x61, /* position */
    0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31, /* generation */
    0x44, 0x00, 0x00, 0x00,                         /* length */
    0x78, 0x77, 0x76, 0x75, 0x74, 0x73, 0x72, 0x71, /* checksum */
    0xbc, 0x30, 0xfa, 0x57, 0x61, 0x45, 0x38, 0xb6, /* checksum */
};

static const struct bale_page inner_page = {
    .generation = GENERATION,
    .container_id = ID,
    .checksum = UINT64_C(0xb638456157fa30bc),
    .count = 2,
    .height = 3,
    .children = {{.first = UINT64_C(0x0102030405060708),
                  .generation = FRAME_GENERATION,
                  .ref = {.position = FRAME_POSITION,
                          .length = 32 + 36 * 112,
                          .checksum = UINT64_C(0x5152535455565758)}},
                 {.first = UINT64_C(0x0102030405060709),
                  .generation = GENERATION,
                  .ref = {.position = UINT64_C(0x6162636465666768),
                          .length = 32 + 36,
                          .checksum = UINT64_C(0x7172737475767778)}}},
};

/* As narrow as the pages above allow: one less anywhere refuses them. */
static const struct bale_page_context leaf_ctx = {
    .container_id = ID,
    .generation = GENERATION,
    .end = FRAME_POSITION + 0x5354,
    .size = FRAME_OFFSET + 0xc000 + (1 << 30),
    .extent = EXTENT,
};
static const struct bale_page_context inner_ctx = {
    .container_id = ID,
    .generation = GENERATION,
    .end = UINT64_C(0x6162636465666768) + 68,
    .size = UINT64_C(0x010203040506070a),
    .extent = EXTENT,
};

/* The page lies at 224; its bytes are copied so that a sanitizer sees a byte too many. */
static inline int page_decode(const uint8_t *bytes, size_t length, uint64_t checksum,
                              const struct bale_page_context *ctx, struct bale_page *page)
{
    struct bale_ref ref = {.position = 224, .length = (uint32_t)length, .checksum = checksum};
    uint8_t *exact = malloc(length > 0 ? length : 1);
    int err;

    REQUIRE(exact != NULL);
    memcpy(exact, bytes, length);
    err = bale_page_decode(exact, &ref, ctx, page);
    free(exact);
    return err;
}

#endif
