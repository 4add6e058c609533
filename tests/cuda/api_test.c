/* The library on a GPU, in a program that uses CUDA itself: from memory of the host and of the
 * device to either, after what is in a stream, beside memory and streams that stay the program's.
 *
 * usage: cuda_api_test; skipped where there is no GPU. The plug-in is found where this program has
 * its libraries. */
#include <cuda_runtime_api.h>

#include "kernels/api/context.h"
#include "tests/api/bounds.h"
#include "tests/check.h"
#include "tests/codecs/cases.h"
#include "tests/codecs/data.h"

enum { K = 1024, LARGE = 40 * 1024 * K + 77, ROOM = 2 * LARGE };
enum { ARRAY = LARGE - 300 * K }; /* the last extent is not so short that cusz is not for it */

static struct bale_context *cpu;
static struct bale_context *gpu;
static uint8_t *raw;              /* pinned, as a program's own */
static uint8_t *room;             /* to look at what a device has */
static uint8_t *from, *to, *back; /* of the device, ROOM each */

static void require_cuda(cudaError_t error)
{
    if (error != cudaSuccess)
        fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
    REQUIRE(error == cudaSuccess);
}

static struct bale_context *open_context(const char *engine)
{
    struct bale_context_params how = BALE_CONTEXT_PARAMS_INIT;
    struct bale_context *context = NULL;

    how.engine = engine;
    how.trusted = 1;
    if (bale_context_create(&how, &context) != BALE_API_OK)
        fprintf(stderr, "%s\n", bale_context_message(NULL));
    REQUIRE(context);
    return context;
}

static void upload(void *device, const void *bytes, size_t length)
{
    require_cuda(cudaMemcpy(device, bytes, length, cudaMemcpyHostToDevice));
}

static const uint8_t *download(const void *device, size_t length)
{
    require_cuda(cudaMemcpy(room, device, length, cudaMemcpyDeviceToHost));
    return room;
}

/* The CPU reads it; where the codec's specification defines every byte it is the CPU's. */
static void check_stream(const struct bale_params *params, const uint8_t *stream, size_t size,
                         size_t length)
{
    struct bale_buffer expected = {0}, plain = {0};

    check_ok(cpu, bale_decompress(cpu, NULL, stream, size, &plain));
    CHECK_EQ_U(plain.length, length);
    CHECK_EQ_MEM(plain.data, raw, plain.length);
    bale_buffer_free(&plain);
    if (!codec_case_of(codec_setting_parse(params->codec).codec)->defined)
        return;
    check_ok(cpu, bale_compress(cpu, params, raw, length, &expected));
    CHECK_EQ_U(size, expected.length);
    if (size == expected.length)
        CHECK_EQ_MEM(stream, expected.data, size);
    bale_buffer_free(&expected);
}

static void on_host(struct bale_context *context, const struct bale_params *params, size_t length)
{
    struct bale_buffer made = {0}, plain = {0};

    check_ok(context, bale_compress(context, params, raw, length, &made));
    check_stream(params, made.data, made.length, length);
    check_ok(context, bale_decompress(context, NULL, made.data, made.length, &plain));
    CHECK_EQ_U(plain.length, length);
    CHECK_EQ_MEM(plain.data, raw, plain.length);
    bale_buffer_free(&plain);
    bale_buffer_free(&made);
}

/* askew: places are not aligned. */
static void on_device(struct bale_context *context, const struct bale_params *params, size_t length,
                      size_t askew)
{
    struct bale_buffer made = {.data = to + askew, .capacity = ROOM - askew};
    struct bale_buffer plain = {.data = back + askew, .capacity = length};

    upload(from + askew, raw, length);
    require_cuda(cudaMemset(back, 0x5a, askew + length + 64));
    check_ok(context, bale_compress(context, params, from + askew, length, &made));
    check_stream(params, download(made.data, made.length), made.length, length);
    check_ok(context, bale_decompress(context, NULL, made.data, made.length, &plain));
    CHECK_EQ_U(plain.length, length);
    CHECK_EQ_MEM(download(plain.data, length), raw, length);
    download(back, askew + length + 64);
    for (size_t i = 0; i < askew; i++)
        CHECK_EQ(room[i], 0x5a);
    for (size_t i = askew + length; i < askew + length + 64; i++)
        CHECK_EQ(room[i], 0x5a);
}

static void test_round_trips(struct bale_context *context)
{
    static const size_t lengths[] = {0, 1, 4095, 128 * K + 1, 3333333, LARGE};
    static const enum data_kind kinds[] = {DATA_MIXED, DATA_TEXT};
    const char *codec;

    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        data_fill(kinds[k], 3 + k, raw, LARGE);
        memset(raw + 200 * K, 0, 300 * K); /* frames that are all equal */
        for (size_t s = 0; (codec = codec_settings_next(SETTINGS_GPU_API, &s)) != NULL;)
            for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
                struct bale_params params = BALE_PARAMS_INIT;
                params.codec = codec;
                params.extent = l % 2 ? 64 * K : 0;
                on_host(context, &params, lengths[l]);
                on_device(context, &params, lengths[l], 0);
                on_device(context, &params, lengths[l], 1 + 13 * l);
            }
    }
}

/* The GPU does it, from where it lies: nothing is left to the CPU. */
static void test_who(void)
{
    struct bale_context *context = open_context("auto");
    struct bale_params params = BALE_PARAMS_INIT;
    struct bale_dispatch_stats stats;

    params.codec = "gpulz:s=1,w=64,c=2048";
    data_fill(DATA_TEXT, 5, raw, LARGE);
    on_device(context, &params, LARGE, 0);
    bale_dispatch_stats(context->engine, &stats);
    CHECK_EQ_U(stats.gpu.encoded, LARGE);
    CHECK_EQ_U(stats.gpu.decoded, LARGE);
    CHECK_EQ_U(stats.cpu.encoded + stats.cpu.decoded, 0);
    CHECK_EQ_U(stats.redone, 0);
    printf("%s: %llu MiB of its memory, %llu MiB pinned\n", stats.device.device,
           (unsigned long long)(stats.device.device_memory >> 20),
           (unsigned long long)(stats.device.pinned >> 20));
    bale_context_destroy(context);
}

/* What the codec is not for is left to the CPU. */
static void test_bounds(void)
{
    const struct bounded_device device = {from, upload, download};

    for (size_t i = 0; i < BOUNDED; i++) {
        struct bale_context *context = open_context("gpu");
        struct bale_dispatch_stats stats;
        bounded_check_device(&bounded[i], cpu, context, &device, raw, ARRAY);
        bale_dispatch_stats(context->engine, &stats);
        CHECK((stats.redone == 0) == (i < BOUNDED_SUITED));
        bale_context_destroy(context);
    }
}

static void make_late(void *seed)
{
    data_fill(DATA_TEXT, *(uint64_t *)seed, raw, LARGE);
}

/* Nothing was waited for: the data is made by what is in the stream. */
static void test_streams(bool own)
{
    cudaStream_t stream = cudaStreamLegacy;
    struct bale_params params = BALE_PARAMS_INIT;
    struct bale_buffer made = {0};
    uint64_t seed = own ? 11 : 12;

    if (own)
        require_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    memset(raw, 1, LARGE);
    params.codec = "culzss";
    params.stream = stream;
    require_cuda(cudaLaunchHostFunc(stream, make_late, &seed));
    require_cuda(cudaMemcpyAsync(from, raw, LARGE, cudaMemcpyHostToDevice, stream));
    check_ok(gpu, bale_compress(gpu, &params, from, LARGE, &made));
    params.stream = NULL;
    check_stream(&params, made.data, made.length, LARGE);
    /* And the stream of the device memory that it is decompressed from. */
    struct bale_buffer plain = {.data = back, .capacity = LARGE};
    memcpy(room, made.data, made.length);
    require_cuda(cudaMemcpyAsync(to, room, made.length, cudaMemcpyHostToDevice, stream));
    params.stream = stream;
    check_ok(gpu, bale_decompress(gpu, &params, to, made.length, &plain));
    CHECK_EQ_MEM(download(back, LARGE), raw, LARGE);
    if (own)
        require_cuda(cudaStreamDestroy(stream));
    bale_buffer_free(&made);
}

/* Memory that belongs to no one device is the host's as well. */
static void test_managed(void)
{
    struct bale_params params = BALE_PARAMS_INIT;
    struct bale_buffer made = {0};
    uint8_t *both;

    params.codec = "culzss";
    require_cuda(cudaMallocManaged((void **)&both, LARGE, cudaMemAttachGlobal));
    data_fill(DATA_MIXED, 6, raw, LARGE);
    memcpy(both, raw, LARGE);
    check_ok(gpu, bale_compress(gpu, &params, both, LARGE, &made));
    check_stream(&params, made.data, made.length, LARGE);
    bale_buffer_free(&made);
    require_cuda(cudaFree(both));
}

/* Buffers that are too small, and damage. */
static void test_errors(void)
{
    struct bale_params params = BALE_PARAMS_INIT;
    struct bale_buffer made = {0}, out = {.data = to, .capacity = 1000};

    params.codec = "culzss";
    data_fill(DATA_TEXT, 7, raw, LARGE);
    upload(from, raw, LARGE);
    CHECK_EQ(bale_compress(gpu, &params, from, LARGE, &out), BALE_API_TOO_BIG);
    check_ok(gpu, bale_compress(gpu, &params, from, LARGE, &made));
    CHECK_EQ(bale_decompress(gpu, NULL, made.data, made.length, &out), BALE_API_TOO_BIG);
    out = (struct bale_buffer){.data = back, .capacity = LARGE};
    ((uint8_t *)made.data)[made.length / 2] ^= 1;
    CHECK_EQ(bale_decompress(gpu, NULL, made.data, made.length, &out), BALE_API_CORRUPT);
    CHECK_EQ_U(out.length, 0);
    bale_buffer_free(&made);
}

/* A context leaves no trace in the program's own use of the device. */
static void test_stays(void)
{
    struct bale_context *context = open_context("gpu");
    struct bale_params params = BALE_PARAMS_INIT;
    int before, after;

    params.codec = "store";
    data_fill(DATA_TEXT, 8, raw, LARGE);
    upload(from, raw, LARGE);
    require_cuda(cudaGetDevice(&before));
    on_host(context, &params, 3333333);
    require_cuda(cudaGetDevice(&after));
    CHECK_EQ(after, before);
    bale_context_destroy(context);
    CHECK_EQ_MEM(download(from, LARGE), raw, LARGE);
    on_device(gpu, &params, LARGE, 3);
}

int main(void)
{
    int count = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0)
        check_skip("no GPU: the CUDA runtime shows none");
    require_cuda(cudaHostAlloc((void **)&raw, LARGE, cudaHostAllocDefault));
    require_cuda(cudaHostAlloc((void **)&room, ROOM, cudaHostAllocDefault));
    cpu = open_context("cpu");
    gpu = open_context("gpu");
    require_cuda(cudaMalloc((void **)&from, ROOM));
    require_cuda(cudaMalloc((void **)&to, ROOM));
    require_cuda(cudaMalloc((void **)&back, ROOM));
    test_who();
    test_round_trips(gpu);
    test_bounds();
    test_streams(true);
    test_streams(false);
    test_managed();
    test_errors();
    test_stays();
    bale_context_destroy(gpu);
    bale_context_destroy(cpu);
    require_cuda(cudaMemset(from, 0, ROOM));
    require_cuda(cudaDeviceSynchronize());
    return check_result();
}
