/* The library with a fake GPU (tests/support/fake_gpu.c): the streams are those of the CPU, with
 * input and output in host or device memory; only the GPU accesses its memory; the CPU does what
 * the GPU fails at, and messages say what the GPU lacks.
 *
 * The plug-in is found where LD_LIBRARY_PATH says. */
#include <sys/mman.h>
#include <unistd.h>

#include "format/stream.h"
#include "kernels/api/context.h"
#include "tests/api/bounds.h"
#include "tests/check.h"
#include "tests/codecs/cases.h"
#include "tests/codecs/data.h"

enum { K = 1024, LARGE = 5 * 1024 * K + 77, MEMORY = 32 * 1024 * K };

static struct bale_context *cpu;
static uint8_t raw[LARGE];
static uint8_t *memory; /* of the device: nobody may look there */
static uint8_t *real;   /* what is in it */
static bool few;

/* Two views of the same pages, one of them for nobody. */
static void make_memory(void)
{
    int fd = memfd_create("device", MFD_CLOEXEC);
    char text[128];

    REQUIRE(fd >= 0 && ftruncate(fd, MEMORY) == 0);
    memory = mmap(NULL, MEMORY, PROT_NONE, MAP_SHARED, fd, 0);
    real = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REQUIRE(memory != MAP_FAILED && real != MAP_FAILED);
    close(fd);
    snprintf(text, sizeof text, "%zu %zu %zu", (size_t)memory, (size_t)MEMORY, (size_t)real);
    setenv("BALE_FAKE_MEMORY", text, 1);
}

static struct bale_context *open_context(const char *engine, const char *faults)
{
    struct bale_context_params how = BALE_CONTEXT_PARAMS_INIT;
    struct bale_context *context = NULL;

    setenv("BALE_FAKE_GPU", faults, 1);
    how.threads = 3;
    how.engine = engine;
    how.staging = 1; /* as little as there is */
    REQUIRE(bale_context_create(&how, &context) == BALE_API_OK);
    return context;
}

static struct bale_dispatch_stats stats_of(struct bale_context *context)
{
    struct bale_dispatch_stats stats;

    bale_dispatch_stats(context->engine, &stats);
    return stats;
}

/* The CPU's stream. */
static struct bale_buffer made_by_cpu(const struct bale_params *params, size_t length)
{
    struct bale_buffer made = {0};

    REQUIRE(bale_compress(cpu, params, raw, length, &made) == BALE_API_OK);
    return made;
}

/* From memory of the host or the device to memory of either or of the library's, and back. */
static void check_trip(struct bale_context *context, const struct bale_params *params,
                       size_t length, bool device, const struct bale_buffer *expected)
{
    size_t bound = bale_compress_bound(params, length);
    size_t at = length + 1; /* of the device's memory: behind the input, and askew */
    struct bale_buffer made = {0}, back = {0};
    const uint8_t *in = raw;

    memcpy(real, raw, length);
    if (device) {
        in = memory;
        made = (struct bale_buffer){.data = memory + at, .capacity = bound};
        back = (struct bale_buffer){.data = memory + at + bound, .capacity = length};
    }
    CHECK_EQ(bale_compress(context, params, in, length, &made), BALE_API_OK);
    CHECK_EQ_U(made.length, expected->length);
    CHECK_EQ_MEM(device ? real + at : made.data, expected->data, expected->length);
    CHECK_EQ(bale_decompress(context, params, made.data, made.length, &back), BALE_API_OK);
    CHECK_EQ_U(back.length, length);
    CHECK_EQ_MEM(device ? real + at + bound : back.data, raw, length);
    if (!device) {
        bale_buffer_free(&made);
        bale_buffer_free(&back);
    }
}

static void round_trip(struct bale_context *context, const struct bale_params *params,
                       size_t length, bool device)
{
    struct bale_buffer expected = made_by_cpu(params, length);

    check_trip(context, params, length, device, &expected);
    bale_buffer_free(&expected);
}

static void test_round_trips(const char *engine, const char *faults, size_t most_kinds)
{
    const size_t lengths[] = {0,          1,       4095,        16 * K - 1,
                              16 * K + 1, 128 * K, 128 * K + 1, few ? 250 * K + 3 : 700 * K + 3};
    static const enum data_kind kinds[] = {DATA_MIXED, DATA_TEXT, DATA_RUNS};
    struct bale_context *context = open_context(engine, faults);
    const char *codec;

    for (size_t k = 0; k < most_kinds; k++) {
        data_fill(kinds[k], 3, raw, LARGE);
        memset(raw + 200 * K, 0, 300 * K); /* frames that are all equal */
        for (size_t s = 0; (codec = codec_settings_next(SETTINGS_GPU_API, &s)) != NULL;)
            for (size_t l = few ? 7 : 0; l < sizeof lengths / sizeof lengths[0]; l++) {
                struct bale_params params = BALE_PARAMS_INIT;
                params.codec = codec;
                params.extent = l % 2 ? 16 * K : 0;
                params.chunk = l % 3 ? 4 * K : 0;
                struct bale_buffer expected = made_by_cpu(&params, lengths[l]);
                check_trip(context, &params, lengths[l], false, &expected);
                check_trip(context, &params, lengths[l], true, &expected);
                bale_buffer_free(&expected);
            }
    }
    bale_context_destroy(context);
}

/* With all going well the GPU does it, from where it lies. */
static void test_who(void)
{
    struct bale_context *context = open_context("gpu", "");
    struct bale_context *automatic = open_context("auto", "");
    struct bale_params params = BALE_PARAMS_INIT;
    struct bale_dispatch_stats stats;

    params.codec = "gpulz:s=1,w=64,c=2048";
    data_fill(DATA_TEXT, 4, raw, LARGE);
    round_trip(context, &params, LARGE, false);
    round_trip(context, &params, LARGE, true);
    stats = stats_of(context);
    CHECK_EQ_U(stats.gpu.encoded, 2 * (uint64_t)LARGE);
    CHECK_EQ_U(stats.gpu.decoded, 2 * (uint64_t)LARGE);
    CHECK_EQ_U(stats.cpu.encoded + stats.cpu.decoded, 0);
    CHECK_EQ_U(stats.redone, 0);
    CHECK_EQ_U(stats.device.pinned, 32 * K * K);
    round_trip(automatic, &params, LARGE, true);
    stats = stats_of(automatic);
    CHECK_EQ_U(stats.gpu.encoded, LARGE);
    CHECK_EQ_U(stats.gpu.decoded, LARGE);
    bale_context_destroy(automatic);
    bale_context_destroy(context);
}

static void upload(void *device, const void *bytes, size_t length)
{
    memcpy(real + ((uint8_t *)device - memory), bytes, length);
}

static const uint8_t *download(const void *device, size_t length)
{
    (void)length;
    return real + ((const uint8_t *)device - memory);
}

/* The GPU rounds what lies in its memory; the CPU rounds what the GPU fails at. */
static void test_bounds(void)
{
    const struct bounded_device device = {memory, upload, download};

    for (size_t i = 0; i < BOUNDED; i++)
        for (int badly = 0; badly <= 1; badly++) {
            struct bale_context *context = open_context("gpu", badly ? "item=3" : "");
            bounded_check_device(&bounded[i], cpu, context, &device, raw, LARGE);
            CHECK_EQ_U(stats_of(context).gpu.encoded, LARGE);
            CHECK((stats_of(context).redone > 0) == badly);
            bale_context_destroy(context);
        }
}

/* A closed codec is decoded on the GPU only for callers that trust the stream. */
static void test_trust(void)
{
    for (size_t trusted = 0; trusted < 2; trusted++) {
        struct bale_context_params how = BALE_CONTEXT_PARAMS_INIT;
        struct bale_params params = BALE_PARAMS_INIT;
        struct bale_context *context = NULL;
        setenv("BALE_FAKE_GPU", "", 1);
        how.engine = "gpu";
        how.trusted = trusted;
        REQUIRE(bale_context_create(&how, &context) == BALE_API_OK);
        params.codec = "lz4";
        data_fill(DATA_TEXT, 4, raw, LARGE);
        round_trip(context, &params, LARGE, false);
        round_trip(context, &params, LARGE, true);
        CHECK_EQ_U(stats_of(context).gpu.decoded, 2 * trusted * (uint64_t)LARGE);
        CHECK_EQ_U(stats_of(context).gpu.encoded, 2 * (uint64_t)LARGE);
        CHECK_EQ_U(stats_of(context).redone, 0);
        bale_context_destroy(context);
    }
}

/* One on a device, the other not. */
static void test_mixed(void)
{
    struct bale_context *context = open_context("gpu", "");
    struct bale_params params = BALE_PARAMS_INIT;
    struct bale_buffer made = {0}, back = {.data = memory, .capacity = LARGE};

    params.codec = "culzss";
    data_fill(DATA_MIXED, 5, raw, LARGE);
    memcpy(real, raw, LARGE);
    CHECK_EQ(bale_compress(context, &params, memory, LARGE, &made), BALE_API_OK);
    memset(real, 0, LARGE);
    CHECK_EQ(bale_decompress(context, NULL, made.data, made.length, &back), BALE_API_OK);
    CHECK_EQ_MEM(real, raw, LARGE);
    memcpy(real, made.data, made.length);
    back = (struct bale_buffer){0};
    CHECK_EQ(bale_decompress(context, NULL, memory, made.length, &back), BALE_API_OK);
    CHECK_EQ_U(back.length, LARGE);
    CHECK_EQ_MEM(back.data, raw, LARGE);
    bale_buffer_free(&back);
    bale_buffer_free(&made);
    bale_context_destroy(context);
}

/* Extents that are larger than the staging; and several contexts, in turns. */
static void test_large_and_many(void)
{
    struct bale_context *first = open_context("gpu", "");
    struct bale_context *second = open_context("auto", "");
    struct bale_params params = BALE_PARAMS_INIT;

    data_fill(DATA_TEXT, 6, raw, LARGE);
    for (uint32_t extent = 4 * K * K; extent <= 64 * K * K; extent *= 4) {
        params.extent = extent;
        round_trip(first, &params, LARGE, false);
        round_trip(second, &params, LARGE, true);
    }
    bale_context_destroy(first);
    round_trip(second, NULL, LARGE, false);
    bale_context_destroy(second);
}

/* Buffers that are too small, and not a byte behind them is written; limits. */
static void test_room(void)
{
    struct bale_context *context = open_context("gpu", "");
    struct bale_params params = BALE_PARAMS_INIT;
    struct bale_buffer made, out;

    params.codec = "gpulz:s=1,w=64,c=2048";
    params.extent = 16 * K;
    data_fill(DATA_TEXT, 7, raw, LARGE);
    made = made_by_cpu(&params, 100000);
    memcpy(real, raw, 100000);
    for (size_t less = 0; less < made.length; less += 1 + less / 3) {
        memset(real + 200000 + less, 0x5a, 1000);
        out = (struct bale_buffer){.data = memory + 200000, .capacity = less};
        CHECK_EQ(bale_compress(context, &params, memory, 100000, &out), BALE_API_TOO_BIG);
        CHECK_EQ_U(out.length, 0);
        for (size_t i = 0; i < 1000; i++)
            CHECK(real[200000 + less + i] == 0x5a);
        out = (struct bale_buffer){.capacity = less};
        CHECK(less == 0 || bale_compress(context, &params, raw, 100000, &out) == BALE_API_TOO_BIG);
        CHECK(!out.data);
    }
    out = (struct bale_buffer){.data = memory, .capacity = 99999};
    CHECK_EQ(bale_decompress(context, NULL, made.data, made.length, &out), BALE_API_TOO_BIG);
    out = (struct bale_buffer){.capacity = 99999};
    CHECK_EQ(bale_decompress(context, NULL, made.data, made.length, &out), BALE_API_TOO_BIG);
    CHECK(!out.data);
    /* Damage, to the host and to the device. */
    ((uint8_t *)made.data)[made.length / 2] ^= 1;
    out = (struct bale_buffer){.capacity = LARGE};
    CHECK_EQ(bale_decompress(context, NULL, made.data, made.length, &out), BALE_API_CORRUPT);
    CHECK(!out.data);
    out = (struct bale_buffer){.data = memory, .capacity = 100000};
    CHECK_EQ(bale_decompress(context, NULL, made.data, made.length, &out), BALE_API_CORRUPT);
    CHECK(strstr(bale_context_message(context), "is damaged") != NULL);
    bale_buffer_free(&made);
    bale_context_destroy(context);
}

/* A gap reads as zeros, on a device as well. */
static void test_gap(void)
{
    struct bale_context *context = open_context("gpu", "");
    uint8_t bytes[BALE_STREAM_HEAD + BALE_STREAM_END];
    struct bale_buffer back = {.data = memory, .capacity = 54321};
    struct bale_stream stream;

    bale_stream_begin(&stream, BALE_EXTENT_MIN, (struct bale_setting){0}, bytes);
    bale_stream_end_encode(&stream, 54321, bytes + BALE_STREAM_HEAD);
    memset(real, 1, 60000);
    memset(raw, 0, 54321);
    CHECK_EQ(bale_decompress(context, NULL, bytes, sizeof bytes, &back), BALE_API_OK);
    CHECK_EQ_U(back.length, 54321);
    CHECK_EQ_MEM(real, raw, 54321);
    CHECK_EQ(real[54321], 1);
    bale_context_destroy(context);
}

static void fill_late(void)
{
    data_fill(DATA_TEXT, 8, raw, LARGE);
    memcpy(real, raw, LARGE);
}

/* Compression waits for the data that a CUDA stream has yet to make. */
static void test_stream(void)
{
    static void (*stream)(void) = fill_late;
    struct bale_context *context = open_context("gpu", "");
    struct bale_params params = BALE_PARAMS_INIT;
    struct bale_buffer made = {0}, expected;

    memset(raw, 1, LARGE);
    memset(real, 2, LARGE);
    params.codec = "culzss";
    params.stream = &stream;
    CHECK_EQ(bale_compress(context, &params, memory, LARGE, &made), BALE_API_OK);
    CHECK_EQ(bale_compress(cpu, &params, raw, 10, &made), BALE_API_DEVICE);
    CHECK(strstr(bale_context_message(cpu), "stream") != NULL);
    params.stream = NULL;
    expected = made_by_cpu(&params, LARGE);
    CHECK_EQ_MEM(made.data, expected.data, expected.length);
    bale_buffer_free(&made);
    bale_buffer_free(&expected);
    bale_context_destroy(context);
}

static void test_copy_fails(void)
{
    for (unsigned nth = 1; nth < 100; nth += 1 + nth / 2) {
        char faults[32];
        snprintf(faults, sizeof faults, "copy=%u", nth);
        struct bale_context *context = open_context("gpu", faults);
        struct bale_buffer made = {0}, back = {.data = memory, .capacity = LARGE};
        int err = bale_compress(context, NULL, memory, LARGE, &made);
        CHECK(err == BALE_API_DEVICE ? !made.data : err == BALE_API_OK);
        if (err == BALE_API_OK) {
            err = bale_decompress(context, NULL, made.data, made.length, &back);
            CHECK(err == BALE_API_DEVICE || err == BALE_API_OK);
        } else {
            CHECK(strstr(bale_context_message(context), "copy") != NULL);
        }
        bale_buffer_free(&made);
        bale_context_destroy(context);
    }
}

/* A batch is given up as it is written: what it may spoil late is given to nobody. */
static void test_late(void)
{
    struct bale_context *context = open_context("gpu", "late=1");
    struct bale_params params = BALE_PARAMS_INIT;
    struct bale_buffer made = {0};

    params.codec = "culzss";
    data_fill(DATA_TEXT, 10, raw, LARGE);
    CHECK_EQ(bale_compress(context, &params, raw, LARGE, &made), BALE_API_DEVICE);
    CHECK(!made.data && strstr(bale_context_message(context), "does not answer"));
    CHECK_EQ(bale_compress(context, &params, raw, LARGE, &made), BALE_API_DEVICE);
    CHECK(strstr(bale_context_message(context), "another context"));
    bale_context_destroy(context);
}

static void test_none(void)
{
    struct bale_context_params how = BALE_CONTEXT_PARAMS_INIT;
    struct bale_context *context = NULL;

    setenv("BALE_FAKE_GPU", "open", 1);
    how.engine = "gpu";
    CHECK_EQ(bale_context_create(&how, &context), BALE_API_DEVICE);
    CHECK(!context);
    CHECK_EQ_STR(bale_context_message(NULL),
                 "No GPU can be used: no device: BALE_FAKE_GPU says so.");
    how.engine = "fpga";
    CHECK_EQ(bale_context_create(&how, &context), BALE_API_INVALID);
    CHECK_EQ_STR(bale_context_message(NULL), "An engine is cpu, gpu or auto, not: fpga.");
    how.engine = "gpu";
    how.gpu = SIZE_MAX;
    CHECK_EQ(bale_context_create(&how, &context), BALE_API_INVALID);
    context = open_context("auto", "open");
    data_fill(DATA_TEXT, 9, raw, LARGE);
    round_trip(context, NULL, LARGE, false);
    bale_context_destroy(context);
}

int main(int argc, char **argv)
{
    static const char *const faults[] = {"",        "item=3", "batch=2", "again=2", "lost=1",
                                         "corrupt", "batch",  "lacks",   "first=5"};
    struct bale_context_params params = BALE_CONTEXT_PARAMS_INIT;

    few = check_few(&argc, argv);
    params.threads = 2;
    params.engine = "cpu";
    REQUIRE(bale_context_create(&params, &cpu) == BALE_API_OK);
    make_memory();
    test_who();
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        test_round_trips("gpu", faults[i], i == 0 && !few ? 3 : 1);
    test_round_trips("auto", "", 1);
    test_bounds();
    test_trust();
    test_mixed();
    test_large_and_many();
    test_room();
    test_gap();
    test_stream();
    test_copy_fails();
    test_late();
    test_none();
    bale_context_destroy(cpu);
    return check_result();
}
