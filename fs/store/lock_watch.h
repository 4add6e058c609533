/* Keeps a writer's lock and the store's own files where they are looked for, and notices when
 * another writer has got in. Only for fs/store and its tests. */
#ifndef BALE_FS_STORE_LOCK_WATCH_H
#define BALE_FS_STORE_LOCK_WATCH_H

#include <stdbool.h>

struct bale_store;

/* If nobody has looked for so long, it is not known whose the store is. Less than
 * bale_store_platform.await_ms, so that a holder makes its lock again while a process that found
 * none still waits. */
#define BALE_LOCK_PAUSE_MS 2000

/* lock_look.c. Looks once, as the watch does each second: makes again what was removed from
 * .balefs, with .balefs itself. If another process has a lock where ours should be, sets
 * store->stopped. Writes nothing if all is there. Any thread, with none of the store's locks. */
void bale_lock_look(struct bale_store *store);

/* Looks again and again, for 2 s at most, until it is known whether somebody else has the store.
 * False: it is not, or somebody has it. */
bool bale_lock_look_surely(struct bale_store *store);

/* Ends the thread that bale_store_watch has started, if any. */
void bale_lock_watch_end(struct bale_store *store);

#endif
