#include "tools/bench/flight.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "format/err.h"
#include "kernels/base/clock.h"
#include "kernels/engine/work_queue.h"

#define WARM_SECONDS 0.1
#define MILLISECOND UINT64_C(1000000)

enum { POINTS = 4096, PARTS = 5 };

/* How many bytes were done at a time when a list was submitted. */
struct point {
    uint64_t ns, bytes;
};

struct bale_flight {
    const struct bale_flight_how *how;
    pthread_mutex_t mutex; /* guards all members below */
    pthread_cond_t wake;   /* a point was noted, an item failed, or all items are back */
    struct bale_item_list ready;
    uint64_t gathered; /* bytes that are done and not submitted again */
    uint64_t gather;   /* submit again when so many bytes are gathered */
    uint64_t done;     /* bytes done in all */
    size_t under_way;  /* items at the engine */
    bool stop;
    int error; /* the first error */
    struct point points[POINTS];
    size_t point_count;
    uint64_t apart; /* the least ns between two points */
};

/* Requires the mutex. A long flight keeps every second point. */
static void note(struct bale_flight *flight)
{
    struct point now = {.ns = bale_clock_ns(), .bytes = flight->done};

    if (flight->point_count > 0 &&
        now.ns - flight->points[flight->point_count - 1].ns < flight->apart)
        return;
    if (flight->point_count == POINTS) {
        for (size_t i = 0; i < POINTS / 2; i++)
            flight->points[i] = flight->points[2 * i];
        flight->point_count = POINTS / 2;
        flight->apart *= 2;
    }
    flight->points[flight->point_count++] = now;
    pthread_cond_signal(&flight->wake);
}

/* Requires the mutex. Takes ready items of so many bytes, or all, and counts them as in flight. */
static struct bale_item *take_ready(struct bale_flight *flight, uint64_t bytes)
{
    struct bale_item_list list = {0};
    uint64_t taken = 0;
    struct bale_item *item;

    while (taken < bytes && (item = bale_item_list_pop(&flight->ready))) {
        taken += item->frame.raw_length;
        flight->under_way++;
        if (item->kind == BALE_ITEM_ENCODE) /* the last time may have made larger ones */
            item->frame.chunk_log2 = BALE_CHUNK_LOG2_DEFAULT;
        bale_item_list_append(&list, item);
    }
    return list.first;
}

static void submit(const struct bale_flight_how *how, struct bale_item *list)
{
    struct bale_item_list ours = {0}, others = {0};

    while (list) {
        struct bale_item *next = list->next;
        bale_item_list_append(!how->takes || how->takes(how->engine, list) ? &ours : &others, list);
        list = next;
    }
    if (ours.first)
        bale_engine_submit(how->engine, ours.first);
    if (others.first)
        bale_engine_submit(how->other, others.first);
}

static void flight_item_done(struct bale_item *item)
{
    struct bale_flight *flight = item->owner;
    struct bale_item *list = NULL;
    const struct bale_flight_how *how = flight->how;

    pthread_mutex_lock(&flight->mutex);
    flight->under_way--;
    flight->done += item->frame.raw_length;
    flight->gathered += item->frame.raw_length;
    bale_item_list_append(&flight->ready, item);
    if (item->status != BALE_OK && flight->error == BALE_OK) {
        flight->error = item->status;
        pthread_cond_signal(&flight->wake);
    }
    if (!flight->stop && flight->error == BALE_OK && flight->gathered >= flight->gather) {
        note(flight);
        list = take_ready(flight, flight->gathered);
        flight->gathered = 0;
    }
    if (flight->under_way == 0)
        pthread_cond_signal(&flight->wake);
    pthread_mutex_unlock(&flight->mutex);
    if (list)
        submit(how, list);
}

/* Submits as many lists as will come back. */
static void launch(struct bale_flight *flight)
{
    uint64_t each = flight->how->parts > 0 ? flight->gather : flight->how->bytes;

    for (uint64_t sent = 0; sent < flight->how->bytes; sent += each) {
        uint64_t left = flight->how->bytes - sent;
        pthread_mutex_lock(&flight->mutex);
        struct bale_item *list = take_ready(flight, left < each ? left : each);
        pthread_mutex_unlock(&flight->mutex);
        if (list)
            submit(flight->how, list);
    }
}

static struct bale_flight *make(const struct bale_flight_how *how)
{
    struct bale_flight *flight = calloc(1, sizeof *flight);

    if (!flight)
        return NULL;
    flight->how = how;
    flight->apart = MILLISECOND;
    flight->gather = how->parts > 0 ? how->bytes / how->parts : 1;
    pthread_mutex_init(&flight->mutex, NULL);
    pthread_cond_init(&flight->wake, NULL);
    for (size_t i = 0; i < how->count; i++) {
        how->items[i].done = flight_item_done;
        how->items[i].owner = flight;
        bale_item_list_append(&flight->ready, &how->items[i]);
    }
    return flight;
}

int bale_flight_begin(const struct bale_flight_how *how, struct bale_flight **flight)
{
    *flight = make(how);
    if (!*flight)
        return BALE_E_NOMEM;
    launch(*flight);
    return BALE_OK;
}

uint64_t bale_flight_wait(struct bale_flight *flight, double seconds)
{
    uint64_t until = bale_clock_ns() + (uint64_t)(seconds * 1e9);
    struct point last = {0};

    pthread_mutex_lock(&flight->mutex);
    uint64_t bytes = flight->done + flight->how->bytes;
    while (flight->error == BALE_OK && (last.ns < until || last.bytes < bytes)) {
        pthread_cond_wait(&flight->wake, &flight->mutex);
        if (flight->point_count > 0)
            last = flight->points[flight->point_count - 1];
    }
    pthread_mutex_unlock(&flight->mutex);
    return last.ns;
}

/* The first point at or after a time, or the last point. */
static const struct point *point_from(const struct bale_flight *flight, uint64_t ns)
{
    size_t i = 0;

    while (i + 1 < flight->point_count && flight->points[i].ns < ns)
        i++;
    return &flight->points[i];
}

/* 0: both points are the same. */
static double rate_between(const struct point *first, const struct point *last)
{
    double seconds = ((double)last->ns - (double)first->ns) * 1e-9;

    return seconds > 0 ? (double)(last->bytes - first->bytes) / seconds : 0;
}

bool bale_flight_rate(struct bale_flight *flight, uint64_t from, uint64_t to,
                      struct bale_flight_rate *rate)
{
    pthread_mutex_lock(&flight->mutex);
    const struct point *first = point_from(flight, from);
    double all = rate_between(first, point_from(flight, to));
    *rate = (struct bale_flight_rate){.rate = all, .least = all, .most = all};
    for (unsigned i = 1; i <= PARTS; i++) {
        const struct point *next = point_from(flight, from + (to - from) / PARTS * i);
        double part = rate_between(first, next);
        if (part > 0) {
            rate->least = fmin(rate->least, part);
            rate->most = fmax(rate->most, part);
            first = next;
        }
    }
    pthread_mutex_unlock(&flight->mutex);
    return all > 0;
}

int bale_flight_end(struct bale_flight *flight)
{
    if (!flight)
        return BALE_OK;
    pthread_mutex_lock(&flight->mutex);
    flight->stop = true;
    while (flight->under_way > 0)
        pthread_cond_wait(&flight->wake, &flight->mutex);
    pthread_mutex_unlock(&flight->mutex);
    int error = flight->error;
    pthread_cond_destroy(&flight->wake);
    pthread_mutex_destroy(&flight->mutex);
    free(flight);
    return error;
}

int bale_flight_measure(const struct bale_flight_how *how, double seconds,
                        struct bale_flight_rate *rate)
{
    struct bale_flight *flight;
    int err = bale_flight_begin(how, &flight);

    *rate = (struct bale_flight_rate){0};
    if (err < 0)
        return err;
    uint64_t from = bale_flight_wait(flight, WARM_SECONDS);
    uint64_t to = bale_flight_wait(flight, seconds);
    bale_flight_rate(flight, from, to, rate);
    return bale_flight_end(flight);
}

int bale_flight_once(const struct bale_flight_how *how)
{
    struct bale_flight_how all = *how;
    struct bale_flight *flight;

    all.bytes = UINT64_MAX;
    all.parts = 0;
    flight = make(&all);

    if (!flight)
        return BALE_E_NOMEM;
    flight->stop = true;
    launch(flight);
    return bale_flight_end(flight);
}
