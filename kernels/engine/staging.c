#include "kernels/engine/staging.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "format/err.h"
#include "kernels/engine/dispatch.h"

/* Pinned at a time: pinning is slow, and most users need no more than this. */
#define STEP ((size_t)32 << 20)

struct bale_staging {
    struct bale_engine *engine;
    uint8_t *memory;
    size_t size;
    size_t tried; /* bytes of it that were pinned, or could not be */
};

int bale_staging_create(struct bale_engine *engine, size_t size, struct bale_staging **out)
{
    struct bale_staging *s = calloc(1, sizeof *s);

    if (!s)
        return BALE_E_NOMEM;
    s->engine = engine;
    s->size = (size + STEP - 1) / STEP * STEP;
    s->memory = mmap(NULL, s->size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (s->memory == MAP_FAILED) {
        free(s);
        return BALE_E_NOMEM;
    }
    *out = s;
    return BALE_OK;
}

size_t bale_staging_size(const struct bale_staging *s)
{
    return s->size;
}

void *bale_staging_take(struct bale_staging *s, size_t size)
{
    return size <= s->size ? s->memory : NULL;
}

void bale_staging_pin(struct bale_staging *s, size_t size)
{
    for (; s->tried < size; s->tried += STEP)
        (void)bale_dispatch_pin(s->engine, s->memory + s->tried, STEP);
}

bool bale_staging_is_touched(const struct bale_staging *s)
{
    struct bale_dispatch_stats stats;

    bale_dispatch_stats(s->engine, &stats);
    return stats.unable > 0 || stats.device.lost;
}

void bale_staging_destroy(struct bale_staging *s, bool touched)
{
    if (!s)
        return;
    if (!touched && !bale_dispatch_hangs())
        munmap(s->memory, s->size);
    free(s);
}
