/* Lanes: a ring of engine items that are filled, run side by side, and come back in the order in
 * which they were filled. One thread fills and empties a ring. */
#ifndef BALE_KERNELS_ENGINE_RING_H
#define BALE_KERNELS_ENGINE_RING_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/engine/engine.h"

struct bale_lane {
    struct bale_item item; /* owner, done and next are the ring's */
    uint8_t *raw;          /* the lane's own memory, NULL if the ring was made with none */
    uint8_t *stored;
    uint64_t from, to; /* the user's: what the frame's places are in input and output */
    bool done;         /* the ring's */
};

struct bale_lanes;

/* A ring of count lanes, each with raw and stored bytes of memory of its own (0: none). engine
 * outlives it. BALE_OK or BALE_E_NOMEM. */
int bale_lanes_create(struct bale_engine *engine, unsigned count, size_t raw, size_t stored,
                      struct bale_lanes **lanes);
/* The same in memory of the caller's, bale_lanes_room() bytes or more for count lanes, which begins with a
 * page; lanes that are started wait for bale_lanes_submit(), so that an engine gets lists. */
int bale_lanes_create_in(struct bale_engine *engine, unsigned count, size_t raw, size_t stored,
                         void *memory, struct bale_lanes **lanes);
size_t bale_lanes_room(unsigned count, size_t raw, size_t stored);
/* Waits for what runs. NULL is fine. */
void bale_lanes_destroy(struct bale_lanes *lanes);

/* How many lanes keep an engine of so many threads busy while each takes bytes of memory: two a
 * thread, but what fits 512 MiB; 2 at least. */
unsigned bale_lanes_count(unsigned threads, size_t bytes);

/* The lane to fill next, with a cleared item; NULL while all are taken. The same until it is
 * started. */
struct bale_lane *bale_lanes_next(struct bale_lanes *lanes);
/* Gives the lane of bale_lanes_next() to the engine. */
void bale_lanes_start(struct bale_lanes *lanes);

/* Gives the engine what was started and is not there yet. */
void bale_lanes_submit(struct bale_lanes *lanes);

/* The lane that was started so many after the first one, if it is done; or NULL. */
struct bale_lane *bale_lanes_done(struct bale_lanes *lanes, unsigned after);

/* Has a lane that is done done again, as its item now says, and waits for that. */
void bale_lanes_again(struct bale_lanes *lanes, struct bale_lane *lane);

/* Waits for the lane that was started first, and submits it if it has to be; NULL if none is. */
struct bale_lane *bale_lanes_wait(struct bale_lanes *lanes);
/* Gives the lane of bale_lanes_wait() free to be filled again. */
void bale_lanes_release(struct bale_lanes *lanes);

#endif
