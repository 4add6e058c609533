#include "fs/daemon/relief.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "format/err.h"
#include "kernels/base/thread.h"

#define LOOK_MS 10         /* while all session threads are busy */
#define QUIET_LOOKS 100    /* then it sleeps until they are again */
#define DYING_MS 100       /* between looks at callers that got a signal */
#define DYING_MOST 1024    /* of them at a look, so that the thread has time for requests */
#define UNSEEN_MS 1000     /* a caller that cannot be seen is given up after this */
#define CROWDED_LOOKS 5    /* in a row, at which requests waited in the kernel */
#define CALM_LOOKS 100     /* in a row, at which none waited, nor in the lanes */
#define OTHERS_LOOKS 6000  /* after the last request of another user, one is alone */
#define NO_USER UINT32_MAX /* (uid_t)-1, which no user has */

/* A request that was interrupted. */
struct interrupted {
    uint64_t unique;
    int64_t since; /* ms */
    struct interrupted *next;
};

struct bale_relief {
    int fd;
    struct bale_lanes *lanes;
    struct bale_in_flight *in_flight;
    const struct bale_relief_ops *ops;
    void *arg;
    atomic_uint reading; /* session threads in read() */
    atomic_bool awake;   /* the thread looks; false: it is to be woken when reading becomes 0 */
    atomic_bool stopping;
    atomic_uint user;  /* of the last request */
    atomic_bool mixed; /* requests of several users came since the last look */
    atomic_bool crowded;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t wake;
    struct interrupted *interrupted;
};

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int bale_relief_create(int fd, struct bale_lanes *lanes, struct bale_in_flight *in_flight,
                       const struct bale_relief_ops *ops, void *arg, struct bale_relief **out)
{
    struct bale_relief *relief = calloc(1, sizeof *relief);

    if (!relief)
        return BALE_E_NOMEM;
    *relief = (struct bale_relief){
        .fd = fd, .lanes = lanes, .in_flight = in_flight, .ops = ops, .arg = arg, .user = NO_USER};
    pthread_mutex_init(&relief->lock, NULL);
    pthread_cond_init(&relief->wake, NULL);
    *out = relief;
    return BALE_OK;
}

static void relief_awaken(struct bale_relief *relief)
{
    if (atomic_exchange(&relief->awake, true))
        return;
    pthread_mutex_lock(&relief->lock);
    pthread_cond_signal(&relief->wake);
    pthread_mutex_unlock(&relief->lock);
}

void bale_relief_read_begin(struct bale_relief *relief)
{
    atomic_fetch_add(&relief->reading, 1);
}

void bale_relief_read_end(struct bale_relief *relief)
{
    if (atomic_fetch_sub(&relief->reading, 1) == 1 && !atomic_load(&relief->awake))
        relief_awaken(relief);
}

bool bale_relief_is_crowded(struct bale_relief *relief, const struct fuse_in_header *in)
{
    uint32_t last = atomic_load_explicit(&relief->user, memory_order_relaxed);

    if (in->pid != 0 && last != in->uid) {
        atomic_store_explicit(&relief->user, in->uid, memory_order_relaxed);
        if (last != NO_USER)
            atomic_store_explicit(&relief->mixed, true, memory_order_relaxed);
    }
    return atomic_load_explicit(&relief->crowded, memory_order_relaxed);
}

/* ---- Callers that are being killed ---- */

/* Whether the caller, a thread, is being killed. A caller that is gone or cannot be seen, as it is
 * in another pid namespace or hidden in /proc, counts as dying after a while. */
static bool is_dying(uint32_t pid, int64_t since)
{
    char path[40], line[128];
    unsigned long long pending = 0, of_process = 0;
    bool seen = false;

    snprintf(path, sizeof path, "/proc/%u/status", (unsigned)pid);
    FILE *status = pid ? fopen(path, "re") : NULL;
    while (status && fgets(line, sizeof line, status)) {
        seen = true;
        (void)sscanf(line, "SigPnd: %llx", &pending);
        (void)sscanf(line, "ShdPnd: %llx", &of_process);
    }
    if (status)
        fclose(status);
    return (pending | of_process) >> (SIGKILL - 1) & 1 || (!seen && now_ms() - since >= UNSEEN_MS);
}

/* False: the request waits for no thread and has no handler; it has ended, or goes on without
 * one. */
static bool look_at(struct bale_relief *relief, uint64_t unique, int64_t since)
{
    uint32_t pid = 0;

    if (!bale_lanes_find(relief->lanes, unique, &pid) &&
        !bale_in_flight_find(relief->in_flight, unique, &pid))
        return false;
    if (is_dying(pid, since) && (bale_lanes_drop(relief->lanes, unique) ||
                                 bale_in_flight_give_up(relief->in_flight, unique)))
        relief->ops->answer(relief->arg, unique, EINTR);
    return true;
}

void bale_relief_interrupt(struct bale_relief *relief, uint64_t unique)
{
    int64_t now = now_ms();
    struct interrupted *interrupted = malloc(sizeof *interrupted);

    /* If it is not found now, a thread may have read it that has not begun to handle it. */
    (void)look_at(relief, unique, now);
    if (!interrupted)
        return;
    *interrupted = (struct interrupted){.unique = unique, .since = now};
    pthread_mutex_lock(&relief->lock);
    interrupted->next = relief->interrupted;
    relief->interrupted = interrupted;
    pthread_mutex_unlock(&relief->lock);
    relief_awaken(relief);
}

/* Looks at the callers of interrupted requests, at some of them if there are many. Returns whether
 * any is left. */
static bool look_at_interrupted(struct bale_relief *relief)
{
    struct interrupted *kept = NULL, **last = &kept;

    pthread_mutex_lock(&relief->lock);
    struct interrupted *list = relief->interrupted;
    relief->interrupted = NULL;
    pthread_mutex_unlock(&relief->lock);
    for (unsigned i = 0; list && i < DYING_MOST; i++) {
        struct interrupted *next = list->next;
        if (look_at(relief, list->unique, list->since)) {
            *last = list;
            last = &list->next;
        } else {
            free(list);
        }
        list = next;
    }
    /* The callers that were not looked at come first at the next look. */
    *last = NULL;
    struct interrupted *all = list ? list : kept;
    for (last = &all; *last;)
        last = &(*last)->next;
    if (list)
        *last = kept;
    while (*last)
        last = &(*last)->next;
    pthread_mutex_lock(&relief->lock);
    *last = relief->interrupted;
    relief->interrupted = all;
    pthread_mutex_unlock(&relief->lock);
    return all;
}

/* ---- The thread ---- */

struct looks {
    uint64_t progress; /* of the requests, at the last look */
    unsigned quiet;    /* looks at which a session thread was reading */
    unsigned backlog;  /* looks in a row at which a request waited in the kernel */
    unsigned calm;     /* looks in a row at which none waited, nor in the lanes */
    unsigned alone;    /* looks since several users were served */
    int64_t dying;     /* the last look at callers */
    bool interrupted;  /* there are some */
};

/* Reads what comes while no session thread does. */
static void stand_in(struct bale_relief *relief, struct looks *looks)
{
    struct pollfd request = {.fd = relief->fd, .events = POLLIN};

    while (!atomic_load(&relief->stopping) && atomic_load(&relief->reading) == 0) {
        if (poll(&request, 1, LOOK_MS) > 0 && !relief->ops->receive(relief->arg))
            return;
        if (now_ms() - looks->dying >= DYING_MS) {
            looks->dying = now_ms();
            looks->interrupted = look_at_interrupted(relief);
        }
    }
}

/* The kernel hands requests out in the order in which they came, so behind one user's thousand
 * requests all others wait. If requests of several users wait for long, they go through the lanes,
 * where users take turns, until nothing has waited for a second. */
static void look_for_crowd(struct bale_relief *relief, struct looks *looks)
{
    struct pollfd request = {.fd = relief->fd, .events = POLLIN};
    bool waits = poll(&request, 1, 0) > 0;

    looks->backlog = waits ? looks->backlog + 1 : 0;
    looks->calm = waits || bale_lanes_have_waiting(relief->lanes) ? 0 : looks->calm + 1;
    if (atomic_exchange(&relief->mixed, false))
        looks->alone = 0;
    else if (looks->alone < OTHERS_LOOKS)
        looks->alone++;
    if (looks->backlog >= CROWDED_LOOKS && looks->alone < OTHERS_LOOKS)
        atomic_store(&relief->crowded, true);
    else if (looks->calm >= CALM_LOOKS)
        atomic_store(&relief->crowded, false);
}

static void relief_look(struct bale_relief *relief, struct looks *looks)
{
    uint64_t progress = bale_in_flight_progress(relief->in_flight);
    bool stuck = atomic_load(&relief->reading) == 0 && progress == looks->progress;

    looks->progress = progress;
    look_for_crowd(relief, looks);
    looks->quiet = atomic_load(&relief->reading) == 0 ? 0 : looks->quiet + 1;
    if (stuck)
        stand_in(relief, looks);
    if (now_ms() - looks->dying >= DYING_MS) {
        looks->dying = now_ms();
        looks->interrupted = look_at_interrupted(relief);
    }
    if (looks->quiet < QUIET_LOOKS || looks->interrupted || atomic_load(&relief->crowded))
        return;
    atomic_store(&relief->awake, false);
    looks->quiet = 0;
    /* A thread that took the last request meanwhile has seen awake. */
    if (atomic_load(&relief->reading) == 0)
        atomic_store(&relief->awake, true);
}

static void *relief_thread(void *arg)
{
    struct bale_relief *relief = arg;
    const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000};
    struct looks looks = {.alone = OTHERS_LOOKS};

    (void)bale_in_flight_enter(relief->in_flight);
    while (!atomic_load(&relief->stopping)) {
        pthread_mutex_lock(&relief->lock);
        while (!atomic_load(&relief->awake) && !atomic_load(&relief->stopping) &&
               !relief->interrupted)
            pthread_cond_wait(&relief->wake, &relief->lock);
        pthread_mutex_unlock(&relief->lock);
        nanosleep(&pause, NULL);
        relief_look(relief, &looks);
    }
    bale_in_flight_leave(relief->in_flight);
    return NULL;
}

int bale_relief_start(struct bale_relief *relief)
{
    relief->started =
        bale_thread_start(&relief->thread, "balefs-relief", relief_thread, relief) == 0;
    return relief->started ? BALE_OK : BALE_E_NOMEM;
}

void bale_relief_stop(struct bale_relief *relief, int wake)
{
    const struct timespec pause = {.tv_nsec = 2000000};

    if (!relief->started)
        return;
    atomic_store(&relief->stopping, true);
    pthread_mutex_lock(&relief->lock);
    pthread_cond_signal(&relief->wake);
    pthread_mutex_unlock(&relief->lock);
    /* It may be about to read: repeat the signal until it has ended. */
    while (pthread_tryjoin_np(relief->thread, NULL) != 0) {
        pthread_kill(relief->thread, wake);
        nanosleep(&pause, NULL);
    }
    relief->started = false;
}

void bale_relief_destroy(struct bale_relief *relief)
{
    if (!relief)
        return;
    while (relief->interrupted) {
        struct interrupted *next = relief->interrupted->next;
        free(relief->interrupted);
        relief->interrupted = next;
    }
    pthread_cond_destroy(&relief->wake);
    pthread_mutex_destroy(&relief->lock);
    free(relief);
}
