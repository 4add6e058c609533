/* A ring of engine items: one thread fills entries and starts them, the engine does them side by
 * side, and the same thread takes them back in the order in which it started them. */
#ifndef BALE_KERNELS_ENGINE_RING_H
#define BALE_KERNELS_ENGINE_RING_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/engine/engine.h"

struct bale_ring_entry {
    struct bale_item item; /* owner, done and next are the ring's */
    uint8_t *raw;          /* the entry's own memory, NULL if the ring was made with none */
    uint8_t *stored;
    uint64_t from, to; /* the user's: the frame's offsets in input and output */
    bool done;         /* guarded by the ring's mutex */
};

struct bale_ring;

/* Makes a ring of count entries that allocates raw and stored bytes for each (0: none). engine
 * outlives it. BALE_OK or BALE_E_NOMEM. */
int bale_ring_create(struct bale_engine *engine, unsigned count, size_t raw, size_t stored,
                     struct bale_ring **ring);
/* The same in the caller's memory of bale_ring_room() bytes or more, which begins at a page.
 * Entries that are started wait for bale_ring_submit(), so that the engine gets lists. */
int bale_ring_create_in(struct bale_engine *engine, unsigned count, size_t raw, size_t stored,
                        void *memory, struct bale_ring **ring);
size_t bale_ring_room(unsigned count, size_t raw, size_t stored);
/* Waits for the entries that were started. NULL is fine. */
void bale_ring_destroy(struct bale_ring *ring);

/* How many entries keep an engine of so many threads busy, if each takes so many bytes of
 * memory: two for each thread, but no more than fit 512 MiB, and 2 at least. */
unsigned bale_ring_entry_count(unsigned threads, size_t bytes);

/* The entry to fill next, with a cleared item; the same until it is started. NULL: all are in
 * use. */
struct bale_ring_entry *bale_ring_next(struct bale_ring *ring);
/* Starts the entry of bale_ring_next(). */
void bale_ring_start(struct bale_ring *ring);

/* Submits the entries that were started and wait for this. */
void bale_ring_submit(struct bale_ring *ring);

/* The entry that was started `after` entries later than the oldest one; NULL: it is not done, or
 * there is none. */
struct bale_ring_entry *bale_ring_done(struct bale_ring *ring, unsigned after);

/* Submits the item of an entry that is done once more, as it is now, and waits for it. */
void bale_ring_redo(struct bale_ring *ring, struct bale_ring_entry *entry);

/* Waits for the oldest entry, submitting it if need be. NULL: none is in use. */
struct bale_ring_entry *bale_ring_wait(struct bale_ring *ring);
/* Frees the entry of bale_ring_wait() for bale_ring_next(). */
void bale_ring_release(struct bale_ring *ring);

#endif
