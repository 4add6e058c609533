/* What tests of the dispatcher share: a dispatcher with a fake GPU engine
 * (tests/support/fake_gpu.c), and single items. */
#ifndef BALE_TESTS_UNIT_KERNELS_ENGINE_DISPATCH_RIG_H
#define BALE_TESTS_UNIT_KERNELS_ENGINE_DISPATCH_RIG_H

#include <semaphore.h>

#include "format/err.h"
#include "kernels/engine/dispatch.h"
#include "tests/check.h"
#include "tests/codecs/data.h"

static const char *rig_plugin; /* from the command line */

struct rig {
    struct bale_engine *engine;
    sem_t opened, said;
};

static sem_t *rig_said_sem;
static char rig_said[1024];
static atomic_int rig_complaints; /* errors and warnings */
/* How often the fake GPU engine was to open: all, and those only if memory is free. */
static atomic_uint rig_opens, rig_opens_if_free;

static inline void rig_hear(int level, const char *text)
{
    if (level == BALE_GPU_DEBUG) {
        atomic_fetch_add(&rig_opens, strncmp(text, "opens", 5) == 0);
        atomic_fetch_add(&rig_opens_if_free, strcmp(text, "opens if memory is free") == 0);
        return;
    }
    snprintf(rig_said, sizeof rig_said, "%s", text);
    if (level <= BALE_GPU_WARNING)
        atomic_fetch_add(&rig_complaints, 1);
    sem_post(rig_said_sem);
}

static inline void rig_note_opened(void *arg)
{
    sem_post(arg);
}

/* Not opened; opened is that of the options. */
static inline void rig_create(struct rig *rig, const char *faults,
                              struct bale_dispatch_options options)
{
    setenv("BALE_FAKE_GPU", faults, 1);
    sem_init(&rig->opened, 0, 0);
    sem_init(&rig->said, 0, 0);
    rig_said_sem = &rig->said;
    atomic_store(&rig_complaints, 0);
    atomic_store(&rig_opens, 0);
    atomic_store(&rig_opens_if_free, 0);
    options.plugin = options.plugin ? options.plugin : rig_plugin;
    options.gpu.log = rig_hear;
    REQUIRE(bale_dispatch_create(&options, &rig->engine) == BALE_OK);
}

static inline void rig_start(struct rig *rig, const char *faults,
                             struct bale_dispatch_options options)
{
    options.opened = rig_note_opened;
    options.arg = &rig->opened;
    rig_create(rig, faults, options);
    bale_dispatch_open(rig->engine);
}

static inline void rig_open(struct rig *rig, const char *faults,
                            struct bale_dispatch_options options)
{
    rig_start(rig, faults, options);
    sem_wait(&rig->opened);
}

static inline struct bale_dispatch_stats rig_stats(struct rig *rig)
{
    struct bale_dispatch_stats stats;

    bale_dispatch_stats(rig->engine, &stats);
    return stats;
}

static inline void rig_stop(struct rig *rig)
{
    bale_engine_destroy(rig->engine);
    sem_destroy(&rig->opened);
    sem_destroy(&rig->said);
}

enum { PIECE = 1 << 20 };

struct piece {
    struct bale_item item;
    uint8_t *raw, *stored;
};

static inline void piece_post(struct bale_item *item)
{
    sem_post(item->owner);
}

static inline void piece_make(struct piece *piece, enum bale_priority priority, sem_t *finished)
{
    size_t capacity = bale_frame_bound(PIECE, 16);

    piece->raw = malloc(PIECE);
    piece->stored = malloc(capacity);
    REQUIRE(piece->raw && piece->stored);
    data_fill(DATA_TEXT, 5, piece->raw, PIECE);
    piece->item = (struct bale_item){
        .kind = BALE_ITEM_ENCODE,
        .priority = priority,
        .setting = {.codec = BALE_CODEC_LZ4},
        .frame = {.raw_length = PIECE, .chunk_log2 = 16},
        .raw = piece->raw,
        .stored = piece->stored,
        .capacity = capacity,
        .done = piece_post,
        .owner = finished,
    };
}

static inline void piece_free(struct piece *piece)
{
    free(piece->raw);
    free(piece->stored);
}

static inline void piece_do(struct rig *rig, struct piece *piece, sem_t *finished)
{
    bale_engine_submit(rig->engine, &piece->item);
    sem_wait(finished);
    CHECK_EQ(piece->item.status, BALE_OK);
}

#endif
