#include "fs/daemon/session.h"

#include <errno.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/base/log.h"
#include "fs/daemon/control.h"
#include "fs/daemon/in_flight.h"
#include "fs/daemon/lanes.h"
#include "fs/daemon/negotiate.h"
#include "fs/daemon/relief.h"
#include "fs/daemon/unmount.h"
#include "fs/fuse/caller.h"
#include "fs/fuse/freeze.h"
#include "fs/fuse/interrupt.h"
#include "fs/fuse/request.h"
#include "kernels/base/thread.h"

#define WAKE_SIGNAL SIGUSR1
#define WAKE_EVERY_NS 2000000
#define HEADER_ROOM 4096u

/* Older versions of linux/fuse.h do not have it. */
#define OPCODE_SYNCFS 50

struct bale_session {
    struct bale_mount *mount; /* no member up to buffer_size changes once there are threads */
    struct bale_negotiation negotiation;
    struct fuse_session *fuse;
    char *mountpoint;
    uint64_t device; /* st_dev of the mount */
    int fd;          /* /dev/fuse */
    int ended;       /* eventfd, the caller's */
    size_t buffer_size;
    struct bale_lanes *lanes;
    struct bale_in_flight *in_flight;
    struct bale_relief *relief;
    void *relief_buffer;
    atomic_bool stopping;
    unsigned threads; /* entries of ids; only start and stop use it, on one thread */
    pthread_t *ids;
    pthread_mutex_t lock; /* guards alive */
    unsigned alive;       /* threads that receive requests */
};

/* ---- One request ---- */

/* Replies to a request that libfuse has not seen. */
static void reply_raw(const struct bale_session *session, uint64_t unique, int error)
{
    struct fuse_out_header out = {.len = sizeof out, .error = -error, .unique = unique};

    (void)!write(session->fd, &out, sizeof out);
}

/* Whether the request would change the store although another writer has it. A RELEASE cannot fail;
 * it then writes nothing. */
static bool is_refused(const struct bale_session *session, const void *request, size_t size)
{
    const struct fuse_in_header *in = request;

    return in->opcode != FUSE_RELEASE && bale_freezer_is_change(request, size) &&
           bale_store_is_stopped(session->mount->store);
}

/* Also the callback of the freezer: see fs/fuse/freeze.h. */
static void session_handle(void *arg, void *request, size_t size)
{
    struct bale_session *session = arg;
    struct fuse_buf buf = {.mem = request, .size = size};

    if (is_refused(session, request, size)) {
        reply_raw(session, ((const struct fuse_in_header *)request)->unique, EIO);
        return;
    }
    bale_request_note(request, size);
    fuse_session_process_buf(session->fuse, &buf);
}

/* A syncfs request, which libfuse does not know. */
struct syncfs_op {
    struct bale_session *session;
    uint64_t unique;
};

/* bale_volume_sync: from another thread, without locks. */
static void syncfs_done(void *arg, int err)
{
    struct syncfs_op *op = arg;

    reply_raw(op->session, op->unique, bale_err_to_errno(err));
    free(op);
}

static void syncfs_request(struct bale_session *session, uint64_t unique)
{
    struct syncfs_op *op = malloc(sizeof *op);

    if (!op) {
        reply_raw(session, unique, ENOMEM);
        return;
    }
    *op = (struct syncfs_op){session, unique};
    bale_volume_sync(session->mount->volume, true, syncfs_done, op);
}

static void interrupt_request(struct bale_session *session, uint64_t unique)
{
    if (bale_freezer_drop_request(session->mount->freezer, unique)) {
        reply_raw(session, unique, EINTR);
    } else {
        bale_relief_interrupt(session->relief, unique);
        bale_interrupts_deliver(session->mount->interrupts, unique);
    }
}

/* Requests that are about no node have the number 0. */
static bool has_node(struct bale_mount *mount, const struct fuse_in_header *in)
{
    return in->nodeid == 0 || bale_node_of(mount, in->nodeid);
}

/* Hands a copy of the request to the lanes. */
static void send_to_lane(struct bale_session *session, struct bale_queued *queued, uint64_t unique)
{
    if (!queued || !bale_lanes_submit(session->lanes, queued))
        reply_raw(session, unique, ENOMEM);
}

static void handle_in_flight(struct bale_session *session, void *request, size_t size)
{
    struct bale_queued *back;

    bale_in_flight_begin(request, size);
    session_handle(session, request, size);
    bool given_up = bale_in_flight_end(session->in_flight, request, &back);
    while (back) {
        struct bale_queued *next = back->next;
        send_to_lane(session, back, ((const struct fuse_in_header *)(void *)back->request)->unique);
        back = next;
    }
    if (given_up)
        bale_in_flight_tell_kernel(session->in_flight, request, size);
}

static void session_dispatch(struct bale_session *session, void *request, size_t size)
{
    const struct fuse_in_header *in = request;
    struct bale_mount *mount = session->mount;

    if (size < sizeof *in)
        return;
    if (!has_node(mount, in)) {
        if (in->opcode != FUSE_FORGET) /* has no reply */
            reply_raw(session, in->unique, ESTALE);
        return;
    }
    if (in->opcode == FUSE_INTERRUPT && size >= sizeof *in + sizeof(struct fuse_interrupt_in)) {
        interrupt_request(session, ((const struct fuse_interrupt_in *)(in + 1))->unique);
    } else if (in->opcode == OPCODE_SYNCFS) {
        syncfs_request(session, in->unique);
    } else if (!bale_in_flight_hold_back(session->in_flight, request, size) &&
               bale_freezer_request_begin(mount->freezer, request, size)) {
        handle_in_flight(session, request, size);
        bale_freezer_request_end(mount->freezer);
    }
}

/* ---- Receiving ---- */

static void *new_buffer(const struct bale_session *session)
{
    void *buffer = mmap(NULL, session->buffer_size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (buffer == MAP_FAILED)
        return NULL;
    bale_memory_count(bale_volume_memory(session->mount->volume), (int64_t)session->buffer_size);
    return buffer;
}

static void free_buffer(const struct bale_session *session, void *buffer)
{
    munmap(buffer, session->buffer_size);
    bale_memory_count(bale_volume_memory(session->mount->volume), -(int64_t)session->buffer_size);
}

typedef void session_dispatcher(struct bale_session *session, void *request, size_t size);

/* Reads one request and dispatches it. False: the connection is gone, or the session is to stop. */
static bool session_receive(struct bale_session *session, void *buffer,
                            session_dispatcher *dispatch)
{
    ssize_t got = read(session->fd, buffer, session->buffer_size);
    int e = errno;

    if (dispatch == session_dispatch)
        bale_relief_read_end(session->relief);
    errno = e;
    if (got >= 0) {
        dispatch(session, buffer, (size_t)got);
    } else if (errno == ENODEV || errno == ECONNABORTED) {
        /* Unmounted: between two requests, or while the kernel was copying one. */
        fuse_session_exit(session->fuse);
        return false;
    } else if (errno != EINTR && errno != EAGAIN && errno != ENOENT) {
        bale_log(BALE_LOG_ERROR, "/dev/fuse: cannot be read: %s: unmount %s", strerror(errno),
                 session->mountpoint);
        return false;
    }
    return !atomic_load(&session->stopping) && !fuse_session_exited(session->fuse);
}

/* ---- While session threads stall ---- */

/* The store is asked for nothing, as far as the request shows: what it needs is in memory, or a thread of
 * the volume does it. */
static bool never_stalls(const struct bale_session *session, const struct fuse_in_header *in,
                         size_t size)
{
    const struct bale_node *node;

    switch (in->opcode) {
    case FUSE_INTERRUPT:
    case FUSE_READ:
    case FUSE_FLUSH:
    case FUSE_RELEASE:
        return true;
    case FUSE_WRITE: /* may take set-id bits away */
        node = bale_node_of(session->mount, in->nodeid);
        return node && !(node->mode & (S_ISUID | S_ISGID)) && !(node->marks & BALE_MARK_CAPABILITY);
    case FUSE_IOCTL:
        return size >= sizeof *in + sizeof(struct fuse_ioctl_in) &&
               ((const struct fuse_ioctl_in *)(in + 1))->cmd == BALE_IOC_STATUS;
    default:
        return false;
    }
}

/* The relief's dispatcher. */
static void session_relay(struct bale_session *session, void *request, size_t size)
{
    const struct fuse_in_header *in = request;

    if (size < sizeof *in)
        return;
    if (never_stalls(session, in, size))
        session_dispatch(session, request, size);
    else
        send_to_lane(session,
                     bale_queued_create(bale_volume_memory(session->mount->volume), request, size),
                     in->unique);
}

static bool relief_receive(void *arg)
{
    struct bale_session *session = arg;

    return session_receive(session, session->relief_buffer, session_relay);
}

static void relief_answer(void *arg, uint64_t unique, int e)
{
    reply_raw(arg, unique, e);
}

static const struct bale_relief_ops relief_ops = {relief_receive, relief_answer};

static void thread_begin(void *arg)
{
    struct bale_session *session = arg;

    if (session->mount->dont_mask)
        (void)bale_caller_own_umask();
    (void)bale_in_flight_enter(session->in_flight);
}

static void thread_end(void *arg)
{
    bale_in_flight_leave(((struct bale_session *)arg)->in_flight);
}

static void lane_handle(void *arg, void *request, size_t size)
{
    session_dispatch(arg, request, size);
}

static const struct bale_lanes_ops lanes_ops = {thread_begin, lane_handle, thread_end};

static int create_relief(struct bale_session *session)
{
    int err = bale_in_flight_create(session->mount, &session->in_flight);

    if (err == BALE_OK)
        err = bale_lanes_create(bale_volume_memory(session->mount->volume), &lanes_ops, session,
                                &session->lanes);
    if (err == BALE_OK)
        err = bale_relief_create(session->fd, session->lanes, session->in_flight, &relief_ops,
                                 session, &session->relief);
    if (err == BALE_OK && !(session->relief_buffer = new_buffer(session)))
        err = BALE_E_NOMEM;
    return err;
}

/* While the volume exists, whose memory counts what is queued. */
static void destroy_relief(struct bale_session *session)
{
    bale_relief_destroy(session->relief);
    bale_lanes_destroy(session->lanes);
    bale_in_flight_destroy(session->in_flight);
    if (session->relief_buffer)
        free_buffer(session, session->relief_buffer);
    session->relief = NULL;
    session->lanes = NULL;
    session->in_flight = NULL;
    session->relief_buffer = NULL;
}

/* ---- The session threads ---- */

/* The body of the threads that receive requests. */
static void *session_thread(void *arg)
{
    struct bale_session *session = arg;
    void *buffer = new_buffer(session);

    thread_begin(session);
    struct bale_pool *pool = bale_volume_pool(session->mount->volume);
    bale_pool_enter(pool, session->mount->keep_out_of_reserve ? bale_caller_as_nobody : NULL);
    bool more = buffer;
    while (more) {
        bale_relief_read_begin(session->relief);
        more = session_receive(session, buffer, session_dispatch);
    }
    bale_pool_leave(pool);
    thread_end(session);
    if (buffer)
        free_buffer(session, buffer);
    pthread_mutex_lock(&session->lock);
    bool last = --session->alive == 0;
    pthread_mutex_unlock(&session->lock);
    if (last)
        (void)!write(session->ended, &(uint64_t){1}, sizeof(uint64_t));
    return NULL;
}

int bale_session_start(struct bale_session *session, unsigned threads)
{
    session->ids = calloc(threads, sizeof *session->ids);
    if (!session->ids)
        return BALE_E_NOMEM;
    session->alive = threads;
    for (; session->threads < threads; session->threads++)
        if (bale_thread_start(&session->ids[session->threads], "balefs-session", session_thread,
                              session) != 0)
            break;
    pthread_mutex_lock(&session->lock);
    session->alive -= threads - session->threads;
    pthread_mutex_unlock(&session->lock);
    if (session->threads == 0) {
        session->device = 0; /* no thread would answer requests: destroy unmounts */
        return BALE_E_NOMEM;
    }
    return bale_relief_start(session->relief);
}

void bale_session_stop(struct bale_session *session)
{
    const struct timespec pause = {.tv_nsec = WAKE_EVERY_NS};

    atomic_store(&session->stopping, true);
    bale_relief_stop(session->relief, WAKE_SIGNAL);
    for (unsigned i = 0; i < session->threads; i++) {
        /* A thread that has checked stopping but has not called read yet misses the signal:
         * repeat it until the thread has ended. */
        while (pthread_tryjoin_np(session->ids[i], NULL) != 0) {
            pthread_kill(session->ids[i], WAKE_SIGNAL);
            nanosleep(&pause, NULL);
        }
    }
    session->threads = 0;
    bale_lanes_stop(session->lanes);
    destroy_relief(session);
}

/* ---- Mounting ---- */

/* Only interrupts read(). */
static void session_wake(int signal)
{
    (void)signal;
}

static int connect_kernel(struct bale_session *session, const struct bale_mount_options *options,
                          const struct bale_trust *trust, struct bale_reason *why)
{
    struct sigaction action = {.sa_handler = session_wake};

    sigaction(WAKE_SIGNAL, &action, NULL); /* without SA_RESTART: it interrupts read */
    session->fuse = bale_negotiation_mount(&session->negotiation, session->mount, options, trust,
                                           session->mountpoint, why);
    if (!session->fuse)
        return BALE_E_IO;
    session->mount->session = session->fuse;
    session->fd = fuse_session_fd(session->fuse);
    session->buffer_size = BALE_MAX_WRITE + HEADER_ROOM;
    int err = create_relief(session);
    if (err != BALE_OK)
        return err;
    bale_relief_read_begin(session->relief);
    bool agreed = session_receive(session, session->relief_buffer, session_dispatch) &&
                  session->negotiation.agreed;
    if (!agreed) {
        bale_reason_set(why, "%s: the kernel and libfuse could not agree: %s", session->mountpoint,
                        session->negotiation.trouble);
        return BALE_E_UNSUPPORTED;
    }
    session->device = bale_mount_device(session->mountpoint);
    bale_negotiation_read_ahead(&session->negotiation, session->device);
    return BALE_OK;
}

int bale_session_create(struct bale_mount *mount, const struct bale_mount_options *options,
                        const struct bale_trust *trust, const char *mountpoint, int ended,
                        struct bale_session **out, struct bale_reason *why)
{
    struct bale_session *session = calloc(1, sizeof *session);

    if (!session)
        return BALE_E_NOMEM;
    session->mount = mount;
    session->fd = -1;
    session->ended = ended;
    session->mountpoint = strdup(mountpoint);
    pthread_mutex_init(&session->lock, NULL);
    bale_freezer_set_handler(mount->freezer, session_handle, session);
    int err = session->mountpoint ? connect_kernel(session, options, trust, why) : BALE_E_NOMEM;
    if (err != BALE_OK) {
        bale_session_destroy(session);
        session = NULL;
    }
    *out = session;
    return err;
}

const char *bale_session_text(const struct bale_session *session)
{
    return session->negotiation.text;
}

void bale_session_unmount(struct bale_session *session)
{
    bale_mount_detach(session->mountpoint, session->device);
}

static bool connection_is_gone(int fd)
{
    struct pollfd pfd = {.fd = fd};

    return poll(&pfd, 1, 0) == 1 && pfd.revents & POLLERR;
}

void bale_session_destroy(struct bale_session *session)
{
    if (!session)
        return;
    if (session->fuse) {
        fuse_session_exit(session->fuse);
        /* libfuse unmounts by path. If this mount has been detached already, another one may lie
         * there; so let libfuse do it only if the mount was not identified, or if the connection is
         * gone, when libfuse does nothing but free memory. */
        if (session->device == 0 || connection_is_gone(session->fd))
            fuse_session_unmount(session->fuse);
        fuse_session_destroy(session->fuse);
    }
    destroy_relief(session);
    pthread_mutex_destroy(&session->lock);
    free(session->mountpoint);
    free(session->ids);
    free(session);
}
