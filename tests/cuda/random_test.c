/* The dispatcher with the CUDA engine beside the CPU's, while the CUDA engine fails at random: every
 * encoded item decodes on the CPU to its bytes; every decode, of frames that may be damaged, gives
 * the CPU's bytes or the CPU's error; nothing else is touched. Skipped where there is no GPU.
 *
 * usage: random_test PLUGIN ROUNDS: a plug-in with bale_cuda_fault_set */
#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/err.h"
#include "format/hash.h"
#include "kernels/dispatch.h"
#include "tests/check.h"
#include "tests/cuda/rig.h"
#include "tests/unit/kernels_data.h"

enum {
    THREADS = 4,
    JOBS = 16, /* items of a thread under way */
    LENGTH_MAX = 300000,
    GUARD = 64,
    ROOM = LENGTH_MAX + 8192, /* a frame of any chunk size, or its raw bytes, and what follows */
    JOB_BYTES = 3 * (GUARD + ROOM) + GUARD,
    GUARD_BYTE = 0xa5,
};

/* What may go wrong in a session; which of it is chosen anew for each list. After a "flip" nvCOMP's decoder of zstd may
 * run for good, which ends the GPU's part: most sessions go without. */
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
    struct rig_late *late;
    const struct session *session;
    unsigned rounds;
    uint64_t seed;
};

struct job {
    struct bale_item item;
    uint8_t *raw, *stored, *back; /* GUARD bytes lie before, between and after them */
    uint8_t *expected;            /* LENGTH_MAX bytes: what the CPU makes of a frame */
    int expected_status;
    struct bale_frame expected_frame;
    struct bale_setting setting;
    uint32_t length;
    size_t stored_length;
    uint64_t input_hash; /* of all the room that is read from */
};

struct worker {
    pthread_t thread;
    const struct run *run;
    unsigned index;
    uint64_t state;
    struct bale_scratch *scratch;
    struct job jobs[JOBS];
    sem_t finished;
};

static uint32_t below(struct worker *w, uint32_t limit)
{
    return (uint32_t)(data_next(&w->state) % limit);
}

/* ---- Items ---- */

static void post(struct bale_item *item)
{
    sem_post(item->owner);
}

static uint32_t random_length(struct worker *w)
{
    static const uint32_t most[] = {1, 300, 4096, 65536, 65537, 131072, LENGTH_MAX};
    return 1 + below(w, most[below(w, sizeof most / sizeof most[0])]);
}

static struct bale_setting random_setting(struct worker *w)
{
    static const struct bale_setting all[] = {
        {BALE_CODEC_STORE, 0},      {BALE_CODEC_LZ4, 0},        {BALE_CODEC_ZSTD, 1},
        {BALE_CODEC_ZSTD, -3},      {BALE_CODEC_ZSTD, 3},       {BALE_CODEC_AUTO, 0},
        {BALE_CODEC_GPULZ, 0x21ff}, {BALE_CODEC_GPULZ, 0x1020}, {BALE_CODEC_GPULZ, 0x05ff},
    };
    struct bale_setting setting;

    do {
        setting = all[below(w, sizeof all / sizeof all[0])];
    } while (w->run->session->no_zstd &&
             (setting.codec == BALE_CODEC_ZSTD || setting.codec == BALE_CODEC_AUTO));
    return setting;
}

/* Half of all equal bytes are those that the codec zero is for. */
static void random_raw(struct worker *w, struct job *job)
{
    uint32_t kind = below(w, DATA_KINDS + 2);

    if (kind < DATA_KINDS)
        data_fill((enum data_kind)kind, data_next(&w->state), job->raw, job->length);
    else
        memset(job->raw, kind == DATA_KINDS ? 0 : (int)below(w, 256), job->length);
}

static void prepare(struct worker *w, struct job *job, enum bale_item_kind kind)
{
    job->item = (struct bale_item){
        .kind = kind,
        .priority = below(w, 5) == 0 ? BALE_PRIORITY_HIGH : BALE_PRIORITY_NORMAL,
        .place = BALE_PLACE_HOST,
        .status = 1,
        .stored = job->stored,
        .done = post,
        .owner = &w->finished,
    };
}

static void prepare_encode(struct worker *w, struct job *job)
{
    prepare(w, job, BALE_ITEM_ENCODE);
    memset(job->raw - GUARD, GUARD_BYTE, JOB_BYTES);
    job->length = random_length(w);
    job->setting = random_setting(w);
    random_raw(w, job);
    job->input_hash = bale_hash(job->raw, ROOM);
    job->item.setting = job->setting;
    job->item.raw = job->raw;
    job->item.frame =
        (struct bale_frame){.offset = 4096u * below(w, 1000),
                            .generation = below(w, 1000),
                            .raw_length = job->length,
                            .chunk_log2 = (uint8_t)(below(w, 3) ? 16 : 12 + below(w, 5))};
    job->item.capacity = bale_frame_bound(job->length, job->item.frame.chunk_log2);
    REQUIRE(job->item.capacity <= ROOM);
}

/* Some of what is stored is another than it was. */
static void damage(struct worker *w, struct job *job)
{
    switch (below(w, 12)) {
    case 0:
        job->stored[below(w, (uint32_t)job->stored_length)] ^= (uint8_t)(1u << below(w, 8));
        break;
    case 1:
        job->stored_length -= below(w, (uint32_t)job->stored_length);
        break;
    case 2:
        job->length = random_length(w);
        break;
    case 3:
        memset(job->stored, (int)below(w, 256), below(w, (uint32_t)job->stored_length));
        break;
    default:
        break;
    }
}

static void prepare_decode(struct worker *w, struct job *job)
{
    uint8_t codec = job->item.frame.codec;

    damage(w, job);
    prepare(w, job, BALE_ITEM_DECODE);
    job->expected_status = bale_frame_decode(w->scratch, job->stored, job->stored_length,
                                             job->expected, job->length, &job->expected_frame);
    job->input_hash = bale_hash(job->stored, ROOM);
    job->item.stored_length = job->stored_length;
    job->item.raw = job->back;
    job->item.frame =
        (struct bale_frame){.raw_length = job->length, .codec = codec, .chunk_log2 = 16};
}

/* ---- What has become of them ---- */

static bool untouched(const uint8_t *begin, const uint8_t *end)
{
    return rig_all(begin, end, GUARD_BYTE);
}

static void check_encoded(struct worker *w, struct job *job)
{
    const struct bale_item *item = &job->item;
    struct bale_frame frame;

    CHECK_EQ_U(bale_hash(job->raw, ROOM), job->input_hash);
    CHECK(untouched(job->raw - GUARD, job->raw));
    CHECK(untouched(job->raw + ROOM, job->stored));
    CHECK(untouched(job->stored + item->capacity, job->back + ROOM + GUARD));
    if (!CHECK_EQ(item->status, BALE_OK) || !CHECK(item->stored_length <= item->capacity))
        abort();
    job->stored_length = item->stored_length;
    if (CHECK_EQ(bale_frame_decode(w->scratch, job->stored, item->stored_length, job->expected,
                                   job->length, &frame),
                 BALE_OK)) {
        CHECK_EQ_MEM(job->expected, job->raw, job->length);
        CHECK_EQ_U(frame.head_checksum, item->frame.head_checksum);
        CHECK_EQ_U(frame.codec, item->frame.codec);
        CHECK_EQ_U(frame.offset, item->frame.offset);
        CHECK_EQ_U(frame.generation, item->frame.generation);
    }
}

static void check_decoded(struct worker *w, struct job *job)
{
    const struct bale_item *item = &job->item;

    (void)w;
    CHECK_EQ(item->status, job->expected_status);
    CHECK_EQ_U(bale_hash(job->stored, ROOM), job->input_hash);
    CHECK(untouched(job->stored + ROOM, job->back));
    CHECK(untouched(job->back + job->length, job->back + ROOM + GUARD));
    if (item->status == BALE_OK && job->expected_status == BALE_OK) {
        CHECK_EQ_MEM(job->back, job->expected, job->length);
        CHECK_EQ_U(item->frame.head_checksum, job->expected_frame.head_checksum);
        CHECK_EQ_U(item->frame.raw_checksum, job->expected_frame.raw_checksum);
    }
}

/* ---- Lists of them ---- */

static void choose_fault(struct worker *w)
{
    const struct session *session = w->run->session;
    unsigned count = 0;

    while (session->faults[count])
        count++;
    if (count > 0)
        w->run->rig->fault(below(w, session->one_in) == 0 ? session->faults[below(w, count)]
                                                          : NULL);
}

/* Once its memory may be used again. */
static void submit_again(struct worker *w, struct job *job)
{
    rig_late_wait(w->run->late);
    bale_engine_submit(w->run->engine, &job->item);
    rig_wait_for(&w->finished, 1);
}

/* All items, in lists of random lengths, and waits for them; the session's one fault ends with that. */
static void submit_all(struct worker *w)
{
    for (unsigned i = 0; i < JOBS;) {
        unsigned end = i + 1 + below(w, JOBS - i);
        struct bale_item *first = &w->jobs[i].item;
        for (; i < end; i++)
            w->jobs[i].item.next = i + 1 < end ? &w->jobs[i + 1].item : NULL;
        choose_fault(w);
        bale_engine_submit(w->run->engine, first);
    }
    rig_wait_for(&w->finished, JOBS);
    if (w->index == 0 && w->run->session->once)
        w->run->rig->fault(NULL);
    for (unsigned i = 0; i < JOBS; i++)
        while (w->jobs[i].item.status == BALE_E_TAKEN)
            submit_again(w, &w->jobs[i]);
}

static void *work(void *argument)
{
    struct worker *w = argument;
    const struct session *session = w->run->session;

    for (unsigned round = 0; round < w->run->rounds; round++) {
        if (w->index == 0 && session->once && round == w->run->rounds / 2)
            w->run->rig->fault(session->once);
        for (unsigned i = 0; i < JOBS; i++)
            prepare_encode(w, &w->jobs[i]);
        submit_all(w);
        for (unsigned i = 0; i < JOBS; i++)
            check_encoded(w, &w->jobs[i]);
        for (unsigned i = 0; i < JOBS; i++)
            prepare_decode(w, &w->jobs[i]);
        submit_all(w);
        for (unsigned i = 0; i < JOBS; i++)
            check_decoded(w, &w->jobs[i]);
    }
    return NULL;
}

static void start(struct worker *w, const struct run *run, unsigned index)
{
    w->run = run;
    w->index = index;
    w->state = run->seed * THREADS + index;
    sem_init(&w->finished, 0, 0);
    REQUIRE(bale_scratch_create(&w->scratch) == BALE_OK);
    for (unsigned i = 0; i < JOBS; i++) {
        struct job *job = &w->jobs[i];
        job->raw = run->rig->memory + (size_t)(index * JOBS + i) * JOB_BYTES + GUARD;
        job->stored = job->raw + ROOM + GUARD;
        job->back = job->stored + ROOM + GUARD;
        job->expected = malloc(LENGTH_MAX);
        REQUIRE(job->expected);
    }
    REQUIRE(pthread_create(&w->thread, NULL, work, w) == 0);
}

static void stop(struct worker *w)
{
    pthread_join(w->thread, NULL);
    for (unsigned i = 0; i < JOBS; i++)
        free(w->jobs[i].expected);
    int left;
    CHECK(sem_getvalue(&w->finished, &left) == 0 && left == 0); /* each was done once */
    bale_scratch_destroy(w->scratch);
    sem_destroy(&w->finished);
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

static struct bale_engine *open_dispatcher(struct rig *rig, struct rig_late *late)
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
                .late = rig_note_late,
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
    struct rig_late late = RIG_LATE;

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
    rig_reserve(&rig, (size_t)THREADS * JOBS * JOB_BYTES);
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
