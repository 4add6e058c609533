/* The bytes of a container that are in use: all frames and pages of a root are claims on ranges.
 * Finds overlaps and the free space. */
#ifndef BALE_FS_CONTAINER_CLAIMS_H
#define BALE_FS_CONTAINER_CLAIMS_H

#include <stddef.h>
#include <stdint.h>

#include "fs/base/free_map.h"

struct bale_claim {
    uint64_t position;
    uint64_t length;
    uint64_t offset; /* in the file, for messages */
};

struct bale_claims {
    struct bale_claim *claims;
    size_t count;
    size_t capacity;
};

/* BALE_E_NOMEM. */
int bale_claims_add(struct bale_claims *claims, uint64_t position, uint64_t length,
                    uint64_t offset);
void bale_claims_clear(struct bale_claims *claims);

/* Sorts the claims by position, which the functions below need. */
void bale_claims_sort(struct bale_claims *claims);

/* Returns the first claim from index *i on that overlaps the next one, and sets *i to its index.
 * NULL: there is none. */
const struct bale_claim *bale_claims_overlap(const struct bale_claims *claims, size_t *i);

/* Makes map the space from start on that no claim covers. The claims are sorted and do not overlap.
 * BALE_E_NOMEM: map is empty. */
int bale_claims_invert(const struct bale_claims *claims, uint64_t start, struct bale_free_map *map);

#endif
