#include "fs/fuse/in_flight.h"

#include <linux/fuse.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "fs/fuse/drop.h"
#include "fs/fuse/effects.h"
#include "fs/fuse/opened.h"
#include "fs/fuse/ops.h"
#include "fs/fuse/request.h"
#include "fs/fuse/requests.h"

struct bale_in_flight {
    struct bale_mount *mount;
    bale_in_flight_resume *resume;
    void *arg;
    pthread_mutex_t lock; /* guards the rest, and held of the requests */
    struct bale_requests requests;
    atomic_uint given_up; /* the number of those that were, and go on */
    struct bale_queued_list back;
    struct bale_queued_table waiting; /* those of back */
    unsigned resuming;                /* threads that call resume */
    pthread_cond_t resumed;
};

static _Thread_local struct bale_request *self;

int bale_in_flight_create(struct bale_mount *mount, struct bale_in_flight **out)
{
    struct bale_in_flight *in_flight = calloc(1, sizeof *in_flight);

    if (!in_flight)
        return BALE_E_NOMEM;
    in_flight->mount = mount;
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

/* Under the lock. */
static struct bale_queued *take_back(struct bale_in_flight *in_flight, struct bale_queued *queued)
{
    bale_queued_take_off(&in_flight->back, queued);
    bale_queued_leave(&in_flight->waiting, queued);
    return queued;
}

void bale_in_flight_stop(struct bale_in_flight *in_flight)
{
    pthread_mutex_lock(&in_flight->lock);
    while (in_flight->resuming > 0)
        pthread_cond_wait(&in_flight->resumed, &in_flight->lock);
    while (in_flight->back.first)
        bale_queued_destroy(bale_volume_memory(in_flight->mount->volume),
                            take_back(in_flight, in_flight->back.first));
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

int bale_in_flight_enter(struct bale_in_flight *in_flight)
{
    self = calloc(1, sizeof *self);
    if (!self)
        return BALE_E_NOMEM;
    pthread_mutex_lock(&in_flight->lock);
    bale_requests_add_thread(&in_flight->requests, self);
    pthread_mutex_unlock(&in_flight->lock);
    return BALE_OK;
}

void bale_in_flight_leave(struct bale_in_flight *in_flight)
{
    if (!self)
        return;
    pthread_mutex_lock(&in_flight->lock);
    bale_requests_remove(self);
    pthread_mutex_unlock(&in_flight->lock);
    free(self);
    self = NULL;
}

void bale_in_flight_begin(const void *request, size_t size)
{
    const struct fuse_in_header *in = request;
    struct bale_effects effects = bale_effects_of(request, size);

    if (!self)
        return;
    self->pid = in->pid;
    atomic_store_explicit(&self->since, bale_requests_now_ms(), memory_order_relaxed);
    self->may_be_given_up = bale_effects_may_come_late(request);
    for (int i = 0; i < 2; i++) {
        self->nodes[i] = effects.nodes[i];
        self->locks[i] = effects.changes ? effects.within[i] : 0;
    }
    memcpy(self->files, effects.files, sizeof self->files);
    self->directory = effects.directory;
    memcpy(self->names, effects.names, sizeof self->names);
    bale_request_note_handler(&self->unique);
    atomic_store(&self->unique, in->unique);
}

/* Without the lock. */
static void let_go(struct bale_mount *mount, const struct bale_held *held)
{
    for (int i = 0; i < 2; i++)
        if (held->files[i])
            bale_use_end(mount, held->files[i]);
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
    struct bale_held held = request->held;
    struct bale_queued *back = in_flight->back.first;
    in_flight->back = (struct bale_queued_list){0};
    in_flight->waiting = (struct bale_queued_table){0};
    in_flight->resuming++;
    request->held = (struct bale_held){0};
    bale_requests_unlock(&in_flight->requests, request);
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

/* Drops what the kernel has of a file that the request changed itself. (A directory is changed by a
 * name in it.) */
static void drop_contents(struct bale_in_flight *in_flight, const uint64_t changed[2],
                          const char *const names[2])
{
    if (changed[0] && !names[0])
        bale_drops_add(in_flight->mount->drops, changed[0], 0, 0);
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
    drop_contents(in_flight, effects.within, effects.names);
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
    memcpy(request->files, self->files, sizeof request->files);
    request->directory = self->directory;
    for (int i = 0; i < 2; i++)
        request->names[i] = self->names[i] ? strdup(self->names[i]) : NULL;
    request->held = self->held;
    self->held = (struct bale_held){0};
    uint64_t unique = atomic_exchange(&self->unique, 0);
    atomic_store(&request->unique, unique);
    bale_requests_add_detached(&in_flight->requests, request);
    if (unique & BALE_GIVEN_UP) {
        bale_requests_unlock(&in_flight->requests, self);
        bale_requests_lock(&in_flight->requests, request);
    }
    pthread_mutex_unlock(&in_flight->lock);
    return request;
}

bool bale_in_flight_is_given_up(const struct bale_request *request)
{
    return request && atomic_load(&request->unique) & BALE_GIVEN_UP;
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
    bale_requests_remove(request);
    pthread_mutex_unlock(&in_flight->lock);
    if (bale_in_flight_is_given_up(request)) {
        unlock(in_flight, request);
        drop_names(in_flight, request);
        drop_contents(in_flight, request->locks, request->names);
    }
    free((char *)request->names[0]);
    free((char *)request->names[1]);
    free(request);
}

uint64_t bale_in_flight_stalled(struct bale_in_flight *in_flight, uint64_t ms, uint64_t *longest_ms)
{
    pthread_mutex_lock(&in_flight->lock);
    uint64_t count = bale_requests_stalled(&in_flight->requests, ms, longest_ms);
    for (const struct bale_queued *at = in_flight->back.first; at; at = at->next)
        count++;
    pthread_mutex_unlock(&in_flight->lock);
    return count;
}

uint64_t bale_in_flight_progress(struct bale_in_flight *in_flight)
{
    pthread_mutex_lock(&in_flight->lock);
    uint64_t sum = bale_requests_sum(&in_flight->requests);
    pthread_mutex_unlock(&in_flight->lock);
    return sum;
}

/* ---- Giving up ---- */

bool bale_in_flight_find(struct bale_in_flight *in_flight, uint64_t unique, uint32_t *pid)
{
    pthread_mutex_lock(&in_flight->lock);
    bool found = bale_queued_find(&in_flight->waiting, unique, pid);
    struct bale_request *request = found ? NULL : bale_requests_find(&in_flight->requests, unique);
    if (request)
        *pid = request->pid;
    pthread_mutex_unlock(&in_flight->lock);
    return found || request;
}

/* Holds what the request uses. Under the lock. False: its nodes are gone, so it has ended. */
static bool hold(struct bale_mount *mount, const struct bale_request *request,
                 struct bale_held *held)
{
    for (int i = 0; i < 2; i++) {
        uint64_t node = request->nodes[i];
        if (node && node != FUSE_ROOT_ID &&
            !(held->nodes[i] = bale_node_ref_number(mount->nodes, node)))
            return false;
    }
    for (int i = 0; i < 2; i++)
        if (request->files[i] && bale_use_hold(mount, held->nodes[i]))
            held->files[i] = held->nodes[i];
    if (request->directory && bale_directory_ref(request->directory))
        held->directory = request->directory;
    return true;
}

bool bale_in_flight_give_up(struct bale_in_flight *in_flight, uint64_t unique)
{
    struct bale_queued *dropped;
    struct bale_held held = {0};
    uint32_t pid;

    pthread_mutex_lock(&in_flight->lock);
    dropped = bale_queued_find(&in_flight->waiting, unique, &pid);
    struct bale_request *request =
        dropped ? NULL : bale_requests_find(&in_flight->requests, unique);
    bool done = request && request->may_be_given_up && hold(in_flight->mount, request, &held) &&
                atomic_compare_exchange_strong(&request->unique, &unique, unique | BALE_GIVEN_UP);
    if (done) {
        request->held = held;
        held = (struct bale_held){0};
        bale_requests_lock(&in_flight->requests, request);
        atomic_fetch_add(&in_flight->given_up, 1);
    }
    if (dropped)
        take_back(in_flight, dropped);
    pthread_mutex_unlock(&in_flight->lock);
    let_go(in_flight->mount, &held);
    if (dropped)
        bale_queued_destroy(bale_volume_memory(in_flight->mount->volume), dropped);
    return done || dropped;
}

bool bale_in_flight_hold_back(struct bale_in_flight *in_flight, const void *request, size_t size)
{
    struct bale_queued *queued = NULL;

    if (atomic_load(&in_flight->given_up) == 0)
        return false;
    struct bale_effects effects = bale_effects_of(request, size);
    pthread_mutex_lock(&in_flight->lock);
    if (bale_requests_locks(&in_flight->requests, effects.within[0]) ||
        bale_requests_locks(&in_flight->requests, effects.within[1]))
        queued = bale_queued_create(bale_volume_memory(in_flight->mount->volume), request, size);
    if (queued) {
        bale_queued_append(&in_flight->back, queued);
        bale_queued_enter(&in_flight->waiting, queued);
    }
    pthread_mutex_unlock(&in_flight->lock);
    return queued;
}
