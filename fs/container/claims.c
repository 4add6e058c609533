#include "fs/container/claims.h"

#include <stdlib.h>

#include "format/err.h"
#include "kernels/base/array.h"

/* We allocate space in steps of 8 bytes; another writer may have used other positions. */
#define ALIGN 8u

int bale_claims_add(struct bale_claims *claims, uint64_t position, uint64_t length, uint64_t offset)
{
    struct bale_claim *grown =
        bale_array_grow(claims->claims, claims->count, &claims->capacity, sizeof *grown);

    if (!grown)
        return BALE_E_NOMEM;
    claims->claims = grown;
    claims->claims[claims->count++] =
        (struct bale_claim){.position = position, .length = length, .offset = offset};
    return BALE_OK;
}

void bale_claims_clear(struct bale_claims *claims)
{
    free(claims->claims);
    *claims = (struct bale_claims){0};
}

static int compare_claims(const void *a, const void *b)
{
    const struct bale_claim *x = a;
    const struct bale_claim *y = b;

    return (x->position > y->position) - (x->position < y->position);
}

void bale_claims_sort(struct bale_claims *claims)
{
    if (claims->count > 0)
        qsort(claims->claims, claims->count, sizeof *claims->claims, compare_claims);
}

const struct bale_claim *bale_claims_overlap(const struct bale_claims *claims, size_t *i)
{
    for (; *i + 1 < claims->count; ++*i) {
        const struct bale_claim *claim = &claims->claims[*i];

        if (claim->position + claim->length > claim[1].position)
            return claim;
    }
    return NULL;
}

int bale_claims_invert(const struct bale_claims *claims, uint64_t start, struct bale_free_map *map)
{
    uint64_t used = start; /* all claims below it are done */
    uint32_t align = ALIGN;
    uint64_t end = start;

    for (size_t i = 0; i < claims->count; i++) {
        if (claims->claims[i].position % ALIGN != 0)
            align = 1;
        end = claims->claims[i].position + claims->claims[i].length;
    }
    end = (end + align - 1) & ~(uint64_t)(align - 1);
    bale_free_map_init(map, end, align);
    for (size_t i = 0; i < claims->count; i++) {
        const struct bale_claim *claim = &claims->claims[i];
        int err = BALE_OK;

        used = (used + align - 1) & ~(uint64_t)(align - 1);
        if (claim->position > used)
            err = bale_free_map_release(map, used, claim->position - used);
        if (err != BALE_OK) {
            bale_free_map_clear(map);
            return err;
        }
        used = claim->position + claim->length;
    }
    return BALE_OK;
}
