#include "fs/cache/parked.h"

#include <stddef.h>

#define BUCKETS 64u /* users in one of them share a turn */

struct bale_parked_write *bale_parked_take_turns(struct bale_parked_write *writes)
{
    struct bale_parked_write *first[BUCKETS] = {NULL}, **end[BUCKETS];
    struct bale_parked_write *ordered = NULL, **last = &ordered;
    size_t left = 0;

    for (size_t i = 0; i < BUCKETS; i++)
        end[i] = &first[i];
    for (struct bale_parked_write *next; writes; writes = next, left++) {
        size_t i = writes->user % BUCKETS;
        next = writes->next;
        writes->next = NULL;
        *end[i] = writes;
        end[i] = &writes->next;
    }
    for (size_t i = 0; left > 0; i = (i + 1) % BUCKETS) {
        if (!first[i])
            continue;
        *last = first[i];
        last = &first[i]->next;
        first[i] = first[i]->next;
        left--;
    }
    *last = NULL;
    return ordered;
}
