/* The dispatcher with a fake GPU engine (tests/support/fake_gpu.c): whatever goes
 * wrong there, every item is done once, with what the CPU makes of it.
 * usage: dispatch_test PLUGIN OLD-PLUGIN [--few] */
#include "tests/unit/kernels/engine/dispatch_rig.h"
#include "tests/unit/kernels/engine/rounds.h"

static int rounds = 12;

static const char *old_plugin;

/* ---- Many items, there and back ---- */

/* Those of high priority are the CPU's. */
static enum bale_priority some_high(uint64_t *state)
{
    return data_next(state) % 5 == 0 ? BALE_PRIORITY_HIGH : BALE_PRIORITY_NORMAL;
}

static void submit_from_threads(struct bale_engine *engine)
{
    rounds_run(&(struct rounds){engine, rounds, some_high});
}

/* gives_up: the GPU is no longer asked at the end. */
static void test_many(const char *faults, enum bale_engine_choice choice, bool redoes,
                      bool gives_up)
{
    struct rig rig;

    rig_open(&rig, faults, (struct bale_dispatch_options){.threads = 2, .choice = choice});
    submit_from_threads(rig.engine);
    struct bale_dispatch_stats stats = rig_stats(&rig);
    CHECK_EQ_U(stats.cpu.items + stats.gpu.items, rounds_items(rounds));
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
        CHECK_EQ_U(stats.cpu.items, rounds_items(rounds));
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

/* A driver that hangs does not keep what ends from ending. */
static void test_hanging(const char *faults)
{
    struct rig rig;
    int complaints;

    if (strstr(faults, "open"))
        rig_start(&rig, faults, (struct bale_dispatch_options){.threads = 2});
    else
        rig_open(&rig, faults, (struct bale_dispatch_options){.threads = 2});
    submit_from_threads(rig.engine);
    complaints = atomic_load(&rig_complaints);
    rig_stop(&rig);
    CHECK_EQ(atomic_load(&rig_complaints), complaints + 1);
    CHECK(bale_dispatch_hangs());
}

static void test_cpu(void)
{
    struct rig rig;

    rig_start(&rig, "any", (struct bale_dispatch_options){.threads = 2, .choice = BALE_ENGINE_CPU});
    submit_from_threads(rig.engine);
    CHECK_EQ_U(rig_stats(&rig).cpu.items, rounds_items(rounds));
    CHECK_EQ_STR(rig_stats(&rig).device.device, "");
    rig_stop(&rig);
}

/* ---- Memory that a device may write to yet ---- */

static void note_late(void *arg, bool may)
{
    atomic_store((atomic_bool *)arg, may);
}

static void make_decode(struct piece *piece, sem_t *finished)
{
    piece->item = (struct bale_item){
        .kind = BALE_ITEM_DECODE,
        .priority = BALE_PRIORITY_NORMAL,
        .frame = {.raw_length = PIECE, .codec = BALE_CODEC_LZ4},
        .raw = piece->raw,
        .stored = piece->stored,
        .stored_length = piece->item.stored_length,
        .done = piece_post,
        .owner = finished,
    };
}

/* The owner of the item is called, and finds it as it was; with its memory free again, or other
 * memory, it is done. What comes meanwhile is the CPU's. */
static void test_taken(enum bale_item_kind kind)
{
    enum { REFUSED = 3 };
    struct rig rig;
    struct piece other;
    struct piece taken;
    struct bale_item before;
    atomic_bool may = false;
    sem_t finished;

    sem_init(&finished, 0, 0);
    rig_open(&rig, "any,late=9",
             (struct bale_dispatch_options){.threads = 2,
                                            .choice = BALE_ENGINE_GPU,
                                            .gpu = {.quarantine = note_late, .arg = &may}});
    piece_make(&other, BALE_PRIORITY_NORMAL, &finished);
    piece_make(&taken, kind == BALE_ITEM_DECODE ? BALE_PRIORITY_HIGH : BALE_PRIORITY_NORMAL,
               &finished);
    if (kind == BALE_ITEM_DECODE) {
        piece_do(&rig, &taken, &finished);
        make_decode(&taken, &finished);
    }
    before = taken.item;
    bale_engine_submit(rig.engine, &taken.item);
    sem_wait(&finished);
    CHECK_EQ(taken.item.status, BALE_E_QUARANTINED);
    taken.item.status = before.status;
    taken.item.next = before.next;
    CHECK_EQ_MEM(&taken.item, &before, sizeof before);
    for (unsigned i = 0; i < REFUSED; i++) {
        CHECK(atomic_load(&may));
        piece_do(&rig, &other, &finished);
    }
    CHECK(!atomic_load(&may));
    CHECK_EQ_U(rig_stats(&rig).redone, 1 + REFUSED);
    piece_do(&rig, &taken, &finished);
    CHECK_EQ_U(taken.item.stored_length, other.item.stored_length);
    CHECK_EQ_MEM(taken.stored, other.stored, other.item.stored_length);
    CHECK_EQ_MEM(taken.raw, other.raw, PIECE);
    CHECK_EQ(atomic_load(&rig_complaints), 0);
    CHECK(rig_stats(&rig).used);
    rig_stop(&rig);
    piece_free(&other);
    piece_free(&taken);
    sem_destroy(&finished);
}

/* A device that is never back does not keep the end from coming. */
static void test_taken_for_good(void)
{
    static struct piece piece; /* the device's from now on */
    struct rig rig;
    sem_t finished;

    sem_init(&finished, 0, 0);
    rig_open(&rig, "any,late=1,late-hangs,end-hangs",
             (struct bale_dispatch_options){.threads = 2, .choice = BALE_ENGINE_GPU});
    piece_make(&piece, BALE_PRIORITY_NORMAL, &finished);
    bale_engine_submit(rig.engine, &piece.item);
    sem_wait(&finished);
    CHECK_EQ(piece.item.status, BALE_E_QUARANTINED);
    rig_stop(&rig);
    CHECK_EQ(atomic_load(&rig_complaints), 1);
    CHECK(bale_dispatch_hangs());
    sem_destroy(&finished);
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

/* What is given back comes back with word of work, or with a batch. Without a GPU both do
 * nothing. */
static void test_release_and_wake(void)
{
    struct rig rig;

    rig_open(&rig, "any", (struct bale_dispatch_options){.threads = 1});
    CHECK(rig_stats(&rig).device.open);
    bale_dispatch_release_gpu(rig.engine);
    CHECK(!rig_stats(&rig).device.open);
    bale_dispatch_wake_gpu(rig.engine);
    CHECK(rig_stats(&rig).device.open);
    rig_stop(&rig);

    rig_start(&rig, "open", (struct bale_dispatch_options){.threads = 1});
    sem_wait(&rig.said);
    bale_dispatch_release_gpu(rig.engine);
    bale_dispatch_wake_gpu(rig.engine);
    CHECK(!rig_stats(&rig).device.open);
    rig_stop(&rig);
}

int main(int argc, char **argv)
{
    char other[80];

    if (check_few(&argc, argv))
        rounds = 3;
    REQUIRE(argc == 3);
    rig_plugin = argv[1];
    old_plugin = argv[2];
    test_many("any", BALE_ENGINE_GPU, false, false);
    test_many("any", BALE_ENGINE_AUTO, false, false);
    test_many("any,delay=2000", BALE_ENGINE_GPU, false, false);
    test_many("any,item=7", BALE_ENGINE_GPU, true, false);
    test_many("any,item=1", BALE_ENGINE_GPU, true, false);
    test_many("any,again=1", BALE_ENGINE_GPU, true, false);
    test_many("any,again=1,batch", BALE_ENGINE_GPU, true, false);
    test_many("any,again=2,batch", BALE_ENGINE_GPU, true, true);
    test_many("any,corrupt", BALE_ENGINE_GPU, true, false);
    test_many("any,batch=2", BALE_ENGINE_GPU, true, false);
    test_many("any,batch", BALE_ENGINE_GPU, true, true);
    test_many("any,hang=50000", BALE_ENGINE_GPU, true, true);
    test_many("any,lost=3,delay=1000", BALE_ENGINE_GPU, true, true);
    test_cpu();
    test_closed("open", NULL, "GPU: no device: BALE_FAKE_GPU says so: the CPU does");
    snprintf(other, sizeof other, "of another version of balefs: its interface is 0, not %u",
             BALE_GPU_ABI);
    test_closed("", old_plugin, other);
    test_closed("", "/nowhere/libbalefs_cuda.so", "/nowhere/libbalefs_cuda.so: cannot open");
    test_open_and_destroy();
    test_hanging("any,open-hangs");
    test_hanging("any,end-hangs");
    test_taken(BALE_ITEM_ENCODE);
    test_taken(BALE_ITEM_DECODE);
    test_taken_for_good();
    test_destroy("any");
    test_destroy("any,delay=5000");
    test_destroy("any,batch,delay=1000");
    test_release_and_wake();
    return check_result();
}
