/* A larger default for a volume with a GPU, whose batches are large. */
#ifndef BALE_FS_CACHE_GROW_H
#define BALE_FS_CACHE_GROW_H

#include "fs/cache/volume_state.h"

/* Raises the cap of memory to bale_memory_gpu_cap(), and with it the reserve and the limit of dirty
 * data, unless the user has set the cap. The mounts of one user share what there is for that: 1/16
 * of the memory. Any thread, once; makes system calls on the store. */
void bale_volume_grow(struct bale_volume *volume);

/* The same on the pool, if grow_due is set. The flusher calls it again and again. */
void bale_volume_grow_if_due(struct bale_volume *volume);

#endif
