/* Who owns which bytes of a container: all frames and pages of a root, to find overlaps and what is
 * free. */
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

/* Orders them by position; from here on overlaps can be looked for. */
void bale_claims_sort(struct bale_claims *claims);

/* The first claim from index *i on that reaches into the next one, at least at *i itself; NULL:
 * none. *i becomes its index. */
const struct bale_claim *bale_claims_overlap(const struct bale_claims *claims, size_t *i);

/* Makes map the space from start on that no claim covers; they are sorted and do not overlap.
 * BALE_E_NOMEM. */
int bale_claims_invert(const struct bale_claims *claims, uint64_t start, struct bale_free_map *map);

#endif
