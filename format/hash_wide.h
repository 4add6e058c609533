/* bale_hash with vectors that not every x86-64 has. */
#ifndef BALE_FORMAT_HASH_WIDE_H
#define BALE_FORMAT_HASH_WIDE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __x86_64__
#define BALE_HASH_WIDE ((size_t)1024)                     /* from here on it is worth it */
uint64_t bale_hash_wide(const void *data, size_t length); /* needs AVX2 */
#endif

#endif
