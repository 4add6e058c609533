#include "fs/daemon/in_flight.h"

#include <linux/fuse.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "fs/fuse/freeze.h"
#include "fs/fuse/request.h"

/* Older versions of linux/fuse.h do not have it. */
#define OPCODE_TMPFILE 51

#define GIVEN_UP 1u /* the kernel's numbers are even */

/* A thread that handles requests. */
struct handler {
    _Atomic uint64_t unique; /* of its request, and GIVEN_UP; 0: none */
    /* Valid while unique is not 0. */
    uint32_t pid;
    bool may_be_given_up;
    uint64_t nodes[2]; /* numbers of the nodes that it uses, or 0 */
    uint64_t dirs[2];  /* of the directories that it changes names in, or 0 */

    struct bale_node *held[2]; /* nodes, once it is given up */
    struct handler *next;
};

struct bale_in_flight {
    struct bale_mount *mount;
    pthread_mutex_t lock; /* guards the rest, and held of the handlers */
    struct handler *handlers;
    atomic_uint locks; /* handlers of requests that were given up */
    struct bale_queued *back, **last;
};

static _Thread_local struct handler *self;

/* ---- What a request names ---- */

struct names {
    uint64_t dirs[2];
    const char *names[2]; /* NULL: none, or it cannot be read */
};

/* The text at an offset behind the header, or NULL. */
static const char *text_at(const void *request, size_t size, size_t offset)
{
    const char *begin = (const char *)request + sizeof(struct fuse_in_header) + offset;
    size_t used = sizeof(struct fuse_in_header) + offset;

    return used < size && memchr(begin, '\0', size - used) ? begin : NULL;
}

static struct names names_of(const void *request, size_t size)
{
    const struct fuse_in_header *in = request;
    size_t rename =
        in->opcode == FUSE_RENAME ? sizeof(struct fuse_rename_in) : sizeof(struct fuse_rename2_in);

    switch (in->opcode) {
    case FUSE_LOOKUP:
    case FUSE_UNLINK:
    case FUSE_RMDIR:
    case FUSE_SYMLINK:
        return (struct names){{in->nodeid}, {text_at(request, size, 0)}};
    case FUSE_MKDIR:
        return (struct names){{in->nodeid}, {text_at(request, size, sizeof(struct fuse_mkdir_in))}};
    case FUSE_MKNOD:
        return (struct names){{in->nodeid}, {text_at(request, size, sizeof(struct fuse_mknod_in))}};
    case FUSE_CREATE:
        return (struct names){{in->nodeid},
                              {text_at(request, size, sizeof(struct fuse_create_in))}};
    case FUSE_LINK:
        return (struct names){{in->nodeid}, {text_at(request, size, sizeof(struct fuse_link_in))}};
    case OPCODE_TMPFILE:
        return (struct names){{in->nodeid}, {NULL}};
    case FUSE_RENAME:
    case FUSE_RENAME2:
        break;
    default:
        return (struct names){{0}, {NULL}};
    }
    const char *from = text_at(request, size, rename);
    if (!from)
        return (struct names){{in->nodeid}, {NULL}};
    /* Both structs begin with the new directory. */
    return (struct names){{in->nodeid, ((const struct fuse_rename_in *)(in + 1))->newdir},
                          {from, text_at(request, size, rename + strlen(from) + 1)}};
}

/* Whether neither the handler nor a reply that fails needs anything of the caller's any more but its
 * nodes. Other requests use an open file or directory, which the kernel could release, or change
 * something else than names, whose order would be lost. */
static bool may_be_given_up(const void *request, size_t size)
{
    switch (((const struct fuse_in_header *)request)->opcode) {
    case FUSE_LOOKUP:
    case FUSE_GETATTR:
    case FUSE_READLINK:
    case FUSE_STATFS:
    case FUSE_GETXATTR:
    case FUSE_LISTXATTR:
    case FUSE_UNLINK:
    case FUSE_RMDIR:
    case FUSE_SYMLINK:
    case FUSE_MKDIR:
    case FUSE_MKNOD:
    case FUSE_CREATE:
    case FUSE_LINK:
    case FUSE_RENAME:
    case FUSE_RENAME2:
    case OPCODE_TMPFILE:
        return true;
    case FUSE_OPEN:
        return !bale_freezer_is_change(request, size); /* does not truncate */
    default:
        return false;
    }
}

/* ---- Threads and their requests ---- */

int bale_in_flight_create(struct bale_mount *mount, struct bale_in_flight **out)
{
    struct bale_in_flight *in_flight = calloc(1, sizeof *in_flight);

    if (!in_flight)
        return BALE_E_NOMEM;
    in_flight->mount = mount;
    in_flight->last = &in_flight->back;
    pthread_mutex_init(&in_flight->lock, NULL);
    *out = in_flight;
    return BALE_OK;
}

void bale_in_flight_destroy(struct bale_in_flight *in_flight)
{
    if (!in_flight)
        return;
    while (in_flight->back) {
        struct bale_queued *queued = in_flight->back;
        in_flight->back = queued->next;
        bale_queued_destroy(bale_volume_memory(in_flight->mount->volume), queued);
    }
    pthread_mutex_destroy(&in_flight->lock);
    free(in_flight);
}

int bale_in_flight_enter(struct bale_in_flight *in_flight)
{
    self = calloc(1, sizeof *self);
    if (!self)
        return BALE_E_NOMEM;
    pthread_mutex_lock(&in_flight->lock);
    self->next = in_flight->handlers;
    in_flight->handlers = self;
    pthread_mutex_unlock(&in_flight->lock);
    return BALE_OK;
}

void bale_in_flight_leave(struct bale_in_flight *in_flight)
{
    if (!self)
        return;
    pthread_mutex_lock(&in_flight->lock);
    struct handler **at = &in_flight->handlers;
    while (*at != self)
        at = &(*at)->next;
    *at = self->next;
    pthread_mutex_unlock(&in_flight->lock);
    free(self);
    self = NULL;
}

void bale_in_flight_begin(const void *request, size_t size)
{
    const struct fuse_in_header *in = request;
    struct names names = names_of(request, size);

    if (!self)
        return;
    self->pid = in->pid;
    self->may_be_given_up = may_be_given_up(request, size);
    self->nodes[0] = in->nodeid;
    self->nodes[1] = names.dirs[1];
    if (in->opcode == FUSE_LINK && names.names[0])
        self->nodes[1] = ((const struct fuse_link_in *)(in + 1))->oldnodeid;
    self->dirs[0] = in->opcode == FUSE_LOOKUP ? 0 : names.dirs[0];
    self->dirs[1] = names.dirs[1];
    bale_request_note_handler(&self->unique);
    atomic_store(&self->unique, in->unique);
}

void bale_in_flight_tell_kernel(struct bale_in_flight *in_flight, const void *request, size_t size)
{
    struct names names = names_of(request, size);

    for (int i = 0; i < 2; i++) {
        const char *name = names.names[i];
        uint64_t dir = i && names.dirs[1] ? names.dirs[1] : names.dirs[0];
        if (name)
            (void)fuse_lowlevel_notify_inval_entry(in_flight->mount->session, dir, name,
                                                   strlen(name));
    }
}

bool bale_in_flight_end(struct bale_in_flight *in_flight, const void *request,
                        struct bale_queued **back)
{
    uint64_t unique = ((const struct fuse_in_header *)request)->unique;

    *back = NULL;
    if (!self || atomic_compare_exchange_strong(&self->unique, &unique, 0))
        return false;
    pthread_mutex_lock(&in_flight->lock);
    struct bale_node *held[2] = {self->held[0], self->held[1]};
    *back = in_flight->back;
    in_flight->back = NULL;
    in_flight->last = &in_flight->back;
    memset(self->held, 0, sizeof self->held);
    atomic_store(&self->unique, 0);
    atomic_fetch_sub(&in_flight->locks, 1);
    pthread_mutex_unlock(&in_flight->lock);
    for (int i = 0; i < 2; i++)
        if (held[i])
            bale_node_unref(in_flight->mount->nodes, held[i]);
    return true;
}

uint64_t bale_in_flight_progress(struct bale_in_flight *in_flight)
{
    uint64_t sum = 0;

    pthread_mutex_lock(&in_flight->lock);
    for (struct handler *handler = in_flight->handlers; handler; handler = handler->next)
        sum = sum * 31 + atomic_load(&handler->unique);
    pthread_mutex_unlock(&in_flight->lock);
    return sum;
}

/* ---- Giving up ---- */

/* Under the lock. */
static struct handler *handler_of(struct bale_in_flight *in_flight, uint64_t unique)
{
    struct handler *handler = in_flight->handlers;

    while (handler && atomic_load(&handler->unique) != unique)
        handler = handler->next;
    return handler;
}

bool bale_in_flight_find(struct bale_in_flight *in_flight, uint64_t unique, uint32_t *pid)
{
    pthread_mutex_lock(&in_flight->lock);
    bool found = bale_queued_find(&in_flight->back, unique, pid);
    struct handler *handler = found ? NULL : handler_of(in_flight, unique);
    if (handler)
        *pid = handler->pid;
    pthread_mutex_unlock(&in_flight->lock);
    return found || handler;
}

static bool locks(const struct handler *handler, uint64_t dir)
{
    return dir && (handler->dirs[0] == dir || handler->dirs[1] == dir);
}

/* Under the lock. False: it has ended, or its nodes are gone, which means the same. */
static bool give_up(struct bale_in_flight *in_flight, struct handler *handler, uint64_t unique)
{
    struct bale_nodes *nodes = in_flight->mount->nodes;
    struct bale_node *held[2] = {NULL, NULL};
    bool good = true;

    for (int i = 0; i < 2 && good; i++) {
        uint64_t node = handler->nodes[i];
        if (node && node != FUSE_ROOT_ID)
            good = (held[i] = bale_node_ref_number(nodes, node));
    }
    good = good && atomic_compare_exchange_strong(&handler->unique, &unique, unique | GIVEN_UP);
    for (int i = 0; i < 2; i++)
        if (good)
            handler->held[i] = held[i];
        else if (held[i])
            bale_node_unref(nodes, held[i]);
    if (good)
        atomic_fetch_add(&in_flight->locks, 1);
    return good;
}

bool bale_in_flight_give_up(struct bale_in_flight *in_flight, uint64_t unique)
{
    struct bale_queued *dropped = NULL;
    uint32_t pid;

    pthread_mutex_lock(&in_flight->lock);
    struct bale_queued **at = bale_queued_find(&in_flight->back, unique, &pid);
    struct handler *handler = at ? NULL : handler_of(in_flight, unique);
    bool done = handler && handler->may_be_given_up && give_up(in_flight, handler, unique);
    if (at) {
        dropped = *at;
        *at = dropped->next;
        if (!*at)
            in_flight->last = at;
    }
    pthread_mutex_unlock(&in_flight->lock);
    if (dropped)
        bale_queued_destroy(bale_volume_memory(in_flight->mount->volume), dropped);
    return done || dropped;
}

bool bale_in_flight_hold_back(struct bale_in_flight *in_flight, const void *request, size_t size)
{
    struct names names = names_of(request, size);
    bool back = false;

    if (!names.dirs[0] || atomic_load(&in_flight->locks) == 0)
        return false;
    pthread_mutex_lock(&in_flight->lock);
    for (struct handler *handler = in_flight->handlers; handler && !back; handler = handler->next)
        back = atomic_load(&handler->unique) & GIVEN_UP &&
               (locks(handler, names.dirs[0]) || locks(handler, names.dirs[1]));
    struct bale_queued *queued =
        back ? bale_queued_create(bale_volume_memory(in_flight->mount->volume), request, size)
             : NULL;
    if (queued) {
        *in_flight->last = queued;
        in_flight->last = &queued->next;
    }
    pthread_mutex_unlock(&in_flight->lock);
    return queued;
}
