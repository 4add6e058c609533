#include "fs/daemon/handler.h"

#include <errno.h>
#include <linux/fuse.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/daemon/control.h"
#include "fs/fuse/freeze.h"
#include "fs/fuse/interrupt.h"
#include "fs/fuse/opened.h"
#include "fs/fuse/request.h"
#include "fs/fuse/xattr.h"

/* Older versions of linux/fuse.h do not have it. */
#define OPCODE_SYNCFS 50

void bale_handler_reply(const struct bale_handler *handler, uint64_t unique, int error)
{
    struct fuse_out_header out = {.len = sizeof out, .error = -error, .unique = unique};

    (void)!write(handler->fd, &out, sizeof out);
}

/* This thread has just found that the store need not be looked at (bale_store_must_look). If that
 * changes meanwhile, the thread must not wait for a look. */
static _Thread_local bool must_not_look;

/* 0, or the errno for a request that would change the store and may not: this mount is read-only
 * (remounting alters that for the kernel alone), or another writer has the store. A RELEASE cannot
 * fail; it then writes nothing. */
static int refusal(const struct bale_handler *handler, const void *request, size_t size)
{
    const struct fuse_in_header *in = request;

    if (in->opcode == FUSE_RELEASE || !bale_freezer_is_change(request, size))
        return 0;
    if (handler->mount->read_only)
        return EROFS;
    if (must_not_look && bale_store_must_look(handler->mount->store))
        return 0;
    return bale_store_is_stopped(handler->mount->store) ? EIO : 0;
}

void bale_handler_handle(void *arg, void *request, size_t size)
{
    struct bale_handler *handler = arg;
    struct fuse_buf buf = {.mem = request, .size = size};

    int e = refusal(handler, request, size);
    if (e) {
        bale_handler_reply(handler, ((const struct fuse_in_header *)request)->unique, e);
        return;
    }
    bale_request_note(request, size);
    fuse_session_process_buf(handler->fuse, &buf);
}

/* A syncfs request, which libfuse does not know. */
struct syncfs_op {
    struct bale_handler *handler;
    uint64_t unique;
};

/* bale_volume_sync: from another thread, without locks. */
static void syncfs_done(void *arg, int err)
{
    struct syncfs_op *op = arg;

    bale_handler_reply(op->handler, op->unique, bale_err_to_errno(err));
    free(op);
}

static void syncfs_request(struct bale_handler *handler, uint64_t unique)
{
    struct syncfs_op *op = malloc(sizeof *op);

    if (!op) {
        bale_handler_reply(handler, unique, ENOMEM);
        return;
    }
    *op = (struct syncfs_op){handler, unique};
    bale_volume_sync(handler->mount->volume, true, syncfs_done, op);
}

static void interrupt_request(struct bale_handler *handler, uint64_t unique)
{
    if (bale_freezer_drop_request(handler->mount->freezer, unique)) {
        bale_handler_reply(handler, unique, EINTR);
    } else {
        bale_relief_interrupt(handler->relief, unique);
        bale_interrupts_deliver(handler->mount->interrupts, unique);
    }
}

/* Requests that are about no node have the number 0. A lookup of "." asks for a node by its number,
 * which need not be known. */
static bool has_node(struct bale_mount *mount, const struct fuse_in_header *in, size_t size)
{
    bool by_number = mount->exports && in->opcode == FUSE_LOOKUP && size == sizeof *in + 2 &&
                     memcmp(in + 1, ".", 2) == 0;

    return in->nodeid == 0 || by_number || bale_node_of(mount, in->nodeid);
}

/* Hands a copy of the request to the lanes. */
static void send_to_lane(struct bale_handler *handler, struct bale_queued *queued, uint64_t unique)
{
    if (!queued || !bale_lanes_submit(handler->lanes, queued))
        bale_handler_reply(handler, unique, ENOMEM);
}

static void handle_in_flight(struct bale_handler *handler, void *request, size_t size)
{
    struct bale_in_flight *in_flight = handler->mount->in_flight;

    bale_in_flight_begin(request, size);
    bale_handler_handle(handler, request, size);
    if (bale_in_flight_end(in_flight, request))
        bale_in_flight_tell_kernel(in_flight, request, size);
}

void bale_handler_resume(void *arg, struct bale_queued *queued)
{
    send_to_lane(arg, queued, ((const struct fuse_in_header *)(void *)queued->request)->unique);
}

/* FORGET does not count as a use: the kernel forgets nodes by itself, too. */
static void note_use(struct bale_handler *handler, uint32_t opcode)
{
    if (opcode != FUSE_FORGET && opcode != FUSE_BATCH_FORGET &&
        !atomic_load_explicit(&handler->used, memory_order_relaxed))
        atomic_store_explicit(&handler->used, true, memory_order_relaxed);
}

void bale_handler_dispatch(struct bale_handler *handler, void *request, size_t size)
{
    const struct fuse_in_header *in = request;
    struct bale_mount *mount = handler->mount;

    if (size < sizeof *in)
        return;
    note_use(handler, in->opcode);
    if (!has_node(mount, in, size)) {
        if (in->opcode != FUSE_FORGET) /* has no reply */
            bale_handler_reply(handler, in->unique, ESTALE);
        return;
    }
    if (in->opcode == FUSE_INTERRUPT && size >= sizeof *in + sizeof(struct fuse_interrupt_in)) {
        interrupt_request(handler, ((const struct fuse_interrupt_in *)(in + 1))->unique);
    } else if (in->opcode == OPCODE_SYNCFS) {
        syncfs_request(handler, in->unique);
    } else if (!bale_in_flight_hold_back(mount->in_flight, request, size) &&
               bale_freezer_request_begin(mount->freezer, request, size)) {
        handle_in_flight(handler, request, size);
        bale_freezer_request_end(mount->freezer);
    }
}

static bool knows_attribute(struct bale_mount *mount, const struct fuse_in_header *in, size_t size)
{
    const char *name = (const char *)(in + 1) + sizeof(struct fuse_getxattr_in);
    size_t before = sizeof *in + sizeof(struct fuse_getxattr_in);
    struct bale_node *node = bale_node_of(mount, in->nodeid);
    char value[BALE_KNOWN_MAX];
    size_t length;
    int e;

    return node && size > before && memchr(name, '\0', size - before) &&
           !bale_xattr_is_setting(node, name) &&
           bale_xattr_known(mount, node, name, value, &length, &e);
}

/* Whether the request, as far as it shows, asks nothing of the store: what it needs is in memory,
 * or a thread of the volume does it. */
static bool never_stalls(const struct bale_handler *handler, const struct fuse_in_header *in,
                         size_t size)
{
    const struct bale_node *node;

    if (bale_freezer_is_change(in, size) && in->opcode != FUSE_RELEASE &&
        bale_store_must_look(handler->mount->store))
        return false;
    switch (in->opcode) {
    case FUSE_INTERRUPT:
    case FUSE_READ:
    case FUSE_FLUSH:
    case FUSE_RELEASE:
    case FUSE_OPENDIR: /* the directory is opened when it is read */
        return true;
    case FUSE_WRITE: /* may take set-id bits away */
        node = bale_node_of(handler->mount, in->nodeid);
        return node && !(node->mode & (S_ISUID | S_ISGID)) && !(node->marks & BALE_MARK_CAPABILITY);
    case FUSE_IOCTL:
        return size >= sizeof *in + sizeof(struct fuse_ioctl_in) &&
               ((const struct fuse_ioctl_in *)(in + 1))->cmd == BALE_IOC_STATUS;
    case FUSE_GETXATTR:
        return knows_attribute(handler->mount, in, size);
    default:
        return false;
    }
}

/* Opening a file that is open needs nothing of the store either. False: it is another request, or
 * the file is not open. */
static bool dispatch_open(struct bale_handler *handler, void *request, size_t size)
{
    const struct fuse_in_header *in = request;
    struct bale_mount *mount = handler->mount;
    struct bale_node *node = in->opcode == FUSE_OPEN ? bale_node_of(mount, in->nodeid) : NULL;

    if (!node || bale_freezer_is_change(request, size) || !bale_use_hold(mount, node))
        return false;
    bale_node_ref(mount->nodes, node); /* the kernel may forget it after the reply */
    bale_handler_dispatch(handler, request, size);
    bale_use_end(mount, node);
    bale_node_unref(mount->nodes, node);
    return true;
}

void bale_handler_relay(struct bale_handler *handler, void *request, size_t size)
{
    const struct fuse_in_header *in = request;

    if (size < sizeof *in)
        return;
    must_not_look = never_stalls(handler, in, size);
    if (must_not_look)
        bale_handler_dispatch(handler, request, size);
    else if (!dispatch_open(handler, request, size))
        send_to_lane(handler,
                     bale_queued_create(bale_volume_memory(handler->mount->volume), request, size),
                     in->unique);
    must_not_look = false;
}
