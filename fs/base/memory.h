/* The one memory cap (DESIGN 11). Extent buffers and staging come from one arena, a single mapping
 * (the memory that a GPU engine pins); everything else the daemon holds in bulk (inode table, index
 * pages, transport buffers) is only counted here, and takes away from what the arena may hand out.
 * Any thread. */
#ifndef BALE_FS_BASE_MEMORY_H
#define BALE_FS_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bale_memory;

/* cap: bytes, 32 MiB or more. */
int bale_memory_create(uint64_t cap, struct bale_memory **memory);
void bale_memory_destroy(struct bale_memory *memory);

/* A page-aligned block of size bytes, rounded up to pages. NULL: the cap is reached. give takes
 * back a block, or the page-aligned tail of one, with the size it was taken with. */
void *bale_memory_allocate(struct bale_memory *memory, size_t size);
void bale_memory_free(struct bale_memory *memory, void *block, size_t size);

/* As give, but of what a device may write to yet: while one may (bale_memory_set_quarantine) it stays taken. */
void bale_memory_quarantine(struct bale_memory *memory, void *block, size_t size);

/* Whether a device may write to what is set aside; if none may, all of it is free again. With one that
 * may, destroy leaves the memory as it is. */
void bale_memory_set_quarantine(struct bale_memory *memory, bool may);

/* Returns the pages of free blocks to the kernel; called now and then. */
void bale_memory_trim(struct bale_memory *memory);

/* From now on the arena is pinned, all of it or the part that was ever used and as much again, in
 * steps of 32 MiB, by a thread that calls pin for one after the other and ends when pin fails. What is pinned stays
 * resident until the process ends, destroy or not: a device may read it yet; bale_memory_trim leaves
 * it alone. Once. pin_end returns when pin is
 * called no more; begin does nothing after it. A pin that hangs is left behind, and with it all of the
 * memory, destroy or not; what arg points to must stay as well. NULL is fine. */
void bale_memory_pin_begin(struct bale_memory *memory, bool all,
                           int (*pin)(void *arg, void *start, size_t size), void *arg);
void bale_memory_pin_end(struct bale_memory *memory);

/* Counts bytes held elsewhere; negative when released. */
void bale_memory_count(struct bale_memory *memory, int64_t bytes);

uint64_t bale_memory_cap(const struct bale_memory *memory);
uint64_t bale_memory_used(struct bale_memory *memory); /* arena and counted */

/* Bytes that the cgroup and the machine allow this process. */
uint64_t bale_memory_limit(void);

/* The default cap: the smaller of 1 GiB and 1/16 of the cgroup's limit or of the machine, at least
 * 64 MiB. */
uint64_t bale_memory_default_cap(void);

#endif
