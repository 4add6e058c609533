/* The library with a fake GPU (gpu_rig.h): the streams are those of the CPU, with input and output
 * in host or device memory; only the GPU accesses its memory; the CPU does what the GPU fails at. */
#include "format/stream.h"
#include "tests/api/bounds.h"
#include "tests/codecs/cases.h"
#include "tests/unit/kernels/api/gpu_rig.h"

static bool few;

static struct bale_dispatch_stats stats_of(struct bale_context *context)
{
    struct bale_dispatch_stats stats;

    bale_dispatch_stats(context->engine, &stats);
    return stats;
}

static void test_round_trips(const char *engine, const char *faults, size_t most_kinds)
{
    const size_t lengths[] = {0,          1,       4095,        16 * K - 1,
                              16 * K + 1, 128 * K, 128 * K + 1, few ? 250 * K + 3 : 700 * K + 3};
    static const enum data_kind kinds[] = {DATA_MIXED, DATA_TEXT, DATA_RUNS};
    struct bale_context *context = gpu_open(engine, faults);
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
                struct bale_buffer expected = gpu_made_by_cpu(&params, lengths[l]);
                gpu_check_trip(context, &params, lengths[l], false, &expected);
                gpu_check_trip(context, &params, lengths[l], true, &expected);
                bale_buffer_free(&expected);
            }
    }
    bale_context_destroy(context);
}

/* With all going well the GPU does it, from where it lies. */
static void test_who(void)
{
    struct bale_context *context = gpu_open("gpu", "");
    struct bale_context *automatic = gpu_open("auto", "");
    struct bale_params params = BALE_PARAMS_INIT;
    struct bale_dispatch_stats stats;

    params.codec = "gpulz:s=1,w=64,c=2048";
    data_fill(DATA_TEXT, 4, raw, LARGE);
    gpu_round_trip(context, &params, LARGE, false);
    gpu_round_trip(context, &params, LARGE, true);
    stats = stats_of(context);
    CHECK_EQ_U(stats.gpu.encoded, 2 * (uint64_t)LARGE);
    CHECK_EQ_U(stats.gpu.decoded, 2 * (uint64_t)LARGE);
    CHECK_EQ_U(stats.cpu.encoded + stats.cpu.decoded, 0);
    CHECK_EQ_U(stats.redone, 0);
    CHECK_EQ_U(stats.device.pinned, 32 * K * K);
    gpu_round_trip(automatic, &params, LARGE, true);
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
            struct bale_context *context = gpu_open("gpu", badly ? "item=3" : "");
            bounded_check_device(&bounded[i], cpu, context, &device, raw, LARGE);
            if (bounded[i].behind == 0) /* what is staged may be the CPU's in part */
                CHECK_EQ_U(stats_of(context).gpu.encoded, LARGE);
            CHECK((stats_of(context).redone > 0) == badly);
            bale_context_destroy(context);
        }
}

/* The range of what lies in the GPU's memory is that of the same on the host. */
static void test_relative(void)
{
    struct bale_context *context = gpu_open("gpu", "");
    struct bale_params params = BALE_PARAMS_INIT;
    struct bale_buffer made = {0}, expected = {0};

    params.codec = "cusz:f32,offset=3,rel=1e-3";
    memset(raw, 0, LARGE);
    for (size_t i = 3; i + 4 <= LARGE; i += 4) {
        const float x = i == K * K - 1 ? 2000 : (float)(i % 977); /* in two pieces that are read */
        memcpy(raw + i, &x, 4);
    }
    upload(memory, raw, LARGE);
    check_ok(context, bale_compress(context, &params, memory, LARGE, &made));
    check_ok(cpu, bale_compress(cpu, &params, raw, LARGE, &expected));
    if (CHECK_EQ_U(made.length, expected.length))
        CHECK_EQ_MEM(made.data, expected.data, expected.length);
    CHECK_EQ_U(stats_of(context).gpu.encoded, LARGE);
    bale_buffer_free(&made);
    bale_buffer_free(&expected);
    bale_context_destroy(context);
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
        gpu_round_trip(context, &params, LARGE, false);
        gpu_round_trip(context, &params, LARGE, true);
        CHECK_EQ_U(stats_of(context).gpu.decoded, 2 * trusted * (uint64_t)LARGE);
        CHECK_EQ_U(stats_of(context).gpu.encoded, 2 * (uint64_t)LARGE);
        CHECK_EQ_U(stats_of(context).redone, 0);
        bale_context_destroy(context);
    }
}

/* One on a device, the other not. */
static void test_mixed(void)
{
    struct bale_context *context = gpu_open("gpu", "");
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
    struct bale_context *first = gpu_open("gpu", "");
    struct bale_context *second = gpu_open("auto", "");
    struct bale_params params = BALE_PARAMS_INIT;

    data_fill(DATA_TEXT, 6, raw, LARGE);
    for (uint32_t extent = 4 * K * K; extent <= 64 * K * K; extent *= 4) {
        params.extent = extent;
        gpu_round_trip(first, &params, LARGE, false);
        gpu_round_trip(second, &params, LARGE, true);
    }
    bale_context_destroy(first);
    gpu_round_trip(second, NULL, LARGE, false);
    bale_context_destroy(second);
}

/* A gap reads as zeros, on a device as well. */
static void test_gap(void)
{
    struct bale_context *context = gpu_open("gpu", "");
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
    struct bale_context *context = gpu_open("gpu", "");
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
    expected = gpu_made_by_cpu(&params, LARGE);
    CHECK_EQ_MEM(made.data, expected.data, expected.length);
    bale_buffer_free(&made);
    bale_buffer_free(&expected);
    bale_context_destroy(context);
}

int main(int argc, char **argv)
{
    static const char *const faults[] = {"",        "item=3", "batch=2", "again=2", "lost=1",
                                         "corrupt", "batch",  "lacks",   "first=5"};

    few = check_few(&argc, argv);
    gpu_rig_begin();
    test_who();
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        test_round_trips("gpu", faults[i], i == 0 && !few ? 3 : 1);
    test_round_trips("auto", "", 1);
    test_bounds();
    test_relative();
    test_trust();
    test_mixed();
    test_large_and_many();
    test_gap();
    test_stream();
    gpu_rig_end();
    return check_result();
}
