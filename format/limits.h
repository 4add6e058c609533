/* Limits of the format (FORMAT.md sections 4 to 6 and 10). Sizes in bytes. */
#ifndef BALE_FORMAT_LIMITS_H
#define BALE_FORMAT_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#define BALE_ROOT_SIZE 112u
#define BALE_SLOTS 2u
#define BALE_DATA_START (BALE_SLOTS * BALE_ROOT_SIZE)

#define BALE_EXTENT_MIN (16u << 10)
#define BALE_EXTENT_MAX (64u << 20)
#define BALE_EXTENT_DEFAULT (128u << 10)
#define BALE_EXTENT_STEP 4096u
#define BALE_EXTENT_WITH_PART (1u << 20) /* of new files whose codec has an extent part */

#define BALE_CHUNK_LOG2_MIN 12
#define BALE_CHUNK_LOG2_MAX 26
#define BALE_CHUNK_LOG2_DEFAULT 16
/* Chunks of the codecs for fields consist of cells, which are hashed one by one. No chunk of such a
 * codec has more than BALE_CELLS_MAX. */
#define BALE_CELL (1u << 16)
#define BALE_CELLS_MAX 16u

#define BALE_HASH_SIZE 8u

#define BALE_PAGE_MAX 4096u
#define BALE_PAGE_LEAF_RECORDS 84u
#define BALE_PAGE_INNER_RECORDS 112u
#define BALE_HEIGHT_MAX 8
#define BALE_HEIGHT_SETTINGS 254
#define BALE_HEIGHT_DIRECT 255

#define BALE_UNWRITTEN_MAX (1u << 30)
#define BALE_SIZE_MAX INT64_MAX

static inline bool bale_extent_is_valid(uint64_t extent)
{
    return extent >= BALE_EXTENT_MIN && extent <= BALE_EXTENT_MAX && extent % BALE_EXTENT_STEP == 0;
}

/* Whether a chunk may have this size. */
static inline bool bale_chunk_is_valid(uint64_t chunk)
{
    return chunk >= UINT64_C(1) << BALE_CHUNK_LOG2_MIN &&
           chunk <= UINT64_C(1) << BALE_CHUNK_LOG2_MAX && (chunk & (chunk - 1)) == 0;
}

#endif
