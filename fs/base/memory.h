/* The one memory cap. Extent buffers and staging come from one arena, a single mapping
 * (the memory that a GPU engine pins). Everything else that the daemon uses in bulk (inode table,
 * index pages, transport buffers) is only counted here, and reduces what the arena may give out.
 * Any thread. */
#ifndef BALE_FS_BASE_MEMORY_H
#define BALE_FS_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bale_memory;

/* cap: bytes, 32 MiB or more. */
int bale_memory_create(uint64_t cap, struct bale_memory **memory);
/* The same, with address space for a cap of up to `most` bytes. */
int bale_memory_create_growing(uint64_t cap, uint64_t most, struct bale_memory **memory);
/* Raises the cap to this many bytes, or to what there is address space for; never lowers it. */
void bale_memory_grow(struct bale_memory *memory, uint64_t cap);
void bale_memory_destroy(struct bale_memory *memory); /* NULL is fine */

/* A page-aligned block of size bytes, rounded up to pages. NULL: the cap is reached. */
void *bale_memory_allocate(struct bale_memory *memory, size_t size);
/* Frees a block of the given size, or the page-aligned tail of a block. NULL is fine. */
void bale_memory_free(struct bale_memory *memory, void *block, size_t size);

/* Quarantine: a block that a device may still write to stays allocated, within the cap, until no
 * device can write to it any more. bale_memory_quarantine is bale_memory_free for such a block.
 * set_quarantine says whether a device may still write: with false all quarantined blocks become
 * free, and from then on quarantined blocks are free at once. If it is true when the memory is
 * destroyed, the arena stays mapped. */
void bale_memory_quarantine(struct bale_memory *memory, void *block, size_t size);
void bale_memory_set_quarantine(struct bale_memory *memory, bool active);

/* Waiting for memory: a thread that finds none calls bale_memory_lack and tries once more. If that
 * fails too, it waits until room is called. However many lack memory, room is called once, with the
 * owner's arg, when something becomes free or the owner calls bale_memory_tell_room. It runs on the
 * thread that frees, under the locks that this thread holds (not the memory's own), and must not
 * call any of these functions.
 *
 * bale_memory_on_room sets room; NULL: nothing is called from then on, and no call is under way
 * when it returns. */
void bale_memory_on_room(struct bale_memory *memory, void (*room)(void *arg), void *arg);
void bale_memory_lack(struct bale_memory *memory);
/* The owner has something now that it would free on demand. Looks at one atomic if nobody lacks
 * memory. */
void bale_memory_tell_room(struct bale_memory *memory);

/* Returns the pages of free blocks to the kernel. The owner calls it now and then. */
void bale_memory_trim(struct bale_memory *memory);
/* As bale_memory_trim, and also returns pages that were pinned once. The caller makes sure that
 * nothing is pinned, or gets pinned, while this runs. */
void bale_memory_trim_unpinned(struct bale_memory *memory);

/* Starts a thread that pins the arena in steps of 32 MiB: the whole arena if `all` is set, else a
 * quarter more than was ever allocated, and at least a quarter of the cap: of that 256 MiB at once,
 * and up to 1 GiB while nothing is allocated and memory is not scarce. It calls pin for one step
 * after the other, without locks, and ends when pin fails. Pinned memory stays resident until the
 * process ends, even after destroy, because a device may still read it; bale_memory_trim leaves it
 * alone. Call it once.
 *
 * pin_end returns when pin is not running and will not be called again; after it, pin_begin does
 * nothing. If pin hangs, pin_end leaves the thread behind after BALE_PATIENCE_S seconds: then the
 * arena stays mapped after destroy, and what arg points to must stay as well. NULL is fine. */
void bale_memory_pin_begin(struct bale_memory *memory, bool all,
                           int (*pin)(void *arg, void *start, size_t size), void *arg);
void bale_memory_pin_end(struct bale_memory *memory);

/* Bytes that pin was called for, and whether less is pinned than should be by now. */
uint64_t bale_memory_pinned(const struct bale_memory *memory);
bool bale_memory_is_pinning(const struct bale_memory *memory);

/* Counts bytes that were allocated elsewhere; negative when they are freed. */
void bale_memory_count(struct bale_memory *memory, int64_t bytes);

uint64_t bale_memory_cap(const struct bale_memory *memory);
uint64_t bale_memory_used(struct bale_memory *memory); /* arena and counted */

/* Bytes that the control groups and the machine allow this process. */
uint64_t bale_memory_limit(void);
/* Whether less than 1/16 of that is left, the most that the mounts of one user pin. What the kernel
 * would take from its cache of files counts as left. Reads some files of /proc and /sys. */
bool bale_memory_is_scarce(void);
/* The limit and what is left, with /proc and /sys in a directory; "": the system's. */
uint64_t bale_memory_limit_at(const char *root);
uint64_t bale_memory_available_at(const char *root);

/* The default cap: the smaller of 1 GiB and 1/16 of bale_memory_limit(), at least 64 MiB. */
uint64_t bale_memory_default_cap(void);

/* The default cap with a GPU, which needs large batches: the smaller of 4 GiB and 1/16 of
 * bale_memory_limit(), at least bale_memory_default_cap(). */
uint64_t bale_memory_gpu_cap(void);

#endif
