#include "format/hash_wide.h"

#ifdef BALE_HASH_WIDE /* compiled with -mavx2 */
#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t bale_hash_wide(const void *data, size_t length)
{
    return XXH3_64bits(data, length);
}
#endif
