/* One flush of a file: its dirty extents become frames, which are written and committed. */
#ifndef BALE_FS_CACHE_FLUSH_H
#define BALE_FS_CACHE_FLUSH_H

#include "fs/cache/change.h"

/* The rest of a change, once what was dirty is committed. Set by the change's kind (change_run.c);
 * called once, with change->error set, before bale_flush_run returns or later from a pool thread;
 * no lock held. Owns the change again. */
typedef void bale_flush_then(struct bale_change *change, struct bale_scratch *scratch);

/* Flushes as the running change. The caller must not use the change until `then` is called. On a
 * pool thread, no lock held. */
void bale_flush_run(struct bale_change *change, struct bale_scratch *scratch,
                    bale_flush_then *then);

#endif
