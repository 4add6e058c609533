/* The reserve: space on the backing store that is kept for data that write() has acknowledged, and
 * commits that fall back on it. */
#ifndef BALE_FS_CACHE_RESERVE_H
#define BALE_FS_CACHE_RESERVE_H

#include "fs/cache/file_state.h"

/* Sets the limits of dirty data, and reserves the space that they need; called when the volume is
 * made. */
void bale_reserve_make(struct bale_volume *volume);
/* After the memory's cap has grown: reserves more space, and then raises the limit of dirty data to
 * what that backs. */
void bale_reserve_grow(struct bale_volume *volume);
/* The most that may be dirty now: what the reserve backs, but with a GPU not more than half of what
 * is pinned, or 512 MiB if that is more. The other half is for what the GPU makes of it, and what
 * lies elsewhere is work for the processors. Where memory= was given, that holds only while less is
 * pinned than should be by now. So the limit falls when a GPU opens, maybe below what is dirty. */
uint64_t bale_reserve_dirty_limit(const struct bale_volume *volume);
/* Whether it is time to write out what there is. */
bool bale_reserve_is_pressed(struct bale_volume *volume);
/* Call it with the error of writing to the file fd. If the reserve can make up for the lack of
 * space, gives it back to the backing store; from then on, writes fail. True: there is space, try
 * again. For BALE_E_DQUOT, and for BALE_E_NOSPACE where a project has a limit, gives the reserve up
 * only if it counts in the same quota, because it also backs other users' dirty data. */
bool bale_reserve_serves(struct bale_volume *volume, int err, int fd);
/* Whether the file fd may count in the same quota as the reserve: it has the same owner, group or
 * project. Makes system calls on the store. */
bool bale_reserve_concerns(const struct bale_volume *volume, int fd);
/* Reserves the space again if the backing store has it; then writes go on. No file's lock is
 * held. */
void bale_reserve_restore(struct bale_volume *volume);
/* A removed file gives its space back when its descriptors are closed, a moment later. note_freed:
 * a file was removed. may_come: space may still come back; a write that has found none since
 * since_ms waits for the flusher's next look. Any thread. */
void bale_reserve_note_freed(struct bale_volume *volume);
bool bale_reserve_may_come(const struct bale_volume *volume, uint64_t since_ms);

/* Commits the container changes of the open transaction. On lack of space takes the reserve and
 * tries again. No file's lock is held. */
int bale_reserve_commit(struct bale_file *file);

#endif
