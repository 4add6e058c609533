#include "format/hash.h"

#include "format/hash_wide.h"

/* The whole of xxHash is taken in here and in hash_wide.c: no other file sees it, and nothing is
 * left to link. */
#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t bale_hash(const void *data, size_t length)
{
#ifdef BALE_HASH_WIDE
    if (length >= BALE_HASH_WIDE && __builtin_cpu_supports("avx2"))
        return bale_hash_wide(data, length);
#endif
    return XXH3_64bits(data, length);
}
