/* The dispatcher with a GPU engine that does as it is told (tests/support/fake_gpu.c): whatever goes
 * wrong there, every item is done once, with what the CPU makes of it.
 * usage: dispatch_test PLUGIN OLD-PLUGIN */
#include <pthread.h>

#include "tests/unit/dispatch_rig.h"

enum { THREADS = 4, ROUNDS = 12, BATCH = 24, LENGTH_MAX = 40000, BUFFER = LENGTH_MAX + 1000 };

static const char *old_plugin;

/* ---- Many items, there and back ---- */

struct job {
    struct bale_item item;
    struct bale_engine *engine;
    sem_t *finished;
    struct bale_setting setting;
    enum bale_priority priority;
    atomic_uint encodes, decodes; /* times done was called */
    uint32_t raw_length;
    uint8_t raw[LENGTH_MAX];
    uint8_t stored[BUFFER];
    uint8_t back[LENGTH_MAX];
};

static struct bale_setting pick_setting(uint64_t *state)
{
    static const struct bale_setting all[] = {
        {BALE_CODEC_AUTO, 0},  {BALE_CODEC_STORE, 0}, {BALE_CODEC_LZ4, 0},
        {BALE_CODEC_ZSTD, -3}, {BALE_CODEC_ZSTD, 1},  {BALE_CODEC_ZSTD, 3},
    };

    return all[data_next(state) % (sizeof all / sizeof all[0])];
}

static void decoded(struct bale_item *item)
{
    struct job *job = item->owner;

    atomic_fetch_add(&job->decodes, 1);
    sem_post(job->finished);
}

/* Submits from an engine's own thread. */
static void encoded(struct bale_item *item)
{
    struct job *job = item->owner;

    atomic_fetch_add(&job->encodes, 1);
    if (!CHECK_EQ(item->status, BALE_OK)) {
        sem_post(job->finished);
        return;
    }
    *item = (struct bale_item){
        .kind = BALE_ITEM_DECODE,
        .priority = job->priority,
        .stored = job->stored,
        .stored_length = item->stored_length,
        .raw = job->back,
        .frame = {.raw_length = job->raw_length, .codec = item->frame.codec},
        .done = decoded,
        .owner = job,
    };
    bale_engine_submit(job->engine, item);
}

static void prepare(struct job *job, struct bale_engine *engine, sem_t *finished, uint64_t *state)
{
    job->engine = engine;
    job->finished = finished;
    job->raw_length = 1 + (uint32_t)(data_next(state) % LENGTH_MAX);
    data_fill((enum data_kind)(data_next(state) % DATA_KINDS), *state, job->raw, job->raw_length);
    job->setting = pick_setting(state);
    job->priority = data_next(state) % 5 == 0 ? BALE_PRIORITY_HIGH : BALE_PRIORITY_NORMAL;
    atomic_store(&job->encodes, 0);
    atomic_store(&job->decodes, 0);
    memset(job->back, 0, sizeof job->back);
    job->item = (struct bale_item){
        .kind = BALE_ITEM_ENCODE,
        .priority = job->priority,
        .setting = job->setting,
        .frame = {.offset = 4096, .generation = 7, .raw_length = job->raw_length, .chunk_log2 = 12},
        .raw = job->raw,
        .stored = job->stored,
        .capacity = sizeof job->stored,
        .done = encoded,
        .owner = job,
    };
}

static void check_job(struct job *job, struct bale_scratch *scratch)
{
    struct bale_frame frame = {
        .offset = 4096, .generation = 7, .raw_length = job->raw_length, .chunk_log2 = 12};
    uint8_t expected[BUFFER];
    size_t length;

    CHECK_EQ_U(atomic_load(&job->encodes), 1);
    CHECK_EQ_U(atomic_load(&job->decodes), 1);
    CHECK_EQ(job->item.status, BALE_OK);
    CHECK_EQ(bale_frame_encode(scratch, job->setting, job->raw, &frame, expected, &length),
             BALE_OK);
    if (CHECK_EQ_U(job->item.stored_length, length))
        CHECK_EQ_MEM(job->stored, expected, length);
    CHECK_EQ_MEM(job->back, job->raw, job->raw_length);
    CHECK_EQ_U(job->item.frame.head_checksum, frame.head_checksum);
}

struct submitter {
    pthread_t thread;
    struct bale_engine *engine;
    uint64_t seed;
};

static void *submit_many(void *argument)
{
    struct submitter *s = argument;
    struct job *jobs = calloc(BATCH, sizeof *jobs);
    struct bale_scratch *scratch;
    uint64_t state = s->seed;
    sem_t finished;

    REQUIRE(jobs && bale_scratch_create(&scratch) == BALE_OK);
    sem_init(&finished, 0, 0);
    for (int round = 0; round < ROUNDS; round++) {
        int lists = 1 + (int)(data_next(&state) % BATCH);
        for (int i = 0; i < BATCH; i++) {
            prepare(&jobs[i], s->engine, &finished, &state);
            jobs[i].item.next = i % lists ? &jobs[i - 1].item : NULL;
        }
        for (int i = 0; i < BATCH; i++)
            if (i == BATCH - 1 || (i + 1) % lists == 0)
                bale_engine_submit(s->engine, &jobs[i].item);
        for (int i = 0; i < BATCH; i++)
            sem_wait(&finished);
        for (int i = 0; i < BATCH; i++)
            check_job(&jobs[i], scratch);
    }
    sem_destroy(&finished);
    bale_scratch_destroy(scratch);
    free(jobs);
    return NULL;
}

static void submit_from_threads(struct bale_engine *engine)
{
    struct submitter submitters[THREADS];

    for (unsigned i = 0; i < THREADS; i++) {
        submitters[i] = (struct submitter){.engine = engine, .seed = 100 + i};
        REQUIRE(pthread_create(&submitters[i].thread, NULL, submit_many, &submitters[i]) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(submitters[i].thread, NULL);
}

enum { ALL = 2 * THREADS * ROUNDS * BATCH };

/* gives_up: the GPU is no longer asked at the end. */
static void test_many(const char *faults, enum bale_engine_choice choice, bool redoes,
                      bool gives_up)
{
    struct rig rig;

    rig_open(&rig, faults, (struct bale_dispatch_options){.threads = 2, .choice = choice});
    submit_from_threads(rig.engine);
    struct bale_dispatch_stats stats = rig_stats(&rig);
    CHECK_EQ_U(stats.cpu.items + stats.gpu.items, ALL);
    CHECK_EQ(stats.redone > 0, redoes);
    CHECK_EQ(stats.used, !gives_up);
    CHECK_EQ(atomic_load(&rig_complaints), gives_up);
    if (choice == BALE_ENGINE_GPU)
        CHECK(stats.batches > 0);
    CHECK_EQ_U(stats.device.failed, stats.redone);
    CHECK_EQ_U(stats.device.raw_bytes_encoded, stats.gpu.encoded);
    CHECK_EQ_U(stats.device.raw_bytes_decoded, stats.gpu.decoded);
    rig_stop(&rig);
}

/* ---- Engines that do not open ---- */

static void test_closed(const char *faults, const char *file, const char *reason)
{
    static const enum bale_engine_choice choices[] = {BALE_ENGINE_AUTO, BALE_ENGINE_GPU};

    for (int i = 0; i < 2; i++) {
        struct rig rig;
        rig_start(
            &rig, faults,
            (struct bale_dispatch_options){.threads = 2, .choice = choices[i], .plugin = file});
        submit_from_threads(rig.engine);
        sem_wait(&rig.said);
        CHECK(strstr(rig_said, reason));
        CHECK_EQ(atomic_load(&rig_complaints), choices[i] == BALE_ENGINE_GPU);
        struct bale_dispatch_stats stats = rig_stats(&rig);
        CHECK_EQ_U(stats.cpu.items, ALL);
        CHECK(!stats.used);
        CHECK_EQ_STR(stats.device.device, "");
        rig_stop(&rig);
    }
}

/* Without anything under way, and again and again. */
static void test_open_and_destroy(void)
{
    for (int i = 0; i < 20; i++) {
        struct rig rig;
        rig_start(&rig, i % 2 ? "slow=2000" : "", (struct bale_dispatch_options){.threads = 1});
        rig_stop(&rig);
    }
}

static void test_cpu(void)
{
    struct rig rig;

    rig_start(&rig, "any", (struct bale_dispatch_options){.threads = 2, .choice = BALE_ENGINE_CPU});
    submit_from_threads(rig.engine);
    CHECK_EQ_U(rig_stats(&rig).cpu.items, ALL);
    CHECK_EQ_STR(rig_stats(&rig).device.device, "");
    rig_stop(&rig);
}

/* ---- The end ---- */

struct counted {
    struct bale_item item;
    atomic_uint dones, *left;
    uint8_t raw[3000], stored[4000];
};

static void count_done(struct bale_item *item)
{
    struct counted *counted = item->owner;

    CHECK_EQ(item->status, BALE_OK);
    atomic_fetch_add(&counted->dones, 1);
    atomic_fetch_sub(counted->left, 1);
}

/* destroy lets everything finish that was submitted, wherever it is. */
static void test_destroy(const char *faults)
{
    enum { ITEMS = 300 };
    struct counted *items = calloc(ITEMS, sizeof *items);
    atomic_uint left = ITEMS;
    struct rig rig;

    REQUIRE(items);
    rig_open(&rig, faults, (struct bale_dispatch_options){.threads = 2, .choice = BALE_ENGINE_GPU});
    for (unsigned i = 0; i < ITEMS; i++) {
        struct counted *c = &items[i];
        data_fill(DATA_TEXT, i, c->raw, sizeof c->raw);
        c->left = &left;
        c->item = (struct bale_item){
            .kind = BALE_ITEM_ENCODE,
            .priority = BALE_PRIORITY_NORMAL,
            .setting = {.codec = i % 2 ? BALE_CODEC_LZ4 : BALE_CODEC_STORE},
            .frame = {.raw_length = sizeof c->raw, .chunk_log2 = 12},
            .raw = c->raw,
            .stored = c->stored,
            .capacity = sizeof c->stored,
            .done = count_done,
            .owner = c,
        };
        bale_engine_submit(rig.engine, &c->item);
    }
    rig_stop(&rig);
    CHECK_EQ_U(atomic_load(&left), 0);
    for (unsigned i = 0; i < ITEMS; i++)
        CHECK_EQ_U(atomic_load(&items[i].dones), 1);
    free(items);
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 3);
    rig_plugin = argv[1];
    old_plugin = argv[2];
    test_many("any", BALE_ENGINE_GPU, false, false);
    test_many("any", BALE_ENGINE_AUTO, false, false);
    test_many("any,delay=2000", BALE_ENGINE_GPU, false, false);
    test_many("any,item=7", BALE_ENGINE_GPU, true, false);
    test_many("any,item=1", BALE_ENGINE_GPU, true, false);
    test_many("any,corrupt", BALE_ENGINE_GPU, true, false);
    test_many("any,batch=2", BALE_ENGINE_GPU, true, false);
    test_many("any,batch", BALE_ENGINE_GPU, true, true);
    test_many("any,hang=50000", BALE_ENGINE_GPU, true, true);
    test_many("any,lost=3,delay=1000", BALE_ENGINE_GPU, true, true);
    test_cpu();
    test_closed("open", NULL, "GPU: no device: it was told that there is none: the CPU does");
    test_closed("", old_plugin, "of another version of balefs: its interface is 0, not 1");
    test_closed("", "/nowhere/libbalefs_cuda.so", "/nowhere/libbalefs_cuda.so: cannot open");
    test_open_and_destroy();
    test_destroy("any");
    test_destroy("any,delay=5000");
    test_destroy("any,batch,delay=1000");
    return check_result();
}
