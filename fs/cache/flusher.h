/* The thread that writes out what is old, or what takes too much memory. */
#ifndef BALE_FS_CACHE_FLUSHER_H
#define BALE_FS_CACHE_FLUSHER_H

#include "fs/cache/volume_state.h"

/* Starts the thread. BALE_E_NOMEM. */
int bale_flusher_start(struct bale_volume *volume, struct bale_flusher **flusher);
/* Ends it. */
void bale_flusher_stop(struct bale_flusher *flusher);
/* What the thread does whenever it is kicked: writes out what is due, and if space has come that
 * writes lack, takes the reserve again and has them look. */
void bale_flusher_look(struct bale_volume *volume);
/* Gives free pages back to the system, and pinned ones that the GPU does not need now if memory is
 * scarce. The thread does it every few seconds. */
void bale_flusher_give_back(struct bale_volume *volume);
/* After the pool has ended. NULL is fine. */
void bale_flusher_free(struct bale_flusher *flusher);

#endif
