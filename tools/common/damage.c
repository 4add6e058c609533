/* The ranges of a file that cannot be read. */
#include <inttypes.h>
#include <stdlib.h>

#include "tools/common/contents.h"
#include "tools/common/message.h"

void bale_damage_init(struct bale_damage *damage)
{
    *damage = (struct bale_damage){.lock = PTHREAD_MUTEX_INITIALIZER};
}

void bale_damage_clear(struct bale_damage *damage)
{
    free(damage->faults);
    pthread_mutex_destroy(&damage->lock);
    bale_damage_init(damage);
}

bool bale_damage_any(struct bale_damage *damage)
{
    pthread_mutex_lock(&damage->lock);
    bool any = damage->count > 0 || damage->overflow;
    pthread_mutex_unlock(&damage->lock);
    return any;
}

static int by_offset(const void *a, const void *b)
{
    const struct bale_fault *one = a, *other = b;

    return (one->offset > other->offset) - (one->offset < other->offset);
}

void bale_damage_report(struct bale_damage *damage, const char *path, const char *end)
{
    const struct bale_fault *faults = damage->faults;
    size_t i = 0;

    if (damage->count > 0)
        qsort(damage->faults, damage->count, sizeof *faults, by_offset);
    while (i < damage->count) {
        const char *what = faults[i].what;
        uint64_t from = faults[i].offset, to = from;

        for (; i < damage->count && faults[i].offset <= to; i++)
            if (faults[i].offset + faults[i].length > to)
                to = faults[i].offset + faults[i].length;
        bale_message("%s: bytes %" PRIu64 " to %" PRIu64 " are damaged (%s)%s", path, from, to,
                     what, end);
    }
    if (damage->overflow)
        bale_message("%s: has more damage than fits in memory: see balefs fsck --data", path);
}
