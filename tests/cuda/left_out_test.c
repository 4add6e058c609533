/* A codec for which a device that was opened again has too little memory: an item that the CUDA
 * engine had taken before goes back, and is no batch that fails. */
#include <semaphore.h>

#include "format/err.h"
#include "kernels/cuda/engine.h"
#include "tests/check.h"
#include "tests/codecs/data.h"

enum { LENGTH = 128 << 10, ROOM = LENGTH + 4096 };

extern const struct bale_gpu bale_gpu_plugin;

static uint8_t memory[2 * ROOM];
static struct bale_item item;

static void ignore_log(int level, const char *text)
{
    (void)level;
    (void)text;
}

static void item_done(struct bale_item *done)
{
    sem_post(done->owner);
}

/* after_takes (may be NULL): called between the question and the answer. Returns the
 * item's status. */
static int encode(struct cuda_engine *engine, struct bale_setting setting,
                  void (*after_takes)(struct cuda_engine *engine))
{
    sem_t done;

    sem_init(&done, 0, 0);
    data_fill(DATA_TEXT, 1, memory, LENGTH);
    item = (struct bale_item){.kind = BALE_ITEM_ENCODE,
                              .memory_kind = BALE_MEMORY_PINNED,
                              .setting = setting,
                              .frame = {.raw_length = LENGTH, .chunk_log2 = 16},
                              .raw = memory,
                              .stored = memory + ROOM,
                              .capacity = ROOM,
                              .done = item_done,
                              .owner = &done};
    CHECK(bale_gpu_plugin.takes(&engine->base, &item));
    if (after_takes)
        after_takes(engine);
    bale_engine_submit(&engine->base, &item);
    while (sem_wait(&done) != 0) {
    }
    sem_destroy(&done);
    return item.status;
}

/* As bale_cuda_open_devices does with a smaller share of the memory. */
static void leave_out(struct cuda_engine *engine)
{
    pthread_mutex_lock(&engine->mutex);
    engine->available[CUDA_GPULZ] = false;
    pthread_mutex_unlock(&engine->mutex);
}

int main(void)
{
    const struct bale_setting store = {.codec = BALE_CODEC_STORE};
    const struct bale_setting gpulz = {.codec = BALE_CODEC_GPULZ, .parameter = 0x01ff};
    const struct bale_gpu_options options = {.log = ignore_log};
    struct bale_engine *handle;
    struct bale_reason why;

    REQUIRE(bale_gpu_plugin.open(&options, &handle, &why) == BALE_OK);
    struct cuda_engine *engine = bale_cuda_engine(handle);
    REQUIRE(bale_gpu_plugin.pin(handle, memory, sizeof memory) == BALE_OK);
    CHECK_EQ(encode(engine, gpulz, NULL), BALE_OK);
    CHECK_EQ(encode(engine, gpulz, leave_out), BALE_E_NO_DEVICE);
    CHECK_EQ_U(engine->stats.batches, 1);
    CHECK(!bale_gpu_plugin.takes(handle, &item));
    CHECK_EQ(encode(engine, store, NULL), BALE_OK);
    bale_engine_destroy(handle);
    return check_result();
}
