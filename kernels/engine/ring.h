/* A ring of engine items that are filled, run side by side, and come back in the order in
 * which they were filled. One thread fills and empties a ring. */
#ifndef BALE_KERNELS_ENGINE_RING_H
#define BALE_KERNELS_ENGINE_RING_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/engine/engine.h"

struct bale_ring_entry {
    struct bale_item item; /* owner, done and next are the ring's */
    uint8_t *raw;          /* the entry's own memory, NULL if the ring was made with none */
    uint8_t *stored;
    uint64_t from, to; /* the user's: what the frame's places are in input and output */
    bool done;         /* the ring's */
};

struct bale_ring;

/* A ring of count entries, each with raw and stored bytes of memory of its own (0: none). engine
 * outlives it. BALE_OK or BALE_E_NOMEM. */
int bale_ring_create(struct bale_engine *engine, unsigned count, size_t raw, size_t stored,
                     struct bale_ring **ring);
/* The same in memory of the caller's, bale_ring_room() bytes or more for count entries, which begins with a
 * page; entries that are started wait for bale_ring_submit(), so that an engine gets lists. */
int bale_ring_create_in(struct bale_engine *engine, unsigned count, size_t raw, size_t stored,
                        void *memory, struct bale_ring **ring);
size_t bale_ring_room(unsigned count, size_t raw, size_t stored);
/* Waits for what runs. NULL is fine. */
void bale_ring_destroy(struct bale_ring *ring);

/* How many entries keep an engine of so many threads busy while each takes bytes of memory: two a
 * thread, but what fits 512 MiB; 2 at least. */
unsigned bale_ring_entry_count(unsigned threads, size_t bytes);

/* The entry to fill next, with a cleared item; NULL while all are taken. The same until it is
 * started. */
struct bale_ring_entry *bale_ring_next(struct bale_ring *ring);
/* Gives the entry of bale_ring_next() to the engine. */
void bale_ring_start(struct bale_ring *ring);

/* Gives the engine what was started and is not there yet. */
void bale_ring_submit(struct bale_ring *ring);

/* The entry that was started so many after the first one, if it is done; or NULL. */
struct bale_ring_entry *bale_ring_done(struct bale_ring *ring, unsigned after);

/* Has an entry that is done done again, as its item now says, and waits for that. */
void bale_ring_redo(struct bale_ring *ring, struct bale_ring_entry *entry);

/* Waits for the entry that was started first, and submits it if it has to be; NULL if none is. */
struct bale_ring_entry *bale_ring_wait(struct bale_ring *ring);
/* Gives the entry of bale_ring_wait() free to be filled again. */
void bale_ring_release(struct bale_ring *ring);

#endif
