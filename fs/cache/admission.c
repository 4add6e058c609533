#include "fs/cache/admission.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "format/err.h"
#include "format/limits.h"

struct bale_admission {
    unsigned bits;
    atomic_uint_least32_t marks[]; /* 2^bits; a chunk overwrites another one with the same index */
};

int bale_admission_create(uint64_t memory, struct bale_admission **out)
{
    unsigned bits = 8;

    while ((uint64_t)1 << bits < memory >> BALE_CHUNK_LOG2_DEFAULT)
        bits++;
    bits++;
    struct bale_admission *filter = calloc(1, sizeof *filter + (sizeof filter->marks[0] << bits));
    if (!filter)
        return BALE_E_NOMEM;
    filter->bits = bits;
    *out = filter;
    return BALE_OK;
}

void bale_admission_destroy(struct bale_admission *filter)
{
    free(filter);
}

bool bale_admission_admits(struct bale_admission *filter, const void *file, uint64_t offset)
{
    uint64_t key = ((uint64_t)(uintptr_t)file << 20) + (offset >> BALE_CHUNK_LOG2_DEFAULT);

    key *= 0x9e3779b97f4a7c15u;
    key ^= key >> 32;
    key *= 0x9e3779b97f4a7c15u;
    uint32_t mark = (uint32_t)key | 1; /* 0 means empty */
    return atomic_exchange_explicit(&filter->marks[key >> (64 - filter->bits)], mark,
                                    memory_order_relaxed) == mark;
}
