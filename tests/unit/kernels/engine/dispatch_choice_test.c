/* Which engine the dispatcher gives work to that either may do.
 * usage: dispatch_choice_test PLUGIN */
#include "kernels/base/clock.h"
#include "kernels/engine/dispatch_internal.h"
#include "tests/codecs/cases.h"
#include "tests/unit/kernels/engine/dispatch_rig.h"

enum { PIECES = 12 };

struct blocker {
    struct piece piece;
    sem_t entered, go, left;
};

static void block_worker(struct bale_item *item)
{
    struct blocker *blocker = item->owner;

    sem_post(&blocker->entered);
    sem_wait(&blocker->go);
    sem_post(&blocker->left);
}

static void wait_for_batches(struct bale_dispatch *d)
{
    pthread_mutex_lock(&d->queue->mutex);
    while (d->batches > 0)
        pthread_cond_wait(&d->idle, &d->queue->mutex);
    pthread_mutex_unlock(&d->queue->mutex);
}

/* The only worker that takes items is blocked while so many pieces come together, and until the GPU
 * has done what it takes; then all are waited for. The worker has the cost that is given, whatever
 * it measured, so that the machine's speed decides nothing. Returns how many the GPU did. */
static uint64_t gpu_takes(struct rig *rig, unsigned count, uint64_t cpu_ns)
{
    struct bale_dispatch *d = (struct bale_dispatch *)rig->engine;
    struct blocker blocker;
    struct piece pieces[PIECES];
    uint64_t before = rig_stats(rig).gpu.items;
    sem_t finished;

    sem_init(&finished, 0, 0);
    sem_init(&blocker.entered, 0, 0);
    sem_init(&blocker.go, 0, 0);
    sem_init(&blocker.left, 0, 0);
    piece_make(&blocker.piece, BALE_PRIORITY_HIGH, NULL);
    blocker.piece.item.done = block_worker;
    blocker.piece.item.owner = &blocker;
    for (unsigned i = 0; i < count; i++) {
        piece_make(&pieces[i], BALE_PRIORITY_NORMAL, &finished);
        pieces[i].item.next = i > 0 ? &pieces[i - 1].item : NULL;
    }
    bale_engine_submit(rig->engine, &blocker.piece.item);
    sem_wait(&blocker.entered);
    unsigned work = bale_work(BALE_ITEM_ENCODE, BALE_CODEC_LZ4, 0);
    atomic_store(&d->costs.cpu[work], 0);
    bale_costs_cpu(&d->costs, work, PIECE, cpu_ns);
    bale_engine_submit(rig->engine, &pieces[count - 1].item);
    wait_for_batches(d);
    sem_post(&blocker.go);
    sem_wait(&blocker.left); /* the items may be done before: another worker only reports them */
    for (unsigned i = 0; i < count; i++)
        sem_wait(&finished);
    for (unsigned i = 0; i < count; i++) {
        CHECK_EQ(pieces[i].item.status, BALE_OK);
        piece_free(&pieces[i]);
    }
    piece_free(&blocker.piece);
    sem_destroy(&blocker.left);
    sem_destroy(&blocker.go);
    sem_destroy(&blocker.entered);
    sem_destroy(&finished);
    return rig_stats(rig).gpu.items - before;
}

/* A kind of work is tried once 2 MiB of it wait, and then left to the side that was faster. */
static void test_learning(void)
{
    unsigned work = bale_work(BALE_ITEM_ENCODE, BALE_CODEC_LZ4, 0);
    struct rig rig;

    for (int slow = 0; slow < 2; slow++) {
        uint64_t cpu_ns = slow ? UINT64_C(3600) * 1000000000 : 1;
        rig_open(&rig, "any,delay=1000", (struct bale_dispatch_options){.threads = 1});
        struct bale_dispatch *d = (struct bale_dispatch *)rig.engine;
        atomic_store(&d->promising[work], false);
        atomic_store(&d->trust_ns[work], 5 * BALE_SECOND_NS); /* the next trial is that far off */
        CHECK_EQ_U(gpu_takes(&rig, 1, cpu_ns), 0);
        CHECK_EQ_U(gpu_takes(&rig, PIECES, cpu_ns), slow ? PIECES : 2);
        CHECK_EQ_U(rig_stats(&rig).batches, slow ? 2 : 1);
        atomic_store(&d->trust_ns[work], UINT64_MAX); /* however long that took */
        CHECK_EQ_U(gpu_takes(&rig, PIECES, cpu_ns), slow ? PIECES : 0);
        CHECK_EQ_U(rig_stats(&rig).batches, slow ? 3 : 1);
        rig_stop(&rig);
    }
}

/* A batch that had to open the device first teaches nothing. */
static void test_cold(void)
{
    const uint64_t hour = UINT64_C(3600) * 1000000000; /* longer than opening takes */
    unsigned work = bale_work(BALE_ITEM_ENCODE, BALE_CODEC_LZ4, 0);
    struct rig rig;

    rig_open(&rig, "any,cold", (struct bale_dispatch_options){.threads = 1});
    struct bale_dispatch *d = (struct bale_dispatch *)rig.engine;
    for (int i = 0; i < 2; i++) {
        CHECK(gpu_takes(&rig, PIECES, hour) >= 2);
        CHECK_EQ_U(d->costs.batch[work].batches, 0);
    }
    rig_stop(&rig);
}

/* Items refused for now count neither as failures nor as successes of their batch. */
static void test_again_and_failed(void)
{
    enum { LIST = 4 };
    struct rig rig;
    struct piece pieces[LIST];
    sem_t finished;

    sem_init(&finished, 0, 0);
    rig_open(&rig, "any,again=2,batch",
             (struct bale_dispatch_options){.threads = 1, .choice = BALE_ENGINE_GPU});
    for (int i = 0; i < LIST; i++)
        piece_make(&pieces[i], BALE_PRIORITY_NORMAL, &finished);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < LIST; i++)
            pieces[i].item.next = i + 1 < LIST ? &pieces[i + 1].item : NULL;
        bale_engine_submit(rig.engine, &pieces[0].item);
        for (int i = 0; i < LIST; i++)
            sem_wait(&finished);
    }
    CHECK_EQ_U(rig_stats(&rig).batches, 3);
    rig_stop(&rig);
    CHECK_EQ(atomic_load(&rig_complaints), 1);
    for (int i = 0; i < LIST; i++)
        piece_free(&pieces[i]);
    sem_destroy(&finished);
}

/* A setting of the n-th codec that compresses. */
static struct bale_setting setting_of_codec(int n)
{
    const struct bale_codec_about *about;
    struct bale_setting setting = {0};

    for (size_t i = 0; (about = bale_codec_at(i)); i++)
        if (!about->built_in && n-- == 0)
            REQUIRE(codec_grid(about->id, 0, &setting));
    return setting;
}

/* One reason may fail all batches that are under way, which have failed once then. */
static void test_failed_together(void)
{
    enum { LIST = 3 }; /* of three codecs: a batch for each */
    struct rig rig;
    struct piece pieces[LIST];
    sem_t finished;

    sem_init(&finished, 0, 0);
    rig_open(&rig, "any,first=3",
             (struct bale_dispatch_options){.threads = 1, .choice = BALE_ENGINE_GPU});
    for (int i = 0; i < LIST; i++) {
        piece_make(&pieces[i], BALE_PRIORITY_NORMAL, &finished);
        pieces[i].item.setting = setting_of_codec(i);
        pieces[i].item.next = i > 0 ? &pieces[i - 1].item : NULL;
    }
    bale_engine_submit(rig.engine, &pieces[LIST - 1].item);
    for (int i = 0; i < LIST; i++)
        sem_wait(&finished);
    piece_do(&rig, &pieces[0], &finished);
    CHECK_EQ_U(rig_stats(&rig).batches, LIST + 1);
    CHECK_EQ_U(rig_stats(&rig).redone, LIST);
    rig_stop(&rig);
    CHECK_EQ(atomic_load(&rig_complaints), 0);
    for (int i = 0; i < LIST; i++)
        piece_free(&pieces[i]);
    sem_destroy(&finished);
}

/* While a GPU that is slow has a batch, a worker finds out what the next items take. */
static void test_workers_measure(void)
{
    enum { LIST = 4 };
    unsigned work = bale_work(BALE_ITEM_ENCODE, BALE_CODEC_LZ4, 0);
    struct piece pieces[LIST];
    struct rig rig;
    sem_t finished;

    sem_init(&finished, 0, 0);
    rig_open(&rig, "any,delay=2000000", (struct bale_dispatch_options){.threads = 1});
    struct bale_dispatch *d = (struct bale_dispatch *)rig.engine;
    atomic_store(&d->busy.updated_ns, UINT64_MAX / 2); /* nobody looks */
    atomic_store(&d->busy.busy, true);
    for (int i = 0; i < LIST; i++) {
        piece_make(&pieces[i], BALE_PRIORITY_NORMAL, &finished);
        bale_engine_submit(rig.engine, &pieces[i].item);
    }
    for (int i = 0; i < LIST; i++)
        sem_wait(&finished);
    CHECK(rig_stats(&rig).gpu.items >= 1);
    CHECK(rig_stats(&rig).cpu.items >= 1);
    CHECK(atomic_load(&d->costs.cpu[work]) > 0);
    rig_stop(&rig);
    for (int i = 0; i < LIST; i++)
        piece_free(&pieces[i]);
    sem_destroy(&finished);
}

/* A GPU that is not open is opened with a trial if the CPUs are busy, or if they would need longer
 * than that takes; the rest is theirs meanwhile. */
static void test_closed(void)
{
    static const struct {
        uint64_t wait_ns, cpu_ns, share; /* cpu_ns: for what is offered */
        bool busy;
    } cases[] = {
        {300000000, 200000000, 0, false},      {300000000, 400000000, 2 << 20, false},
        {300000000, 200000000, 2 << 20, true}, {10000000, 20000000, 2 << 20, false},
        {0, 20000000, 8 << 20, false},
    };
    unsigned work = bale_work(BALE_ITEM_ENCODE, BALE_CODEC_LZ4, 0);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rig rig;
        struct bale_item item = {.frame.raw_length = 8 << 20};
        unsigned count;
        uint64_t bytes;

        rig_open(&rig, "any", (struct bale_dispatch_options){.threads = 1});
        struct bale_dispatch *d = (struct bale_dispatch *)rig.engine;
        pthread_mutex_lock(&d->queue->mutex);
        atomic_store(&d->busy.updated_ns, UINT64_MAX / 2); /* nobody looks */
        atomic_store(&d->busy.busy, cases[i].busy);
        atomic_store(&d->costs.cpu[work], 0);
        bale_costs_cpu(&d->costs, work, 8 << 20, cases[i].cpu_ns);
        bale_costs_batch(&d->costs, work, 8 << 20, 1000000);
        atomic_store(&d->tried_ns[work], bale_clock_ns());
        atomic_store(&d->trust_ns[work], UINT64_MAX / 2);
        d->wait_ns = cases[i].wait_ns;
        bale_work_queue_offer(d->queue, &item, work);
        CHECK_EQ_U(bale_dispatch_gpu_share(d, work, 8 << 20), cases[i].share);
        bale_work_queue_steal(d->queue, work, UINT64_MAX, &count, &bytes);
        pthread_mutex_unlock(&d->queue->mutex);
        rig_stop(&rig);
    }
}

/* What nobody waits for goes to the GPU while the CPUs are idle, if a large batch is faster there
 * and there is enough of it. */
static void test_background(void)
{
    enum { LIST = 4 };
    static const struct {
        bool promising, awaited;
        int count;
        uint64_t share;
    } cases[] = {
        {true, false, LIST, LIST * PIECE},
        {true, true, LIST, 0},
        {true, false, 1, 0},
        {false, false, LIST, 0},
    };

    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const size_t n = i / 2;
        unsigned work = bale_work(i % 2 ? BALE_ITEM_DECODE : BALE_ITEM_ENCODE, BALE_CODEC_LZ4, 0);
        struct rig rig;
        struct bale_item items[LIST];
        unsigned count;
        uint64_t bytes;

        rig_open(&rig, "any", (struct bale_dispatch_options){.threads = 1});
        struct bale_dispatch *d = (struct bale_dispatch *)rig.engine;
        atomic_store(&d->busy.updated_ns, UINT64_MAX / 2); /* nobody looks */
        pthread_mutex_lock(&d->queue->mutex);
        bale_costs_cpu(&d->costs, work, PIECE, 1000);
        bale_costs_batch(&d->costs, work, PIECE, 1000000000);
        atomic_store(&d->tried_ns[work], bale_clock_ns());
        atomic_store(&d->trust_ns[work], UINT64_MAX / 2);
        atomic_store(&d->promising[work], cases[n].promising);
        for (int k = 0; k < cases[n].count; k++) {
            items[k] = (struct bale_item){.background = !cases[n].awaited || k > 0,
                                          .frame.raw_length = PIECE};
            bale_work_queue_offer(d->queue, &items[k], work);
        }
        CHECK_EQ_U(bale_dispatch_gpu_share(d, work, d->queue->offered[work].bytes), cases[n].share);
        bale_work_queue_steal(d->queue, work, UINT64_MAX, &count, &bytes);
        CHECK_EQ_U(d->queue->offered[work].awaited, 0);
        pthread_mutex_unlock(&d->queue->mutex);
        rig_stop(&rig);
    }
}

struct chain {
    struct rig *rig;
    struct piece piece;
    int left;
};

static void submit_again(struct bale_item *item)
{
    struct chain *chain = item->owner;

    if (--chain->left > 0)
        bale_engine_submit(chain->rig->engine, item);
}

/* An item submitted by a done is among those that destroy waits for. */
static void test_chain(void)
{
    struct rig rig;
    struct chain chain = {.rig = &rig, .left = 100};

    rig_open(&rig, "any", (struct bale_dispatch_options){.threads = 1, .choice = BALE_ENGINE_GPU});
    piece_make(&chain.piece, BALE_PRIORITY_NORMAL, NULL);
    chain.piece.item.done = submit_again;
    chain.piece.item.owner = &chain;
    bale_engine_submit(rig.engine, &chain.piece.item);
    rig_stop(&rig);
    CHECK_EQ(chain.left, 0);
    piece_free(&chain.piece);
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 2);
    rig_plugin = argv[1];
    test_learning();
    test_cold();
    test_workers_measure();
    test_closed();
    test_background();
    test_again_and_failed();
    test_failed_together();
    test_chain();
    return check_result();
}
