/* The format's checksum: XXH3-64, seed 0 (FORMAT.md section 1). */
#ifndef BALE_FORMAT_HASH_H
#define BALE_FORMAT_HASH_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of all structures on disk (FORMAT.md section 1): XXH3 of 64 bits, with seed 0. */
uint64_t bale_hash(const void *data, size_t length);

#endif
