/* The library with a fake GPU (gpu_rig.h): what does not fit, damage, copies that fail, a batch that
 * comes late, and no GPU at all; messages say what the GPU lacks. */
#include "tests/unit/kernels/api/gpu_rig.h"

/* Buffers that are too small, and not a byte behind them is written; limits. */
static void test_room(void)
{
    struct bale_context *context = gpu_open("gpu", "");
    struct bale_params params = BALE_PARAMS_INIT;
    struct bale_buffer made, out;

    params.codec = "gpulz:s=1,w=64,c=2048";
    params.extent = 16 * K;
    data_fill(DATA_TEXT, 7, raw, LARGE);
    made = gpu_made_by_cpu(&params, 100000);
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

static void test_copy_fails(void)
{
    for (unsigned nth = 1; nth < 100; nth += 1 + nth / 2) {
        char faults[32];
        snprintf(faults, sizeof faults, "copy=%u", nth);
        struct bale_context *context = gpu_open("gpu", faults);
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
    struct bale_context *context = gpu_open("gpu", "late=1");
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
    context = gpu_open("auto", "open");
    data_fill(DATA_TEXT, 9, raw, LARGE);
    gpu_round_trip(context, NULL, LARGE, false);
    bale_context_destroy(context);
}

int main(void)
{
    gpu_rig_begin();
    test_room();
    test_copy_fails();
    test_late();
    test_none();
    gpu_rig_end();
    return check_result();
}
