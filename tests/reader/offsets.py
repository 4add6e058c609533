"""Where the fields are on disk: FORMAT.md sections 4 to 6, for tests that change bytes. tests/support/offsets.h is the
same in C."""

SLOT = 112                  # bytes of a root slot
DATA_START = 2 * SLOT
LEAF_RECORDS = 84           # the most that a page has
INNER_RECORDS = 112

# Within a root slot.
ROOT_AT_VERSION = 4
ROOT_AT_DURABLE = 16
ROOT_AT_END = 40
ROOT_AT_CHECKSUM = 104

# Within an index page.
PAGE_AT_HEIGHT = 5

# Within a frame's head. The table's entries are followed by the head's checksum.
FRAME_AT_CODEC = 5
FRAME_AT_CHUNK_LOG2 = 6
FRAME_AT_RAW_LENGTH = 12
FRAME_AT_STORED_LENGTH = 40
FRAME_AT_TABLE = 44
FRAME_ENTRY_SIZE = 12
