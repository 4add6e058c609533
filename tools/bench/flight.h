/* Work for an engine that never ends: so many bytes are under way all the time, and what is done is
 * handed over again. That is how an engine is used that has enough to do; a batch alone measures
 * what it takes to begin and to end. */
#ifndef BALE_TOOLS_BENCH_FLIGHT_H
#define BALE_TOOLS_BENCH_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/engine/engine.h"

struct bale_flight_how {
    struct bale_engine *engine;
    /* What the engine does not take goes to another, as in a mount. NULL: it takes everything. */
    bool (*takes)(struct bale_engine *engine, const struct bale_item *item);
    struct bale_engine *other;
    /* All of one raw length; done and owner are the flight's. They take turns, so that memory is as
     * cold as it is large. */
    struct bale_item *items;
    size_t count;
    uint64_t bytes; /* under way: at least one item, at most all */
    /* What is done is collected to so many parts of the bytes under way, as the dispatcher does for a
     * GPU; 0: each item is handed over at once, as a worker takes the next. */
    unsigned parts;
};

struct bale_flight_rate { /* bytes of raw data a second */
    double rate;
    double least, most; /* of the parts that the time was divided into */
};

struct bale_flight;

/* Begins. how stays valid until the end. BALE_OK or BALE_E_NOMEM. */
int bale_flight_begin(const struct bale_flight_how *how, struct bale_flight **flight);

/* Waits until seconds have passed and all that was under way has been done once; a time of
 * bale_clock_ns(). An item that fails ends the wait. */
uint64_t bale_flight_wait(struct bale_flight *flight, double seconds);

/* Between two times, from one handing over to another, so that no batch counts in part. False: nothing
 * was handed over between them. */
bool bale_flight_rate(struct bale_flight *flight, uint64_t from, uint64_t to,
                      struct bale_flight_rate *rate);

/* Hands nothing over any more, waits for all, and frees. The status of the first item that failed,
 * or BALE_OK. NULL is fine. */
int bale_flight_end(struct bale_flight *flight);

/* All of it: a while to warm up, then so many seconds. BALE_OK, or what an item failed with. */
int bale_flight_measure(const struct bale_flight_how *how, double seconds,
                        struct bale_flight_rate *rate);

/* All items once, as one list. The status of the first item that failed, or BALE_OK. */
int bale_flight_once(const struct bale_flight_how *how);

#endif
