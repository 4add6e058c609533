/* The CUDA engine against the CPU's: what one encodes the other decodes, and where the bytes have to be
 * the same they are.
 *
 * usage: cuda_test PLUGIN [--few]; skipped where there is no GPU. Where nvCOMP is missing, its codecs
 * are only checked to be refused.
 *   --few: as much as a checker of memory accesses can follow */
#include "format/err.h"
#include "format/reason.h"
#include "kernels/base/clock.h"
#include "tests/check.h"
#include "tests/codecs/data.h"
#include "tests/cuda/codec_items.h"
#include "tests/cuda/rig.h"

enum { ROUNDS = 40, ROUNDS_FEW = 2 };

static void test_many(struct codec_items *list, unsigned rounds)
{
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < CODEC_ITEMS; i++)
            codec_prepare(list, i, 0, codec_next(list) % 2);
        codec_run(list, CODEC_ITEMS);
    }
}

/* Each length up to 2048, for the sake of the hash, whose rules change with it. */
static void test_lengths(struct codec_items *list)
{
    for (uint32_t length = 1; length <= 2048; length += CODEC_ITEMS) {
        for (unsigned i = 0; i < CODEC_ITEMS; i++)
            codec_prepare(list, i, length + i, i % 4 != 0);
        codec_run(list, CODEC_ITEMS);
    }
}

/* The engine refuses what it cannot do: takes says so, and submitted items fail. */
static void test_refused(struct codec_items *list)
{
    const struct bale_gpu *gpu = list->rig->gpu;
    struct bale_engine *engine = list->rig->engine;
    struct bale_item item;

    codec_prepare(list, 0, 100000, true);
    item = list->items[0];
    item.setting = (struct bale_setting){.codec = BALE_CODEC_STORE, .parameter = 0};
    CHECK(gpu->takes(engine, &item));
    item.raw = list->plain;
    CHECK(!gpu->takes(engine, &item)); /* not pinned */
    item = list->items[0];
    item.stored = list->plain;
    CHECK(!gpu->takes(engine, &item));
    item = list->items[0];
    item.raw = list->rig->memory + list->rig->size - 50000;
    CHECK(!gpu->takes(engine, &item)); /* partly */
    item = list->items[0];
    item.setting = (struct bale_setting){.codec = BALE_CODEC_ZSTD, .parameter = 4};
    CHECK(!gpu->takes(engine, &item));
    item.setting = (struct bale_setting){.codec = BALE_CODEC_AUTO, .parameter = 0};
    CHECK(!gpu->takes(engine, &item));
    item.setting =
        (struct bale_setting){.codec = BALE_CODEC_GPULZ, .parameter = 0x21ff}; /* as open */
    CHECK(!gpu->takes(engine, &item));
    item.setting = (struct bale_setting){.codec = BALE_CODEC_STORE, .parameter = 0};
    item.capacity--;
    CHECK(!gpu->takes(engine, &item));
    rig_run(list->rig, &item, 1);
    CHECK_EQ(item.status, BALE_E_INVALID);
    item.capacity++;
    item.frame.chunk_log2 = 17;
    CHECK(!gpu->takes(engine, &item));
    rig_run(list->rig, &item, 1);
    CHECK_EQ(item.status, BALE_E_INVALID);
    CHECK(!bale_engine_run_inline(engine, &item, NULL));
}

/* Only an engine that has nvCOMP takes its codecs; without it submitted items go back. */
static void test_closed(struct codec_items *list)
{
    static const struct bale_setting closed[] = {{.codec = BALE_CODEC_LZ4, .parameter = 0},
                                                 {.codec = BALE_CODEC_ZSTD, .parameter = 1}};

    for (size_t i = 0; i < sizeof closed / sizeof closed[0]; i++) {
        struct bale_item *item = &list->items[0];
        const bool has = rig_has(list->rig, closed[i].codec);
        codec_prepare(list, 0, 100000, true);
        item->setting = closed[i];
        CHECK_EQ(list->rig->gpu->takes(list->rig->engine, item), has);
        rig_run(list->rig, item, 1);
        CHECK_EQ(item->status, has ? BALE_OK : BALE_E_NO_DEVICE);
    }
}

/* Copies may lie across what was pinned step by step, more of them than are begun at a time. */
static void test_copies(struct codec_items *list)
{
    enum { COPIES = 600, LENGTH = 100000 };
    const struct bale_gpu *gpu = list->rig->gpu;
    uint8_t *border = list->rig->memory + list->rig->size - RIG_STEP;
    uint8_t *from = border - LENGTH / 2, *to = list->plain;
    static struct bale_gpu_copy copies[COPIES];

    data_fill(DATA_MIXED, codec_next(list), from, LENGTH);
    for (size_t i = 0; i < COPIES; i++)
        copies[i] = (struct bale_gpu_copy){to + i * LENGTH, from, LENGTH - i};
    CHECK_EQ(gpu->copy(list->rig->engine, copies, COPIES), BALE_OK);
    for (size_t i = 0; i < COPIES; i++)
        CHECK_EQ_MEM(to + i * LENGTH, from, LENGTH - i);
    data_fill(DATA_MIXED, codec_next(list), to, LENGTH);
    copies[0] = (struct bale_gpu_copy){from, to, LENGTH};
    CHECK_EQ(gpu->copy(list->rig->engine, copies, 1), BALE_OK);
    CHECK_EQ_MEM(from, to, LENGTH);
}

/* Without work the device's memory is given back; the next batch is answered at once and takes it
 * again. */
static void test_release(struct codec_items *list)
{
    const struct bale_gpu_options all = {.memory = 0};
    const struct bale_gpu_options options = {.release_ms = 100};
    uint64_t memory;

    rig_open(list->rig, &all);
    memory = rig_stats(list->rig).device_memory;
    rig_close(list->rig);
    rig_open(list->rig, &options);
    for (int round = 0; round < 3; round++) {
        codec_prepare(list, 0, 300000, true);
        rig_wait(list->rig, false);
        CHECK(rig_stats(list->rig).device_memory < memory);
        CHECK(list->rig->gpu->takes(list->rig->engine, &list->items[0]));
        rig_run(list->rig, list->items, 1);
        CHECK_EQ(list->items[0].status, BALE_E_NO_DEVICE);
        rig_wait(list->rig, true);
        codec_run(list, 1);
    }
    rig_close(list->rig);
}

/* The times of an opening come one after the other, and with each opening new ones. */
static void test_timeline(struct codec_items *list)
{
    struct bale_gpu_options options = {.begin_ns = bale_clock_ns()};
    struct bale_gpu_timeline first, second;

    rig_open(list->rig, &options);
    first = rig_stats(list->rig).opening;
    CHECK_EQ_U(first.begin_ns, options.begin_ns);
    CHECK(first.phase_ns[BALE_GPU_PLUGIN] > 0 && first.phase_ns[BALE_GPU_CONTEXT] > 0);
    CHECK_EQ_U(first.phase_ns[BALE_GPU_PINS], 0);
    CHECK(first.open_ns >= first.phase_ns[BALE_GPU_PLUGIN] + first.phase_ns[BALE_GPU_CONTEXT]);
    CHECK(first.pinned_ns >= first.open_ns);
    CHECK(first.taken_ns == 0 && first.done_ns == 0);
    codec_prepare(list, 0, 300000, true);
    codec_run(list, 1);
    first = rig_stats(list->rig).opening;
    CHECK(first.taken_ns > 0 && first.done_ns >= first.taken_ns);
    rig_close(list->rig);

    options.release_ms = 100;
    rig_open(list->rig, &options);
    first = rig_stats(list->rig).opening;
    for (second = first; second.begin_ns == first.begin_ns; second = rig_stats(list->rig).opening) {
        rig_wait(list->rig, false);
        rig_run(list->rig, list->items, 1);
    }
    CHECK(second.begin_ns > first.begin_ns + first.open_ns);
    CHECK_EQ_U(second.phase_ns[BALE_GPU_PLUGIN], 0);
    CHECK(second.phase_ns[BALE_GPU_PINS] > 0 && second.pinned_ns > 0);
    rig_close(list->rig);
}

static void test_engine(struct codec_items *list, const struct bale_gpu_options *options,
                        unsigned rounds)
{
    const struct bale_codec_about *about;
    struct bale_gpu_stats stats;

    rig_open(list->rig, options);
    test_lengths(list);
    test_refused(list);
    test_closed(list);
    test_copies(list);
    test_many(list, rounds);
    stats = rig_stats(list->rig);
    CHECK(stats.open);
    CHECK(!stats.lost);
    CHECK_EQ_U(stats.mismatches, 0);
    CHECK_EQ_U(stats.pinned, list->rig->size);
    if (options->memory > 0)
        CHECK(stats.device_memory <=
              options->memory * (options->device_count > 0 ? options->device_count : 1));
    printf(
        "%s, verify %d: %u items taken, %u not; %llu batches, %.0f MiB of device memory; frames:",
        stats.device, options->verify, list->taken, list->refused,
        (unsigned long long)stats.batches, (double)stats.device_memory / (1 << 20));
    for (size_t i = 0; (about = bale_codec_at(i)); i++)
        if (list->frames_of[about->id] > 0)
            printf(" %s %u", about->name, list->frames_of[about->id]);
    printf("\n");
    rig_close(list->rig);
}

int main(int argc, char **argv)
{
    static struct codec_items list;
    struct bale_gpu_options options[] = {
        {.verify = true, .memory = (uint64_t)8 << 30},
        {.memory = 0},
        {.memory = (uint64_t)24 << 30, .devices = {0, 1}},
    };
    struct rig rig;

    setvbuf(stdout, NULL, _IOLBF, 0);
    REQUIRE(argc >= 2);
    rig_load(&rig, argv[1]);
    rig_say_missing(&rig);
    codec_items_open(&list, &rig, 1);
    options[2].device_count = rig.found.device_count > 1 ? 2 : 1;
    for (unsigned i = 0; i < sizeof options / sizeof options[0]; i++)
        test_engine(&list, &options[i], argc > 2 ? ROUNDS_FEW : ROUNDS);
    test_release(&list);
    test_timeline(&list);
    codec_items_close(&list);
    return check_result();
}
