#include "fs/fuse/in_flight.h"

#include <linux/fuse.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "format/err.h"
#include "fs/fuse/drop.h"
#include "fs/fuse/effects.h"
#include "fs/fuse/opened.h"
#include "fs/fuse/ops.h"
#include "fs/fuse/request.h"

#define GIVEN_UP 1u /* the kernel's numbers are even */

/* What the kernel may let go of once a request is given up. */
struct held {
    struct bale_node *nodes[2];
    struct bale_node *file; /* whose open file is used */
    uint64_t directory;
};

/* A request in flight; a thread has one for the requests that it handles. */
struct bale_request {
    _Atomic uint64_t unique; /* of the request, and GIVEN_UP; 0: there is none */
    /* Valid while unique is not 0. */
    uint32_t pid;
    _Atomic uint64_t since; /* as now_ms */
    bool may_be_given_up;
    uint64_t nodes[2]; /* numbers of the nodes that it uses, or 0 */
    uint64_t locks[2]; /* of those that are locked if it is given up, or 0 */

    bool file;
    uint64_t directory; /* as in struct bale_effects */
    /* In the directories locks, or both in the first: within the request, or once it is detached,
     * copies. */
    const char *names[2];

    struct held held; /* once it is given up */
    struct bale_request *next;
};

struct bale_in_flight {
    struct bale_mount *mount;
    bale_in_flight_resume *resume;
    void *arg;
    pthread_mutex_t lock; /* guards the rest, and held of the requests */
    struct bale_request *requests;
    atomic_uint given_up; /* those that were, and go on */
    struct bale_queued *back, **last;
    unsigned resuming; /* threads that call resume */
    pthread_cond_t resumed;
};

static _Thread_local struct bale_request *self;

int bale_in_flight_create(struct bale_mount *mount, struct bale_in_flight **out)
{
    struct bale_in_flight *in_flight = calloc(1, sizeof *in_flight);

    if (!in_flight)
        return BALE_E_NOMEM;
    in_flight->mount = mount;
    in_flight->last = &in_flight->back;
    pthread_mutex_init(&in_flight->lock, NULL);
    pthread_cond_init(&in_flight->resumed, NULL);
    *out = in_flight;
    return BALE_OK;
}

void bale_in_flight_start(struct bale_in_flight *in_flight, bale_in_flight_resume *resume,
                          void *arg)
{
    in_flight->resume = resume;
    in_flight->arg = arg;
}

void bale_in_flight_stop(struct bale_in_flight *in_flight)
{
    pthread_mutex_lock(&in_flight->lock);
    while (in_flight->resuming > 0)
        pthread_cond_wait(&in_flight->resumed, &in_flight->lock);
    while (in_flight->back) {
        struct bale_queued *queued = in_flight->back;
        in_flight->back = queued->next;
        bale_queued_destroy(bale_volume_memory(in_flight->mount->volume), queued);
    }
    in_flight->last = &in_flight->back;
    pthread_mutex_unlock(&in_flight->lock);
}

void bale_in_flight_destroy(struct bale_in_flight *in_flight)
{
    if (!in_flight)
        return;
    pthread_cond_destroy(&in_flight->resumed);
    pthread_mutex_destroy(&in_flight->lock);
    free(in_flight);
}

/* ---- Threads and their requests ---- */

/* Under the lock. */
static void list_add(struct bale_in_flight *in_flight, struct bale_request *request)
{
    request->next = in_flight->requests;
    in_flight->requests = request;
}

/* Under the lock. */
static void list_remove(struct bale_in_flight *in_flight, struct bale_request *request)
{
    struct bale_request **at = &in_flight->requests;

    while (*at != request)
        at = &(*at)->next;
    *at = request->next;
}

int bale_in_flight_enter(struct bale_in_flight *in_flight)
{
    self = calloc(1, sizeof *self);
    if (!self)
        return BALE_E_NOMEM;
    pthread_mutex_lock(&in_flight->lock);
    list_add(in_flight, self);
    pthread_mutex_unlock(&in_flight->lock);
    return BALE_OK;
}

void bale_in_flight_leave(struct bale_in_flight *in_flight)
{
    if (!self)
        return;
    pthread_mutex_lock(&in_flight->lock);
    list_remove(in_flight, self);
    pthread_mutex_unlock(&in_flight->lock);
    free(self);
    self = NULL;
}

/* To some 10 ms, for reports, and cheap: it is called for every request. */
static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void bale_in_flight_begin(const void *request, size_t size)
{
    const struct fuse_in_header *in = request;
    struct bale_effects effects = bale_effects_of(request, size);

    if (!self)
        return;
    self->pid = in->pid;
    atomic_store_explicit(&self->since, now_ms(), memory_order_relaxed);
    self->may_be_given_up = bale_effects_may_come_late(request);
    for (int i = 0; i < 2; i++) {
        self->nodes[i] = effects.nodes[i];
        self->locks[i] = effects.changes ? effects.within[i] : 0;
    }
    self->file = effects.file;
    self->directory = effects.directory;
    memcpy(self->names, effects.names, sizeof self->names);
    bale_request_note_handler(&self->unique);
    atomic_store(&self->unique, in->unique);
}

/* Without the lock. */
static void let_go(struct bale_mount *mount, const struct held *held)
{
    if (held->file)
        bale_use_end(mount, held->file);
    if (held->directory)
        bale_directory_unref(held->directory);
    for (int i = 0; i < 2; i++)
        if (held->nodes[i])
            bale_node_unref(mount->nodes, held->nodes[i]);
}

/* Ends a request that was given up: what was held back goes on, also what has to wait again. */
static void unlock(struct bale_in_flight *in_flight, struct bale_request *request)
{
    pthread_mutex_lock(&in_flight->lock);
    struct held held = request->held;
    struct bale_queued *back = in_flight->back;
    in_flight->back = NULL;
    in_flight->last = &in_flight->back;
    in_flight->resuming++;
    request->held = (struct held){0};
    atomic_store(&request->unique, 0);
    atomic_fetch_sub(&in_flight->given_up, 1);
    pthread_mutex_unlock(&in_flight->lock);
    while (back) {
        struct bale_queued *next = back->next;
        in_flight->resume(in_flight->arg, back);
        back = next;
    }
    let_go(in_flight->mount, &held);
    pthread_mutex_lock(&in_flight->lock);
    in_flight->resuming--;
    pthread_cond_broadcast(&in_flight->resumed);
    pthread_mutex_unlock(&in_flight->lock);
}

bool bale_in_flight_end(struct bale_in_flight *in_flight, const void *request)
{
    uint64_t unique = ((const struct fuse_in_header *)request)->unique;

    if (!self || atomic_compare_exchange_strong(&self->unique, &unique, 0) || unique == 0)
        return false;
    unlock(in_flight, self);
    return true;
}

void bale_in_flight_tell_kernel(struct bale_in_flight *in_flight, const void *request, size_t size)
{
    struct bale_effects effects = bale_effects_of(request, size);

    for (int i = 0; i < 2; i++) {
        const char *name = effects.names[i];
        uint64_t dir = i && effects.within[1] ? effects.within[1] : effects.within[0];
        if (name)
            (void)fuse_lowlevel_notify_inval_entry(in_flight->mount->session, dir, name,
                                                   strlen(name));
    }
}

/* ---- Requests that go on after their handlers ---- */

struct bale_request *bale_in_flight_detach(struct bale_in_flight *in_flight)
{
    struct bale_request *request = self ? calloc(1, sizeof *request) : NULL;

    if (!request)
        return NULL;
    pthread_mutex_lock(&in_flight->lock);
    request->pid = self->pid;
    atomic_store(&request->since, atomic_load(&self->since));
    request->may_be_given_up = self->may_be_given_up;
    memcpy(request->nodes, self->nodes, sizeof request->nodes);
    memcpy(request->locks, self->locks, sizeof request->locks);
    request->file = self->file;
    request->directory = self->directory;
    for (int i = 0; i < 2; i++)
        request->names[i] = self->names[i] ? strdup(self->names[i]) : NULL;
    request->held = self->held;
    self->held = (struct held){0};
    atomic_store(&request->unique, atomic_exchange(&self->unique, 0));
    list_add(in_flight, request);
    pthread_mutex_unlock(&in_flight->lock);
    return request;
}

bool bale_in_flight_is_given_up(const struct bale_request *request)
{
    return request && atomic_load(&request->unique) & GIVEN_UP;
}

static void drop_names(struct bale_in_flight *in_flight, const struct bale_request *request)
{
    for (int i = 0; i < 2; i++)
        if (request->names[i] && request->names[i][0])
            bale_drops_add_name(in_flight->mount->drops, request->locks[i && request->locks[1]],
                                request->names[i]);
}

void bale_in_flight_complete(struct bale_in_flight *in_flight, struct bale_request *request)
{
    if (!request)
        return;
    pthread_mutex_lock(&in_flight->lock);
    list_remove(in_flight, request);
    pthread_mutex_unlock(&in_flight->lock);
    if (bale_in_flight_is_given_up(request)) {
        unlock(in_flight, request);
        drop_names(in_flight, request);
    }
    free((char *)request->names[0]);
    free((char *)request->names[1]);
    free(request);
}

uint64_t bale_in_flight_stalled(struct bale_in_flight *in_flight, uint64_t ms, uint64_t *longest_ms)
{
    uint64_t count = 0, now = now_ms();

    *longest_ms = 0;
    pthread_mutex_lock(&in_flight->lock);
    for (const struct bale_request *at = in_flight->requests; at; at = at->next) {
        uint64_t since = atomic_load(&at->since), age = now > since ? now - since : 0;
        if (atomic_load(&at->unique) == 0 || age < ms)
            continue;
        count++;
        *longest_ms = age > *longest_ms ? age : *longest_ms;
    }
    for (const struct bale_queued *at = in_flight->back; at; at = at->next)
        count++;
    pthread_mutex_unlock(&in_flight->lock);
    return count;
}

uint64_t bale_in_flight_progress(struct bale_in_flight *in_flight)
{
    uint64_t sum = 0;

    pthread_mutex_lock(&in_flight->lock);
    for (struct bale_request *at = in_flight->requests; at; at = at->next)
        sum = sum * 31 + atomic_load(&at->unique);
    pthread_mutex_unlock(&in_flight->lock);
    return sum;
}

/* ---- Giving up ---- */

/* Under the lock. */
static struct bale_request *request_of(struct bale_in_flight *in_flight, uint64_t unique)
{
    struct bale_request *request = in_flight->requests;

    while (request && atomic_load(&request->unique) != unique)
        request = request->next;
    return request;
}

bool bale_in_flight_find(struct bale_in_flight *in_flight, uint64_t unique, uint32_t *pid)
{
    pthread_mutex_lock(&in_flight->lock);
    bool found = bale_queued_find(&in_flight->back, unique, pid);
    struct bale_request *request = found ? NULL : request_of(in_flight, unique);
    if (request)
        *pid = request->pid;
    pthread_mutex_unlock(&in_flight->lock);
    return found || request;
}

/* Holds what the request uses. Under the lock. False: its nodes are gone, so it has ended. */
static bool hold(struct bale_mount *mount, const struct bale_request *request, struct held *held)
{
    for (int i = 0; i < 2; i++) {
        uint64_t node = request->nodes[i];
        if (node && node != FUSE_ROOT_ID &&
            !(held->nodes[i] = bale_node_ref_number(mount->nodes, node)))
            return false;
    }
    if (request->file && bale_use_hold(mount, held->nodes[0]))
        held->file = held->nodes[0];
    if (request->directory && bale_directory_ref(request->directory))
        held->directory = request->directory;
    return true;
}

bool bale_in_flight_give_up(struct bale_in_flight *in_flight, uint64_t unique)
{
    struct bale_queued *dropped = NULL;
    struct held held = {0};
    uint32_t pid;

    pthread_mutex_lock(&in_flight->lock);
    struct bale_queued **at = bale_queued_find(&in_flight->back, unique, &pid);
    struct bale_request *request = at ? NULL : request_of(in_flight, unique);
    bool done = request && request->may_be_given_up && hold(in_flight->mount, request, &held) &&
                atomic_compare_exchange_strong(&request->unique, &unique, unique | GIVEN_UP);
    if (done) {
        request->held = held;
        held = (struct held){0};
        atomic_fetch_add(&in_flight->given_up, 1);
    }
    if (at) {
        dropped = *at;
        *at = dropped->next;
        if (!*at)
            in_flight->last = at;
    }
    pthread_mutex_unlock(&in_flight->lock);
    let_go(in_flight->mount, &held);
    if (dropped)
        bale_queued_destroy(bale_volume_memory(in_flight->mount->volume), dropped);
    return done || dropped;
}

static bool locks(const struct bale_request *request, uint64_t node)
{
    return node && (request->locks[0] == node || request->locks[1] == node);
}

bool bale_in_flight_hold_back(struct bale_in_flight *in_flight, const void *request, size_t size)
{
    struct bale_queued *queued = NULL;
    bool back = false;

    if (atomic_load(&in_flight->given_up) == 0)
        return false;
    struct bale_effects effects = bale_effects_of(request, size);
    pthread_mutex_lock(&in_flight->lock);
    for (struct bale_request *at = in_flight->requests; at && !back; at = at->next)
        back = atomic_load(&at->unique) & GIVEN_UP &&
               (locks(at, effects.within[0]) || locks(at, effects.within[1]));
    if (back)
        queued = bale_queued_create(bale_volume_memory(in_flight->mount->volume), request, size);
    if (queued) {
        *in_flight->last = queued;
        in_flight->last = &queued->next;
    }
    pthread_mutex_unlock(&in_flight->lock);
    return queued;
}
