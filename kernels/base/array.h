/* Arrays that grow by doubling. */
#ifndef BALE_KERNELS_BASE_ARRAY_H
#define BALE_KERNELS_BASE_ARRAY_H

#include <stddef.h>
#include <stdlib.h>

#define BALE_ARRAY_FIRST 16u /* elements that the first allocation has room for */

/* Returns array, moved if necessary, with room for one element after the first count; *capacity is
 * the number of elements for which there is room. size is the size of an element. NULL: no memory;
 * array and *capacity are unchanged. */
static inline void *bale_array_grow(void *array, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return array;
    size_t larger = *capacity > 0 ? *capacity * 2 : BALE_ARRAY_FIRST;
    void *grown = realloc(array, larger * size);
    if (grown)
        *capacity = larger;
    return grown;
}

#endif
