#include "tests/unit/kernels/api/gpu_rig.h"

#include <sys/mman.h>
#include <unistd.h>

enum { MEMORY = 32 * 1024 * K };

struct bale_context *cpu;
uint8_t raw[LARGE];
uint8_t *memory, *real;

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

void gpu_rig_begin(void)
{
    struct bale_context_params params = BALE_CONTEXT_PARAMS_INIT;

    params.threads = 2;
    params.engine = "cpu";
    REQUIRE(bale_context_create(&params, &cpu) == BALE_API_OK);
    make_memory();
}

void gpu_rig_end(void)
{
    bale_context_destroy(cpu);
}

struct bale_context *gpu_open(const char *engine, const char *faults)
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

struct bale_buffer gpu_made_by_cpu(const struct bale_params *params, size_t length)
{
    struct bale_buffer made = {0};

    REQUIRE(bale_compress(cpu, params, raw, length, &made) == BALE_API_OK);
    return made;
}

void gpu_check_trip(struct bale_context *context, const struct bale_params *params, size_t length,
                    bool device, const struct bale_buffer *expected)
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

void gpu_round_trip(struct bale_context *context, const struct bale_params *params, size_t length,
                    bool device)
{
    struct bale_buffer expected = gpu_made_by_cpu(params, length);

    gpu_check_trip(context, params, length, device, &expected);
    bale_buffer_free(&expected);
}
