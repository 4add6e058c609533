/* Staging: host memory that a GPU engine reads and writes where it is, for who has no memory of its own
 * that stays pinned. */
#ifndef BALE_KERNELS_ENGINE_STAGING_H
#define BALE_KERNELS_ENGINE_STAGING_H

#include <stddef.h>

#include "kernels/engine/engine.h"

#define BALE_STAGING_DEFAULT ((size_t)256 << 20)

struct bale_staging;

/* Of the engine, which kernels/engine/dispatch.h made: size bytes at most, of which none is taken yet.
 * BALE_OK or BALE_E_NOMEM. */
int bale_staging_create(struct bale_engine *engine, size_t size, struct bale_staging **staging);

size_t bale_staging_size(const struct bale_staging *staging);

/* The first size bytes, the same memory each time. NULL: it is not so large. */
void *bale_staging_take(struct bale_staging *staging, size_t size);

/* Pins these as far as they can be: what is not is the CPU's to work on. The engine's GPU is open. May
 * take long; one thread at a time. */
void bale_staging_pin(struct bale_staging *staging, size_t size);

/* Before the engine is destroyed: whether a device may still be at the memory when it is. */
bool bale_staging_is_touched(const struct bale_staging *staging);

/* After the engine was destroyed. touched: it stays mapped until the process ends. NULL is fine. */
void bale_staging_destroy(struct bale_staging *staging, bool touched);

#endif
