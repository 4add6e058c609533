/* What the dispatcher learns from batches, and what that decides. usage: dispatch_learn_test PLUGIN */
#include "kernels/base/clock.h"
#include "kernels/engine/dispatch_internal.h"
#include "tests/unit/kernels/engine/dispatch_rig.h"

static void learn(struct bale_dispatch *d, const struct bale_batch *batch)
{
    struct bale_gpu_stats stats;

    d->gpu->stats(d->device, &stats);
    bale_dispatch_learn(d, batch, stats.pinned);
}

/* A batch in which the engine refused something for now teaches nothing; the kind is as new as before. */
static void test_again(void)
{
    struct rig rig;

    rig_open(&rig, "any", (struct bale_dispatch_options){.threads = 1});
    struct bale_dispatch *d = (struct bale_dispatch *)rig.engine;
    unsigned work = bale_work(BALE_ITEM_ENCODE, BALE_CODEC_LZ4, 0);
    struct bale_batch batch = {.dispatch = d, .work = work, .count = 4, .bytes = 4 * PIECE};
    for (batch.no_device = 1; batch.no_device <= batch.count; batch.no_device++) {
        batch.failed = batch.no_device;
        bale_dispatch_batch_begins(d, &batch);
        learn(d, &batch);
        CHECK_EQ_U(d->costs.batch[work].batches, 0);
        atomic_store(&d->promising[work], false);
        CHECK_EQ_U(bale_dispatch_gpu_share(d, work, 64 << 20), 2 << 20);
    }
    batch.failed = batch.no_device = 0;
    learn(d, &batch);
    CHECK_EQ_U(d->costs.batch[work].batches, 1);
    rig_stop(&rig);
}

/* A kind that a large batch does faster goes to the GPU while the CPUs are at work, however little
 * waits, and what nobody waits for at any time; one that was slow is asked again, soon at first and
 * later each time. */
static void test_busy(void)
{
    struct rig rig;
    unsigned work = bale_work(BALE_ITEM_ENCODE, BALE_CODEC_LZ4, 0);

    rig_open(&rig, "any", (struct bale_dispatch_options){.threads = 1});
    struct bale_dispatch *d = (struct bale_dispatch *)rig.engine;
    struct bale_batch batch = {.dispatch = d, .work = work, .count = 1, .bytes = PIECE};
    uint64_t trust[2];
    atomic_store(&d->busy.updated_ns, UINT64_MAX / 2); /* nobody looks */
    atomic_store(&d->decoded, work);
    bale_costs_cpu(&d->costs, work, PIECE, PIECE);
    for (int slow = 0; slow < 2; slow++) {
        bale_dispatch_batch_begins(d, &batch);
        batch.begin_ns -= (uint64_t)slow * 1000000000000;
        learn(d, &batch);
        trust[slow] = atomic_load(&d->trust_ns[work]);
        atomic_store(&d->trust_ns[work], UINT64_MAX / 2); /* however long this takes */
        for (int busy = 0; busy < 2; busy++) {
            atomic_store(&d->busy.busy, busy);
            CHECK_EQ_U(bale_dispatch_gpu_share(d, work, PIECE), busy && !slow ? PIECE : 0);
            CHECK_EQ(bale_dispatch_collects_work(d, work, false), busy && !slow);
            CHECK_EQ(bale_dispatch_collects_work(d, work, true), !slow);
            CHECK_EQ(bale_dispatch_collects(rig.engine), !slow);
        }
        atomic_store(&d->trust_ns[work], 0);
        atomic_store(&d->tried_ns[work], 0);
        CHECK(bale_dispatch_collects(rig.engine)); /* to find out */
        /* What was worth it before its costs became old still is. */
        CHECK_EQ_U(bale_dispatch_gpu_share(d, work, 64 << 20), slow ? 2 << 20 : 64 << 20);
    }
    CHECK(trust[1] < trust[0]);
    atomic_store(&d->trust_ns[work], trust[1]);
    batch.stale = true;
    batch.begin_ns = bale_clock_ns() - 1000000000000;
    learn(d, &batch);
    CHECK_EQ_U(atomic_load(&d->trust_ns[work]), 2 * trust[1]);
    rig_stop(&rig);
}

/* A GPU is taken to be worth it until it was measured, which needs the cost on the CPUs as well, and
 * no pinning beside the batch. Till then it has one batch at a time, and half of the items while
 * their cost on the CPUs is unknown. */
static void test_expected(void)
{
    static const struct {
        bool cpu_known, pins_before, pins_meanwhile, promising;
    } cases[] = {
        {true, false, false, false},
        {false, false, false, true},
        {true, true, false, true},
        {true, false, true, true},
    };
    static uint8_t memory[PIECE];
    unsigned work = bale_work(BALE_ITEM_DECODE, BALE_CODEC_LZ4, 0);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t all = cases[i].cpu_known ? PIECE : PIECE / 2;
        struct rig rig;

        rig_open(&rig, "any", (struct bale_dispatch_options){.threads = 1});
        struct bale_dispatch *d = (struct bale_dispatch *)rig.engine;
        struct bale_batch batch = {.dispatch = d, .work = work, .count = 1, .bytes = PIECE};
        atomic_store(&d->busy.updated_ns, UINT64_MAX / 2); /* nobody looks */
        atomic_store(&d->busy.busy, true);
        if (cases[i].cpu_known)
            bale_costs_cpu(&d->costs, work, PIECE, PIECE);
        CHECK_EQ_U(bale_dispatch_gpu_share(d, work, PIECE), all);
        d->batches_of[work] = 1;
        CHECK_EQ_U(bale_dispatch_gpu_share(d, work, PIECE), 0);
        atomic_store(&d->pins, cases[i].pins_before);
        bale_dispatch_batch_begins(d, &batch);
        atomic_store(&d->pins, 0);
        if (cases[i].pins_meanwhile)
            CHECK_EQ(bale_dispatch_pin(rig.engine, memory, sizeof memory), BALE_OK);
        batch.begin_ns -= 1000000000000;
        learn(d, &batch);
        CHECK_EQ_U(bale_dispatch_gpu_share(d, work, PIECE), cases[i].promising ? all : 0);
        d->batches_of[work] = 0;
        rig_stop(&rig);
    }
}

/* A batch beside which memory is pinned counts only until there is another one, which replaces it. */
static void test_slowed(void)
{
    unsigned work = bale_work(BALE_ITEM_DECODE, BALE_CODEC_LZ4, 0);
    struct rig rig;

    rig_open(&rig, "any", (struct bale_dispatch_options){.threads = 1});
    struct bale_dispatch *d = (struct bale_dispatch *)rig.engine;
    struct bale_batch batch = {.dispatch = d, .work = work, .count = 1, .bytes = PIECE};
    const struct bale_cost_batch *costs = &d->costs.batch[work];
    bale_costs_cpu(&d->costs, work, PIECE, PIECE);
    for (int i = 0; i < 4; i++) {
        bool slowed = i % 2 == 0;
        atomic_store(&d->pins, slowed);
        bale_dispatch_batch_begins(d, &batch);
        batch.stale = false;
        batch.begin_ns -= slowed ? 1000000000000 : 0;
        learn(d, &batch);
        atomic_store(&d->pins, 0);
        CHECK_EQ_U(costs->batches, i < 3 ? 1 : 2);
        CHECK_EQ(costs->ns > 500000000000, i == 0);
        CHECK(atomic_load(&d->promising[work]));
    }
    rig_stop(&rig);
}

static void test_costs(void)
{
    static struct bale_costs costs;

    CHECK(bale_costs_cpu_ns(&costs, 3, 1000) == 0);
    bale_costs_cpu(&costs, 3, 1000, 4000);
    CHECK((uint64_t)bale_costs_cpu_ns(&costs, 3, 1000000) / 1000 == 4001 ||
          (uint64_t)bale_costs_cpu_ns(&costs, 3, 1000000) / 1000 == 4000);
    CHECK(bale_costs_cpu_ns(&costs, 4, 1000) == 0);
    bale_costs_cpu(&costs, BALE_WORKS, 1000, 4000);

    bale_costs_batch(&costs, 3, 8 << 20, 13000000);
    CHECK_EQ((int64_t)bale_costs_batch_ns(&costs, 3, 80 << 20), 13000000);
    for (uint64_t i = 1; i < 40; i++)
        bale_costs_batch(&costs, 3, i % 8 << 20, 13000000 + (i % 8 << 20) / 4);
    int64_t far = (int64_t)bale_costs_batch_ns(&costs, 3, 64 << 20);
    CHECK(far > 13000000 + (60 << 20) / 4 && far < 13000000 + (68 << 20) / 4);
    bale_costs_forget(&costs, 3);
    CHECK_EQ_U(costs.batch[3].batches, 0);
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 2);
    rig_plugin = argv[1];
    test_costs();
    test_again();
    test_busy();
    test_expected();
    test_slowed();
    return check_result();
}
