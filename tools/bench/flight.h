/* An endless load for an engine: a fixed number of bytes is in flight all the time, and finished
 * items are submitted again. This measures an engine under steady load; a single batch would also
 * measure its start and its end. */
#ifndef BALE_TOOLS_BENCH_FLIGHT_H
#define BALE_TOOLS_BENCH_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/engine/engine.h"

struct bale_flight_how {
    struct bale_engine *engine;
    /* Items that the engine does not take go to the other one, as in a mount. NULL: it takes
     * everything. */
    bool (*takes)(struct bale_engine *engine, const struct bale_item *item);
    struct bale_engine *other;
    /* Items, all of one raw length. The flight sets done, owner and, for an encode, the size of
     * chunks that is asked for (the default). Items are used in turn, so that the data is not in a
     * cache. */
    struct bale_item *items;
    size_t count;
    uint64_t bytes; /* in flight: at least one item, at most all */
    /* Finished items are collected until they make one of so many parts of the bytes in flight, as
     * the dispatcher does for a GPU. 0: each item is submitted again at once, as a worker takes the
     * next one. */
    unsigned parts;
};

struct bale_flight_rate { /* bytes of raw data a second */
    double rate;
    double least, most; /* the slowest and fastest part of the time */
};

struct bale_flight;

/* Starts a flight. how must stay valid until the end. BALE_OK or BALE_E_NOMEM. */
int bale_flight_begin(const struct bale_flight_how *how, struct bale_flight **flight);

/* Waits until so many seconds have passed and all bytes in flight have been done once, or until an
 * item fails. Returns a time of bale_clock_ns(). */
uint64_t bale_flight_wait(struct bale_flight *flight, double seconds);

/* Computes the rate between two times, measured from submission to submission, so that no batch
 * counts in part. False: nothing was submitted between them. */
bool bale_flight_rate(struct bale_flight *flight, uint64_t from, uint64_t to,
                      struct bale_flight_rate *rate);

/* Submits nothing more, waits for all items and frees the flight. Returns the status of the first
 * item that failed, or BALE_OK. NULL is allowed. */
int bale_flight_end(struct bale_flight *flight);

/* Runs a whole flight: a short warm-up, then so many seconds. BALE_OK, or the status of an item
 * that failed. */
int bale_flight_measure(const struct bale_flight_how *how, double seconds,
                        struct bale_flight_rate *rate);

/* Runs all items once, as one list. Returns the status of the first item that failed, or BALE_OK.
 */
int bale_flight_once(const struct bale_flight_how *how);

#endif
