/* What the engine does with items in pinned memory, by bytes in flight. */
#include <time.h>

#include "format/err.h"
#include "tests/check.h"
#include "tests/cuda/rig.h"
#include "tests/unit/kernels_data.h"

#define MIB ((size_t)1 << 20)

enum {
    EXTENT = BALE_EXTENT_DEFAULT,
    FRAME_ROOM = EXTENT + 4096,
    SAMPLE = 32 << 20, /* repeated up to the bytes in flight */
    MOST = 512,        /* MiB in flight */
    ITEMS = (int)(MOST * MIB / EXTENT),
    RUNS_MAX = 200,
};

static const unsigned sizes[] = {1, 8, 32, 128, MOST};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static struct bale_item items[ITEMS];
static struct bale_item run_items[ITEMS];

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint8_t *raw_place(struct rig *rig, unsigned i)
{
    return rig->memory + (size_t)i * EXTENT;
}

static uint8_t *stored_place(struct rig *rig, unsigned i)
{
    return rig->memory + MOST * MIB + (size_t)i * FRAME_ROOM;
}

static void fill(struct rig *rig, const char *data)
{
    FILE *file = data ? fopen(data, "rb") : NULL;
    size_t have = 0;

    REQUIRE(!data || file);
    if (file) {
        have = fread(rig->memory, 1, MOST * MIB, file);
        fclose(file);
        REQUIRE(have > 0);
    } else {
        have = SAMPLE;
        data_fill(DATA_TEXT, 1, rig->memory, have);
    }
    for (size_t at = have; at < MOST * MIB; at += have) {
        size_t left = MOST * MIB - at;
        memcpy(rig->memory + at, rig->memory, left < have ? left : have);
    }
}

static void set_encode(struct rig *rig, struct bale_setting setting)
{
    for (unsigned i = 0; i < ITEMS; i++)
        items[i] = (struct bale_item){
            .kind = BALE_ITEM_ENCODE,
            .priority = BALE_PRIORITY_NORMAL,
            .place = BALE_PLACE_PINNED,
            .setting = setting,
            .frame = {.raw_length = EXTENT, .chunk_log2 = BALE_CHUNK_LOG2_DEFAULT},
            .raw = raw_place(rig, i),
            .stored = stored_place(rig, i),
            .capacity = bale_frame_bound(EXTENT, BALE_CHUNK_LOG2_DEFAULT),
        };
}

/* Of what was encoded last. */
static void set_decode(void)
{
    for (unsigned i = 0; i < ITEMS; i++)
        items[i] = (struct bale_item){
            .kind = BALE_ITEM_DECODE,
            .priority = BALE_PRIORITY_LOW,
            .place = BALE_PLACE_PINNED,
            .frame = {.raw_length = EXTENT},
            .raw = items[i].raw,
            .stored = items[i].stored,
            .stored_length = run_items[i].stored_length,
        };
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* GB/s with so many MiB in flight: the median of some runs. */
static double rate(struct rig *rig, unsigned mib)
{
    unsigned count = (unsigned)(mib * MIB / EXTENT);
    double seconds[RUNS_MAX];
    double begin = now();
    int runs = 0;

    while (runs < RUNS_MAX && (runs < 4 || now() - begin < 0.4)) {
        memcpy(run_items, items, count * sizeof items[0]);
        double start = now();
        rig_run(rig, run_items, count);
        seconds[runs++] = now() - start;
        for (unsigned i = 0; i < count; i++)
            if (run_items[i].status != BALE_OK) {
                CHECK_EQ(run_items[i].status, BALE_OK);
                return 0;
            }
    }
    qsort(seconds, (size_t)runs, sizeof seconds[0], compare);
    return (double)(mib * MIB) / 1e9 / seconds[runs / 2];
}

static void print_row(struct rig *rig, const char *name, const char *what)
{
    printf("%-6s %-18s", name, what);
    for (unsigned s = 0; s < SIZES; s++)
        printf(" %8.2f", rate(rig, sizes[s]));
    if (items[0].kind == BALE_ITEM_ENCODE) {
        uint64_t stored = 0;
        for (unsigned i = 0; i < ITEMS; i++)
            stored += run_items[i].stored_length;
        printf("   ratio %.3f", (double)ITEMS * EXTENT / (double)stored);
    }
    printf("\n");
}

static void bench_codecs(struct rig *rig, bool verify)
{
    static const struct bale_setting settings[] = {
        {BALE_CODEC_STORE, 0}, {BALE_CODEC_LZ4, 0}, {BALE_CODEC_ZSTD, 1}};

    for (unsigned c = 0; c < sizeof settings / sizeof settings[0]; c++) {
        const char *name = bale_codec_name(settings[c].codec);
        set_encode(rig, settings[c]);
        if (!rig->gpu->takes(rig->engine, &items[0]))
            continue;
        print_row(rig, name, verify ? "encode, verified" : "encode");
        if (verify)
            continue;
        set_decode();
        print_row(rig, name, "decode");
    }
}

void bench(struct rig *rig, const char *data, uint64_t device_memory)
{
    struct bale_gpu_options options = {.memory = device_memory};

    rig_reserve(rig, MOST * MIB + (size_t)ITEMS * FRAME_ROOM);
    fill(rig, data);
    for (int verify = 0; verify < 2; verify++) {
        options.verify = verify;
        rig_open(rig, &options);
        if (!verify) {
            struct bale_gpu_stats stats = rig_stats(rig);
            printf("%s, %.0f MiB of device memory; GB/s from host to host, MiB in flight:\n%-25s",
                   stats.device, (double)stats.device_memory / (double)MIB, "");
            for (unsigned s = 0; s < SIZES; s++)
                printf(" %8u", sizes[s]);
            printf("\n");
        }
        bench_codecs(rig, verify);
        rig_close(rig);
    }
}
