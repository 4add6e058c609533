/* Where the fields are on disk: FORMAT.md sections 4 to 6 and 11, written out so that a test does
 * not lean on the code that it tests. The tests of each layout (tests/unit/format/) compare the
 * code's bytes with bytes made by hand. */
#ifndef BALE_TESTS_SUPPORT_OFFSETS_H
#define BALE_TESTS_SUPPORT_OFFSETS_H

#include "format/frame.h"
#include "format/hash.h"
#include "format/page.h"
#include "format/root.h"
#include "format/stream.h"

/* Within a root slot. */
enum {
    ROOT_AT_MAGIC = 0,
    ROOT_AT_VERSION = 4,
    ROOT_AT_FLAGS = 5,
    ROOT_AT_MODE = 6,
    ROOT_AT_GENERATION = 8,
    ROOT_AT_DURABLE = 16,
    ROOT_AT_SESSION = 24,
    ROOT_AT_EXTENT = 28,
    ROOT_AT_SIZE = 32,
    ROOT_AT_END = 40,
    ROOT_AT_TREE_POSITION = 48,
    ROOT_AT_TREE_LENGTH = 56,
    ROOT_AT_HEIGHT = 60,
    ROOT_AT_CODEC = 61,
    ROOT_AT_PARAMETER = 62,
    ROOT_AT_TREE_CHECKSUM = 64,
    ROOT_AT_STORED = 72,
    ROOT_AT_CONTAINER_ID = 80,
    ROOT_AT_FEATURES = 88, /* two tags */
    ROOT_AT_FEATURE_2 = 92,
    ROOT_AT_MTIME = 96,
    ROOT_AT_CHECKSUM = 104,
};
_Static_assert(ROOT_AT_CHECKSUM + BALE_HASH_SIZE == BALE_ROOT_SIZE,
               "a root ends with its checksum");

/* Within an index page. Its records are followed by its checksum. */
enum {
    PAGE_AT_MAGIC = 0,
    PAGE_AT_VERSION = 4,
    PAGE_AT_HEIGHT = 5,
    PAGE_AT_COUNT = 6,
    PAGE_AT_GENERATION = 8,
    PAGE_AT_CONTAINER_ID = 16,
    PAGE_AT_RECORDS = 24,
    PAGE_WITHOUT_RECORDS = PAGE_AT_RECORDS + BALE_HASH_SIZE,
};

/* Within a leaf's record. */
enum {
    SEGMENT_AT_OFFSET = 0,
    SEGMENT_AT_POSITION = 8,
    SEGMENT_AT_GENERATION = 16,
    SEGMENT_AT_LENGTH = 24,
    SEGMENT_AT_SKIP = 28,
    SEGMENT_AT_FRAME_LENGTH = 32,
    SEGMENT_AT_CODEC = 36,
    SEGMENT_AT_CHUNK_LOG2 = 37,
    SEGMENT_AT_FLAGS = 38,
    SEGMENT_AT_ZERO = 39,
    SEGMENT_AT_CHECKSUM = 40,
    SEGMENT_SIZE = 48,
};
_Static_assert(PAGE_WITHOUT_RECORDS + SEGMENT_SIZE * BALE_PAGE_LEAF_RECORDS <= BALE_PAGE_MAX &&
                   PAGE_WITHOUT_RECORDS + SEGMENT_SIZE * (BALE_PAGE_LEAF_RECORDS + 1) >
                       BALE_PAGE_MAX,
               "a leaf has the most records that fit");

/* Within an inner page's record. */
enum {
    CHILD_AT_OFFSET = 0,
    CHILD_AT_POSITION = 8,
    CHILD_AT_GENERATION = 16,
    CHILD_AT_LENGTH = 24,
    CHILD_AT_CHECKSUM = 28,
    CHILD_SIZE = 36,
};
_Static_assert(PAGE_WITHOUT_RECORDS + CHILD_SIZE * BALE_PAGE_INNER_RECORDS <= BALE_PAGE_MAX &&
                   PAGE_WITHOUT_RECORDS + CHILD_SIZE * (BALE_PAGE_INNER_RECORDS + 1) >
                       BALE_PAGE_MAX,
               "an inner page has the most records that fit");

/* Within a frame's head. The table's entries, one for each chunk, are followed by its checksum. */
enum {
    FRAME_AT_MAGIC = 0,
    FRAME_AT_VERSION = 4,
    FRAME_AT_CODEC = 5,
    FRAME_AT_CHUNK_LOG2 = 6,
    FRAME_AT_FLAGS = 7,
    FRAME_AT_PARAMETER = 8,
    FRAME_AT_ZERO = 10,
    FRAME_AT_RAW_LENGTH = 12,
    FRAME_AT_OFFSET = 16,
    FRAME_AT_GENERATION = 24,
    FRAME_AT_RAW_CHECKSUM = 32,
    FRAME_AT_STORED_LENGTH = 40,
    FRAME_AT_TABLE = 44,
    FRAME_ENTRY_SIZE = 12, /* stored length, then checksum */
    FRAME_ENTRY_AT_CHECKSUM = 4,
    FRAME_HEAD_MIN = FRAME_AT_TABLE + BALE_HASH_SIZE, /* with an empty table */
};

/* Within a stream's head, and within its end record. */
enum {
    STREAM_AT_VERSION = 4,
    STREAM_AT_ZERO = 5,
    STREAM_AT_EXTENT = 8,
    STREAM_AT_ZERO_2 = 12,
    STREAM_AT_FEATURES = 16,
    STREAM_AT_CHECKSUM = 24,

    STREAM_END_AT_ZERO = 4,
    STREAM_END_AT_FRAMES = 8,
    STREAM_END_AT_SIZE = 16,
    STREAM_END_AT_STORED = 24,
    STREAM_END_AT_CHAIN = 32,
    STREAM_END_AT_CHECKSUM = 40,
};
_Static_assert(STREAM_AT_CHECKSUM + BALE_HASH_SIZE == BALE_STREAM_HEAD,
               "a stream's head ends with its checksum");
_Static_assert(STREAM_END_AT_CHECKSUM + BALE_HASH_SIZE == BALE_STREAM_END,
               "an end record ends with its checksum");

/* A field: where it is, and how many bytes it has. FIELD_OF: in the structure at start. */
#define FIELD(at) (at), at##_BYTES
#define FIELD_OF(start, at) (start) + (at), at##_BYTES
enum {
    ROOT_AT_VERSION_BYTES = 1,
    ROOT_AT_FLAGS_BYTES = 1,
    ROOT_AT_MODE_BYTES = 2,
    ROOT_AT_GENERATION_BYTES = 8,
    ROOT_AT_DURABLE_BYTES = 8,
    ROOT_AT_SESSION_BYTES = 4,
    ROOT_AT_EXTENT_BYTES = 4,
    ROOT_AT_SIZE_BYTES = 8,
    ROOT_AT_END_BYTES = 8,
    ROOT_AT_TREE_POSITION_BYTES = 8,
    ROOT_AT_TREE_LENGTH_BYTES = 4,
    ROOT_AT_HEIGHT_BYTES = 1,
    ROOT_AT_CODEC_BYTES = 1,
    ROOT_AT_PARAMETER_BYTES = 2,
    ROOT_AT_TREE_CHECKSUM_BYTES = 8,
    ROOT_AT_STORED_BYTES = 8,
    ROOT_AT_CONTAINER_ID_BYTES = 8,
    ROOT_AT_FEATURES_BYTES = 4,
    ROOT_AT_FEATURE_2_BYTES = 4,
    ROOT_AT_MTIME_BYTES = 8,
    PAGE_AT_VERSION_BYTES = 1,
    PAGE_AT_HEIGHT_BYTES = 1,
    PAGE_AT_COUNT_BYTES = 2,
    PAGE_AT_GENERATION_BYTES = 8,
    PAGE_AT_CONTAINER_ID_BYTES = 8,
    SEGMENT_AT_OFFSET_BYTES = 8,
    SEGMENT_AT_POSITION_BYTES = 8,
    SEGMENT_AT_GENERATION_BYTES = 8,
    SEGMENT_AT_LENGTH_BYTES = 4,
    SEGMENT_AT_SKIP_BYTES = 4,
    SEGMENT_AT_FRAME_LENGTH_BYTES = 4,
    SEGMENT_AT_CODEC_BYTES = 1,
    SEGMENT_AT_CHUNK_LOG2_BYTES = 1,
    SEGMENT_AT_FLAGS_BYTES = 1,
    SEGMENT_AT_ZERO_BYTES = 1,
    SEGMENT_AT_CHECKSUM_BYTES = 1,
    CHILD_AT_OFFSET_BYTES = 8,
    CHILD_AT_POSITION_BYTES = 8,
    CHILD_AT_GENERATION_BYTES = 8,
    CHILD_AT_LENGTH_BYTES = 4,
    CHILD_AT_CHECKSUM_BYTES = 8,
    FRAME_AT_VERSION_BYTES = 1,
    FRAME_AT_CODEC_BYTES = 1,
    FRAME_AT_CHUNK_LOG2_BYTES = 1,
    FRAME_AT_FLAGS_BYTES = 1,
    FRAME_AT_PARAMETER_BYTES = 2,
    FRAME_AT_ZERO_BYTES = 2,
    FRAME_AT_RAW_LENGTH_BYTES = 4,
    FRAME_AT_OFFSET_BYTES = 8,
    FRAME_AT_GENERATION_BYTES = 8,
    FRAME_AT_STORED_LENGTH_BYTES = 4,
    FRAME_AT_TABLE_BYTES = 4,
};

#endif
