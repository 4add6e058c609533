/* The dispatcher with the CUDA engine beside the CPU's, while the CUDA engine fails at random:
 * whatever fails, all items come back right (tests/cuda/random_items.h). Skipped where there is no
 * GPU.
 *
 * usage: random_test PLUGIN ROUNDS: a plug-in with bale_cuda_fault_set */
#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/err.h"
#include "kernels/engine/dispatch.h"
#include "tests/check.h"
#include "tests/cuda/random_items.h"
#include "tests/cuda/rig.h"

enum { THREADS = 4 };

/* The faults of a session; one is chosen at random for each list. After a "flip" nvCOMP's decoder
 * of zstd may run for good, which ends the GPU's part: most sessions go without. */
struct session {
    const char *faults[4]; /* up to the first NULL */
    unsigned one_in;       /* lists have a fault */
    bool no_zstd;
    const char *at_open;
    const char *once; /* in the midst of it */
};

struct run {
    struct rig *rig;
    struct bale_engine *engine;
    struct rig_quarantine *late;
    const struct session *session;
    unsigned rounds;
    uint64_t seed;
};

struct worker {
    pthread_t thread;
    const struct run *run;
    unsigned index;
    struct random_items items;
};

/* ---- Lists of items ---- */

static void choose_fault(struct worker *w)
{
    const struct session *session = w->run->session;
    struct random_items *items = &w->items;
    unsigned count = 0;

    while (session->faults[count])
        count++;
    if (count > 0)
        w->run->rig->fault(random_below(items, session->one_in) == 0
                               ? session->faults[random_below(items, count)]
                               : NULL);
}

/* Once its memory may be used again. */
static void submit_again(struct worker *w, struct random_job *job)
{
    rig_quarantine_wait(w->run->late);
    bale_engine_submit(w->run->engine, &job->item);
    rig_wait_for(&w->items.finished, 1);
}

/* All items, in lists of random lengths, and waits for them; the session's one fault ends with
 * that. */
static void submit_all(struct worker *w)
{
    struct random_job *jobs = w->items.jobs;

    for (unsigned i = 0; i < RANDOM_JOBS;) {
        unsigned end = i + 1 + random_below(&w->items, RANDOM_JOBS - i);
        struct bale_item *first = &jobs[i].item;
        for (; i < end; i++)
            jobs[i].item.next = i + 1 < end ? &jobs[i + 1].item : NULL;
        choose_fault(w);
        bale_engine_submit(w->run->engine, first);
    }
    rig_wait_for(&w->items.finished, RANDOM_JOBS);
    if (w->index == 0 && w->run->session->once)
        w->run->rig->fault(NULL);
    for (unsigned i = 0; i < RANDOM_JOBS; i++)
        while (jobs[i].item.status == BALE_E_QUARANTINED)
            submit_again(w, &jobs[i]);
}

static void *random_thread(void *argument)
{
    struct worker *w = argument;
    const struct session *session = w->run->session;
    struct random_job *jobs = w->items.jobs;

    for (unsigned round = 0; round < w->run->rounds; round++) {
        if (w->index == 0 && session->once && round == w->run->rounds / 2)
            w->run->rig->fault(session->once);
        for (unsigned i = 0; i < RANDOM_JOBS; i++)
            random_prepare_encode(&w->items, &jobs[i]);
        submit_all(w);
        for (unsigned i = 0; i < RANDOM_JOBS; i++)
            random_check_encoded(&w->items, &jobs[i]);
        for (unsigned i = 0; i < RANDOM_JOBS; i++)
            random_prepare_decode(&w->items, &jobs[i]);
        submit_all(w);
        for (unsigned i = 0; i < RANDOM_JOBS; i++)
            random_check_decoded(&jobs[i]);
    }
    return NULL;
}

static void start(struct worker *w, const struct run *run, unsigned index)
{
    uint8_t *memory = run->rig->memory + (size_t)index * RANDOM_JOBS * RANDOM_JOB_BYTES;

    w->run = run;
    w->index = index;
    random_open(&w->items, memory, run->seed * THREADS + index, run->session->no_zstd);
    REQUIRE(pthread_create(&w->thread, NULL, random_thread, w) == 0);
}

static void stop(struct worker *w)
{
    pthread_join(w->thread, NULL);
    random_close(&w->items);
}

/* ---- Sessions: a dispatcher from its opening to its end ---- */

static void say(int level, const char *text)
{
    printf("log %d: %s\n", level, text);
}

static void note_opened(void *arg)
{
    sem_post(arg);
}

static struct bale_engine *open_dispatcher(struct rig *rig, struct rig_quarantine *late)
{
    sem_t opened;
    struct bale_engine *engine;
    const struct bale_dispatch_options options = {
        .threads = 2,
        .choice = BALE_ENGINE_GPU,
        .plugin = rig->file,
        .gpu = {.verify = true,
                .watchdog_ms = 300,
                .release_ms = 60000,
                .log = say,
                .quarantine = rig_note_quarantine,
                .arg = late},
        .opened = note_opened,
        .arg = &opened,
    };

    sem_init(&opened, 0, 0);
    REQUIRE(bale_dispatch_create(&options, &engine) == BALE_OK);
    bale_dispatch_open(engine);
    while (sem_wait(&opened) != 0)
        ;
    sem_destroy(&opened);
    for (size_t at = 0; at < rig->size; at += RIG_STEP)
        REQUIRE(bale_dispatch_pin(engine, rig->memory + at, RIG_STEP) == BALE_OK);
    return engine;
}

static struct bale_dispatch_stats run_session(struct rig *rig, const struct session *session,
                                              unsigned rounds, uint64_t seed)
{
    static struct worker workers[THREADS];
    struct bale_dispatch_stats stats;
    struct rig_quarantine late = RIG_QUARANTINE;

    printf("seed %" PRIu64 ": %s, %s, %s\n", seed, session->faults[0] ? session->faults[0] : "-",
           session->at_open ? session->at_open : "-", session->once ? session->once : "-");
    rig->fault(session->at_open);
    const struct run run = {rig, open_dispatcher(rig, &late), &late, session, rounds, seed};
    rig->fault(NULL);
    for (unsigned i = 0; i < THREADS; i++)
        start(&workers[i], &run, i);
    for (unsigned i = 0; i < THREADS; i++)
        stop(&workers[i]);
    bale_dispatch_stats(run.engine, &stats);
    rig->fault(NULL);
    bale_engine_destroy(run.engine);
    printf("%" PRIu64 " batches, %" PRIu64 " items, %" PRIu64 " redone\n", stats.batches,
           stats.gpu.items, stats.redone);
    return stats;
}

/* A process for each: what one leaves hanging does not concern the next. Its exit status. */
static int run_apart(const char *plugin, const struct session *session, unsigned rounds,
                     uint64_t seed)
{
    struct rig rig;
    int status;
    pid_t child = fork();

    REQUIRE(child >= 0);
    if (child > 0) {
        REQUIRE(waitpid(child, &status, 0) == child);
        return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
    }
    rig_load(&rig, plugin);
    REQUIRE(rig.fault);
    rig_reserve(&rig, (size_t)THREADS * RANDOM_JOBS * RANDOM_JOB_BYTES);
    struct bale_dispatch_stats stats = run_session(&rig, session, rounds, seed);
    CHECK(stats.gpu.encoded > 0);
    CHECK(session->one_in > 0 || stats.gpu.decoded > 0);
    CHECK(stats.redone > 0);
    status = check_result();
    fflush(stdout);
    _exit(status);
}

int main(int argc, char **argv)
{
    static const struct session sessions[] = {
        {.faults = {0}},
        {.faults = {"nomem"}, .one_in = 2},
        {.faults = {"nomem", "flip"}, .one_in = 4},
        {.faults = {"launch", "nomem", "flip"}, .one_in = 8, .no_zstd = true},
        {.faults = {"flip"}, .one_in = 2, .no_zstd = true, .at_open = "alloc"},
        {.once = "hang"},
        {.once = "late"},
        {.once = "stray"},
    };

    setvbuf(stdout, NULL, _IOLBF, 0);
    REQUIRE(argc == 3);
    for (unsigned i = 0; i < sizeof sessions / sizeof sessions[0]; i++) {
        int status =
            run_apart(argv[1], &sessions[i], (unsigned)strtoul(argv[2], NULL, 10), 100 + i);
        if (status == CHECK_SKIPPED)
            return CHECK_SKIPPED;
        CHECK_EQ(status, EXIT_SUCCESS);
    }
    return check_result();
}
