/* Staging: pinned host memory for a user of a GPU engine that has none of its own. */
#ifndef BALE_KERNELS_ENGINE_STAGING_H
#define BALE_KERNELS_ENGINE_STAGING_H

#include <stddef.h>

#include "kernels/engine/engine.h"

#define BALE_STAGING_DEFAULT ((size_t)256 << 20)

struct bale_staging;

/* Reserves addresses for size bytes for an engine of kernels/engine/dispatch.h; no memory is
 * used yet. BALE_OK or BALE_E_NOMEM. */
int bale_staging_create(struct bale_engine *engine, size_t size, struct bale_staging **staging);

size_t bale_staging_size(const struct bale_staging *staging);

/* The first size bytes, the same memory each time. NULL: the staging is smaller. */
void *bale_staging_take(struct bale_staging *staging, size_t size);

/* Pins the first size bytes as far as possible; the CPU does the items in the rest. The engine's
 * GPU must be open. May take long. One thread at a time. */
void bale_staging_pin(struct bale_staging *staging, size_t size);

/* Whether a device may still access the memory. Call it before the engine is destroyed. */
bool bale_staging_is_touched(const struct bale_staging *staging);

/* After the engine was destroyed. touched, the result of bale_staging_is_touched: the memory
 * stays mapped until the process ends. NULL is fine. */
void bale_staging_destroy(struct bale_staging *staging, bool touched);

#endif
