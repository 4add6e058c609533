#include "tools/doctor/gpu_opening.h"

#include <semaphore.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "format/err.h"
#include "kernels/frame/frame.h"

enum { ITEMS = 16, LENGTH = 128 << 10, CHUNK_LOG2 = 16 };
#define PINNED ((size_t)32 << 20) /* what a mount pins at a time */

static void discard_log(int level, const char *text)
{
    (void)level;
    (void)text;
}

static void note_item_done(struct bale_item *item)
{
    sem_post(item->owner);
}

/* The first half of the memory is raw bytes, the second has room for their frames. */
static void fill_items(struct bale_item items[static ITEMS], uint8_t *memory, sem_t *done)
{
    for (size_t i = 0; i < PINNED / 2; i++)
        memory[i] = (uint8_t)(i / 7 * (i % 5));
    for (size_t i = 0; i < ITEMS; i++)
        items[i] = (struct bale_item){
            .kind = BALE_ITEM_ENCODE,
            .priority = BALE_PRIORITY_NORMAL,
            .memory_kind = BALE_MEMORY_PINNED,
            .setting = {.codec = BALE_CODEC_STORE},
            .frame = {.offset = i * LENGTH, .raw_length = LENGTH, .chunk_log2 = CHUNK_LOG2},
            .raw = memory + i * LENGTH,
            .stored = memory + PINNED / 2 + 2 * i * LENGTH,
            .capacity = 2 * LENGTH,
            .done = note_item_done,
            .owner = done,
            .next = i + 1 < ITEMS ? &items[i + 1] : NULL,
        };
}

/* The first error of the items. */
static int run_batch(struct bale_engine *engine, uint8_t *memory)
{
    struct bale_item items[ITEMS];
    int err = BALE_OK;
    sem_t done;

    sem_init(&done, 0, 0);
    fill_items(items, memory, &done);
    bale_engine_submit(engine, items);
    for (unsigned i = 0; i < ITEMS; i++)
        while (sem_wait(&done) != 0)
            ;
    for (unsigned i = 0; i < ITEMS; i++)
        err = err == BALE_OK ? items[i].status : err;
    sem_destroy(&done);
    return err;
}

/* The memory stays mapped, for a device may still read it. */
void bale_doctor_open_gpu(const struct bale_gpu *gpu, uint64_t begin_ns,
                          struct bale_doctor_opening *opening)
{
    const struct bale_gpu_options options = {
        .verify = true, .begin_ns = begin_ns, .log = discard_log};
    struct bale_gpu_stats stats = {0};
    struct bale_engine *engine;
    uint8_t *memory =
        mmap(NULL, PINNED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    opening->err =
        memory == MAP_FAILED ? BALE_E_NOMEM : gpu->open(&options, &engine, &opening->why);
    if (opening->err != BALE_OK)
        return;
    opening->err = gpu->pin(engine, memory, PINNED);
    if (opening->err == BALE_OK)
        opening->err = run_batch(engine, memory);
    gpu->stats(engine, &stats);
    opening->timeline = stats.opening;
    bale_engine_destroy(engine);
}
