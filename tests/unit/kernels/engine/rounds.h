/* Many items through an engine, there and back, from several threads. */
#ifndef BALE_TESTS_UNIT_KERNELS_ENGINE_ROUNDS_H
#define BALE_TESTS_UNIT_KERNELS_ENGINE_ROUNDS_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "kernels/engine/engine.h"
#include "kernels/frame/frame.h"
#include "kernels/frame/registry.h"
#include "tests/check.h"
#include "tests/codecs/cases.h"
#include "tests/codecs/data.h"

enum {
    ROUNDS_THREADS = 4,
    ROUNDS_BATCH = 25,
    ROUNDS_LENGTH = 40000,
    ROUNDS_BUFFER = ROUNDS_LENGTH + 1000
};

struct rounds {
    struct bale_engine *engine;
    int count; /* of rounds, in each thread */
    /* The fields that encoding and decoding share. */
    enum bale_priority (*priority)(uint64_t *state);
};

/* An item on its way through encode and then decode. */
struct rounds_job {
    struct bale_item item;
    struct bale_engine *engine;
    sem_t *finished;
    struct bale_setting setting;
    enum bale_priority priority;
    atomic_uint encodes, decodes; /* times done was called */
    uint32_t raw_length;
    uint8_t raw[ROUNDS_LENGTH];
    uint8_t stored[ROUNDS_BUFFER];
    uint8_t back[ROUNDS_LENGTH];
};

static inline struct bale_setting rounds_setting(uint64_t *state)
{
    return codec_settings_pick(SETTINGS_RANDOM, data_next(state));
}

static inline void rounds_decoded(struct bale_item *item)
{
    struct rounds_job *job = item->owner;

    atomic_fetch_add(&job->decodes, 1);
    sem_post(job->finished);
}

/* Submits from an engine's own thread. */
static inline void rounds_encoded(struct bale_item *item)
{
    struct rounds_job *job = item->owner;

    atomic_fetch_add(&job->encodes, 1);
    if (!CHECK_EQ(item->status, BALE_OK)) {
        sem_post(job->finished);
        return;
    }
    CHECK_EQ_U(item->stored_length, (size_t)item->frame.head_length + item->frame.stored_length);
    *item = (struct bale_item){
        .kind = BALE_ITEM_DECODE,
        .priority = job->priority,
        .stored = job->stored,
        .stored_length = item->stored_length,
        .raw = job->back,
        .frame = {.raw_length = job->raw_length, .codec = item->frame.codec},
        .done = rounds_decoded,
        .owner = job,
    };
    bale_engine_submit(job->engine, item);
}

static inline void rounds_prepare(struct rounds_job *job, const struct rounds *rounds,
                                  sem_t *finished, uint64_t *state)
{
    job->engine = rounds->engine;
    job->finished = finished;
    job->raw_length = 1 + (uint32_t)(data_next(state) % ROUNDS_LENGTH);
    data_fill((enum data_kind)(data_next(state) % DATA_KINDS), *state, job->raw, job->raw_length);
    job->setting = rounds_setting(state);
    job->priority = rounds->priority(state);
    atomic_store(&job->encodes, 0);
    atomic_store(&job->decodes, 0);
    memset(job->back, 0, sizeof job->back);
    job->item = (struct bale_item){
        .kind = BALE_ITEM_ENCODE,
        .priority = job->priority,
        .setting = job->setting,
        .frame = {.offset = 4096, .generation = 7, .raw_length = job->raw_length, .chunk_log2 = 12},
        .raw = job->raw,
        .stored = job->stored,
        .capacity = sizeof job->stored,
        .done = rounds_encoded,
        .owner = job,
    };
}

static inline void rounds_check(struct rounds_job *job, struct bale_scratch *scratch)
{
    struct bale_frame frame = {
        .offset = 4096, .generation = 7, .raw_length = job->raw_length, .chunk_log2 = 12};
    uint8_t expected[ROUNDS_BUFFER];
    size_t length;

    CHECK_EQ_U(atomic_load(&job->encodes), 1);
    CHECK_EQ_U(atomic_load(&job->decodes), 1);
    CHECK_EQ(job->item.status, BALE_OK);
    CHECK_EQ(bale_frame_encode(scratch, job->setting, job->raw, &frame, expected, &length),
             BALE_OK);
    if (CHECK_EQ_U(job->item.stored_length, length))
        CHECK_EQ_MEM(job->stored, expected, length);
    CHECK_EQ_MEM(job->back, job->raw, job->raw_length);
    CHECK_EQ_U(job->item.frame.head_checksum, frame.head_checksum);
}

struct rounds_thread {
    pthread_t thread;
    const struct rounds *rounds;
    uint64_t seed;
};

static inline void *rounds_submit_many(void *argument)
{
    struct rounds_thread *s = argument;
    struct rounds_job *jobs = calloc(ROUNDS_BATCH, sizeof *jobs);
    struct bale_scratch *scratch;
    uint64_t state = s->seed;
    sem_t finished;

    REQUIRE(jobs && bale_scratch_create(&scratch) == BALE_OK);
    sem_init(&finished, 0, 0);
    for (int round = 0; round < s->rounds->count; round++) {
        int lists = 1 + (int)(data_next(&state) % ROUNDS_BATCH);
        for (int i = 0; i < ROUNDS_BATCH; i++) {
            rounds_prepare(&jobs[i], s->rounds, &finished, &state);
            jobs[i].item.next = i % lists ? &jobs[i - 1].item : NULL;
        }
        for (int i = 0; i < ROUNDS_BATCH; i++)
            if (i == ROUNDS_BATCH - 1 || (i + 1) % lists == 0)
                bale_engine_submit(s->rounds->engine, &jobs[i].item);
        for (int i = 0; i < ROUNDS_BATCH; i++)
            sem_wait(&finished);
        for (int i = 0; i < ROUNDS_BATCH; i++)
            rounds_check(&jobs[i], scratch);
    }
    sem_destroy(&finished);
    bale_scratch_destroy(scratch);
    free(jobs);
    return NULL;
}

/* Every item is done once each way, with what bale_frame_encode makes of it. */
static inline void rounds_run(const struct rounds *rounds)
{
    struct rounds_thread threads[ROUNDS_THREADS];

    for (unsigned i = 0; i < ROUNDS_THREADS; i++) {
        threads[i] = (struct rounds_thread){.rounds = rounds, .seed = 100 + i};
        REQUIRE(pthread_create(&threads[i].thread, NULL, rounds_submit_many, &threads[i]) == 0);
    }
    for (unsigned i = 0; i < ROUNDS_THREADS; i++)
        pthread_join(threads[i].thread, NULL);
}

/* Items done in a run. */
static inline unsigned rounds_items(int count)
{
    return 2u * ROUNDS_THREADS * ROUNDS_BATCH * (unsigned)count;
}

#endif
