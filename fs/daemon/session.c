#include "fs/daemon/session.h"

#include <errno.h>
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
#include "fs/daemon/handler.h"
#include "fs/daemon/negotiate.h"
#include "fs/daemon/unmount.h"
#include "fs/fuse/caller.h"
#include "fs/fuse/freeze.h"
#include "fs/fuse/in_flight.h"
#include "fs/fuse/interrupt.h"
#include "kernels/base/thread.h"

#define WAKE_SIGNAL SIGUSR2 /* SIGUSR1 is blocked: signals.c waits for it */
#define WAKE_EVERY_NS 2000000
#define HEADER_ROOM 4096u

struct bale_session {
    struct bale_handler handler; /* no member up to relief_buffer changes once there are threads */
    struct bale_negotiation negotiation;
    char *mountpoint;
    uint64_t device; /* st_dev of the mount */
    int ended;       /* eventfd, the caller's */
    size_t buffer_size;
    void *relief_buffer;
    atomic_bool stopping;
    unsigned threads; /* entries of ids; only start and stop use it, on one thread */
    pthread_t *ids;
    pthread_mutex_t lock; /* guards alive */
    unsigned alive;       /* threads that receive requests */
};

/* ---- Receiving ---- */

static void *new_buffer(const struct bale_session *session)
{
    void *buffer = mmap(NULL, session->buffer_size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (buffer == MAP_FAILED)
        return NULL;
    bale_memory_count(bale_volume_memory(session->handler.mount->volume),
                      (int64_t)session->buffer_size);
    return buffer;
}

static void free_buffer(const struct bale_session *session, void *buffer)
{
    munmap(buffer, session->buffer_size);
    bale_memory_count(bale_volume_memory(session->handler.mount->volume),
                      -(int64_t)session->buffer_size);
}

typedef void session_dispatcher(struct bale_handler *handler, void *request, size_t size);

/* On a session thread. */
static void session_dispatch(struct bale_handler *handler, void *request, size_t size)
{
    bool crowded =
        size >= sizeof(struct fuse_in_header) && bale_relief_is_crowded(handler->relief, request);

    (crowded ? bale_handler_relay : bale_handler_dispatch)(handler, request, size);
}

/* Reads one request and dispatches it. False: the connection is gone, or the session is to stop. */
static bool session_receive(struct bale_session *session, void *buffer,
                            session_dispatcher *dispatch)
{
    ssize_t got = read(session->handler.fd, buffer, session->buffer_size);
    int e = errno;

    if (dispatch == session_dispatch)
        bale_relief_read_end(session->handler.relief);
    errno = e;
    if (got >= 0) {
        dispatch(&session->handler, buffer, (size_t)got);
    } else if (errno == ENODEV || errno == ECONNABORTED) {
        /* Unmounted: between two requests, or while the kernel was copying one. */
        fuse_session_exit(session->handler.fuse);
        return false;
    } else if (errno != EINTR && errno != EAGAIN && errno != ENOENT) {
        bale_log(BALE_LOG_ERROR, "/dev/fuse: cannot be read: %s: unmount %s", strerror(errno),
                 session->mountpoint);
        return false;
    }
    return !atomic_load(&session->stopping) && !fuse_session_exited(session->handler.fuse);
}

static bool relief_receive(void *arg)
{
    struct bale_session *session = arg;

    return session_receive(session, session->relief_buffer, bale_handler_relay);
}

static void relief_answer(void *arg, uint64_t unique, int e)
{
    struct bale_session *session = arg;

    bale_interrupts_give_up(session->handler.mount->interrupts, unique);
    bale_handler_reply(&session->handler, unique, e);
}

static const struct bale_relief_ops relief_ops = {relief_receive, relief_answer};

static void thread_begin(void *arg)
{
    struct bale_session *session = arg;

    if (session->handler.mount->dont_mask)
        (void)bale_caller_own_umask();
    (void)bale_in_flight_enter(session->handler.mount->in_flight);
}

static void thread_end(void *arg)
{
    bale_in_flight_leave(((struct bale_session *)arg)->handler.mount->in_flight);
}

static void lane_handle(void *arg, void *request, size_t size)
{
    bale_handler_dispatch(&((struct bale_session *)arg)->handler, request, size);
}

static const struct bale_lanes_ops lanes_ops = {thread_begin, lane_handle, thread_end};

static int create_relief(struct bale_session *session)
{
    struct bale_in_flight *in_flight = session->handler.mount->in_flight;
    int err = bale_lanes_create(bale_volume_memory(session->handler.mount->volume), &lanes_ops,
                                session, &session->handler.lanes);

    bale_in_flight_start(in_flight, bale_handler_resume, &session->handler);
    if (err == BALE_OK)
        err = bale_relief_create(session->handler.fd, session->handler.lanes, in_flight,
                                 &relief_ops, session, &session->handler.relief);
    if (err == BALE_OK && !(session->relief_buffer = new_buffer(session)))
        err = BALE_E_NOMEM;
    return err;
}

/* While the volume exists, whose memory counts what is queued. */
static void destroy_relief(struct bale_session *session)
{
    bale_relief_destroy(session->handler.relief);
    bale_lanes_destroy(session->handler.lanes);
    if (session->relief_buffer)
        free_buffer(session, session->relief_buffer);
    session->handler.relief = NULL;
    session->handler.lanes = NULL;
    session->relief_buffer = NULL;
}

/* ---- The session threads ---- */

/* The body of the threads that receive requests. */
static void *session_thread(void *arg)
{
    struct bale_session *session = arg;
    void *buffer = new_buffer(session);

    thread_begin(session);
    struct bale_pool *pool = bale_volume_pool(session->handler.mount->volume);
    bale_pool_enter(pool,
                    session->handler.mount->keep_out_of_reserve ? bale_caller_as_nobody : NULL);
    bool more = buffer;
    while (more) {
        bale_relief_read_begin(session->handler.relief);
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
    return bale_relief_start(session->handler.relief);
}

void bale_session_stop(struct bale_session *session)
{
    const struct timespec pause = {.tv_nsec = WAKE_EVERY_NS};

    atomic_store(&session->stopping, true);
    bale_relief_stop(session->handler.relief, WAKE_SIGNAL);
    for (unsigned i = 0; i < session->threads; i++) {
        /* A thread that has checked stopping but has not called read yet misses the signal:
         * repeat it until the thread has ended. */
        while (pthread_tryjoin_np(session->ids[i], NULL) != 0) {
            pthread_kill(session->ids[i], WAKE_SIGNAL);
            nanosleep(&pause, NULL);
        }
    }
    session->threads = 0;
    bale_lanes_stop(session->handler.lanes);
    bale_in_flight_stop(session->handler.mount->in_flight);
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
    session->handler.fuse = bale_negotiation_mount(&session->negotiation, session->handler.mount,
                                                   options, trust, session->mountpoint, why);
    if (!session->handler.fuse)
        return BALE_E_IO;
    session->handler.mount->session = session->handler.fuse;
    session->handler.fd = fuse_session_fd(session->handler.fuse);
    session->buffer_size = session->negotiation.max_write + HEADER_ROOM;
    int err = create_relief(session);
    if (err != BALE_OK)
        return err;
    bale_relief_read_begin(session->handler.relief);
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
    session->handler.mount = mount;
    session->handler.fd = -1;
    session->ended = ended;
    session->mountpoint = strdup(mountpoint);
    pthread_mutex_init(&session->lock, NULL);
    bale_freezer_set_handler(mount->freezer, bale_handler_handle, &session->handler);
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

bool bale_session_was_used(struct bale_session *session)
{
    return atomic_exchange(&session->handler.used, false);
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
    if (session->handler.fuse) {
        fuse_session_exit(session->handler.fuse);
        /* libfuse unmounts by path. If this mount has been detached already, another one may lie
         * there; so let libfuse do it only if the mount was not identified, or if the connection is
         * gone, when libfuse does nothing but free memory. */
        if (session->device == 0 || connection_is_gone(session->handler.fd))
            fuse_session_unmount(session->handler.fuse);
        fuse_session_destroy(session->handler.fuse);
    }
    destroy_relief(session);
    pthread_mutex_destroy(&session->lock);
    free(session->mountpoint);
    free(session->ids);
    free(session);
}
