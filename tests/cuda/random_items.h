/* Items that are made at random, a thread's own, and what must have become of them: what is encoded
 * decodes on the CPU to its bytes; what is decoded, from frames that may be damaged, is the CPU's
 * bytes or has the CPU's error; nothing else is touched. */
#ifndef BALE_TESTS_CUDA_RANDOM_ITEMS_H
#define BALE_TESTS_CUDA_RANDOM_ITEMS_H

#include <semaphore.h>

#include "format/err.h"
#include "format/hash.h"
#include "kernels/frame/frame.h"
#include "kernels/frame/registry.h"
#include "tests/check.h"
#include "tests/codecs/cases.h"
#include "tests/codecs/data.h"
#include "tests/cuda/rig.h"

enum {
    RANDOM_JOBS = 16, /* items of a thread under way */
    RANDOM_LENGTH_MAX = 200000,
    RANDOM_GUARD = 64,
    /* A frame of any chunk size, or its raw bytes, and what follows. */
    RANDOM_ROOM = RANDOM_LENGTH_MAX + 8192,
    RANDOM_JOB_BYTES = 3 * (RANDOM_GUARD + RANDOM_ROOM) + RANDOM_GUARD,
    RANDOM_GUARD_BYTE = 0xa5,
};

struct random_job {
    struct bale_item item;
    uint8_t *raw, *stored, *back; /* RANDOM_GUARD bytes lie before, between and after them */
    uint8_t *expected;            /* RANDOM_LENGTH_MAX bytes: what the CPU makes of a frame */
    int expected_status;
    struct bale_frame expected_frame;
    struct bale_setting setting;
    uint32_t length;
    size_t stored_length;
    uint64_t input_hash; /* of all the room that is read from */
};

struct random_items {
    uint64_t state;
    struct bale_scratch *scratch;
    bool no_zstd;   /* nor what may become zstd */
    sem_t finished; /* posted for each item that is done */
    struct random_job jobs[RANDOM_JOBS];
};

/* memory: RANDOM_JOBS * RANDOM_JOB_BYTES, which the caller keeps. */
static inline void random_open(struct random_items *items, uint8_t *memory, uint64_t seed,
                               bool no_zstd)
{
    items->state = seed;
    items->no_zstd = no_zstd;
    sem_init(&items->finished, 0, 0);
    REQUIRE(bale_scratch_create(&items->scratch) == BALE_OK);
    for (unsigned i = 0; i < RANDOM_JOBS; i++) {
        struct random_job *job = &items->jobs[i];
        job->raw = memory + (size_t)i * RANDOM_JOB_BYTES + RANDOM_GUARD;
        job->stored = job->raw + RANDOM_ROOM + RANDOM_GUARD;
        job->back = job->stored + RANDOM_ROOM + RANDOM_GUARD;
        job->expected = malloc(RANDOM_LENGTH_MAX);
        REQUIRE(job->expected);
    }
}

/* All that was done has been waited for. */
static inline void random_close(struct random_items *items)
{
    int left;

    for (unsigned i = 0; i < RANDOM_JOBS; i++)
        free(items->jobs[i].expected);
    CHECK(sem_getvalue(&items->finished, &left) == 0 && left == 0); /* each was done once */
    bale_scratch_destroy(items->scratch);
    sem_destroy(&items->finished);
}

static inline uint32_t random_below(struct random_items *items, uint32_t limit)
{
    return (uint32_t)(data_next(&items->state) % limit);
}

/* ---- What they are ---- */

static inline void random_post(struct bale_item *item)
{
    sem_post(item->owner);
}

static inline uint32_t random_length(struct random_items *items)
{
    static const uint32_t most[] = {1, 300, 4096, 65536, 65537, 131072, RANDOM_LENGTH_MAX};

    return 1 + random_below(items, most[random_below(items, sizeof most / sizeof most[0])]);
}

static inline struct bale_setting random_setting(struct random_items *items)
{
    struct bale_setting setting;

    do {
        setting = codec_settings_pick(SETTINGS_RANDOM, data_next(&items->state));
    } while (items->no_zstd &&
             (setting.codec == BALE_CODEC_ZSTD || setting.codec == BALE_CODEC_AUTO));
    return setting;
}

/* Half of all equal bytes are those that the codec zero is for. */
static inline void random_raw(struct random_items *items, struct random_job *job)
{
    uint32_t kind = random_below(items, DATA_KINDS + 2);

    if (kind < DATA_KINDS)
        data_fill((enum data_kind)kind, data_next(&items->state), job->raw, job->length);
    else
        memset(job->raw, kind == DATA_KINDS ? 0 : (int)random_below(items, 256), job->length);
}

static inline void random_prepare(struct random_items *items, struct random_job *job,
                                  enum bale_item_kind kind)
{
    job->item = (struct bale_item){
        .kind = kind,
        .priority = random_below(items, 5) == 0 ? BALE_PRIORITY_HIGH : BALE_PRIORITY_NORMAL,
        .memory_kind = BALE_MEMORY_HOST,
        .status = 1,
        .stored = job->stored,
        .done = random_post,
        .owner = &items->finished,
    };
}

static inline void random_prepare_encode(struct random_items *items, struct random_job *job)
{
    random_prepare(items, job, BALE_ITEM_ENCODE);
    memset(job->raw - RANDOM_GUARD, RANDOM_GUARD_BYTE, RANDOM_JOB_BYTES);
    job->length = random_length(items);
    job->setting = random_setting(items);
    random_raw(items, job);
    job->input_hash = bale_hash(job->raw, RANDOM_ROOM);
    job->item.setting = job->setting;
    job->item.raw = job->raw;
    job->item.frame = (struct bale_frame){
        .offset = 4096u * random_below(items, 1000),
        .generation = random_below(items, 1000),
        .raw_length = job->length,
        .chunk_log2 = (uint8_t)(random_below(items, 3) ? 16 : 12 + random_below(items, 5))};
    job->item.capacity = bale_frame_bound(job->length, job->item.frame.chunk_log2);
    REQUIRE(job->item.capacity <= RANDOM_ROOM);
}

/* Some of what is stored is another than it was. */
static inline void random_damage(struct random_items *items, struct random_job *job)
{
    uint32_t length = (uint32_t)job->stored_length;

    switch (random_below(items, 12)) {
    case 0:
        job->stored[random_below(items, length)] ^= (uint8_t)(1u << random_below(items, 8));
        break;
    case 1:
        job->stored_length -= random_below(items, length);
        break;
    case 2:
        job->length = random_length(items);
        break;
    case 3:
        memset(job->stored, (int)random_below(items, 256), random_below(items, length));
        break;
    default:
        break;
    }
}

/* Turns an encoded item into a decode, with damage in some. */
static inline void random_prepare_decode(struct random_items *items, struct random_job *job)
{
    uint8_t codec = job->item.frame.codec;

    random_damage(items, job);
    random_prepare(items, job, BALE_ITEM_DECODE);
    job->expected_status = bale_frame_decode(items->scratch, job->stored, job->stored_length,
                                             job->expected, job->length, &job->expected_frame);
    job->input_hash = bale_hash(job->stored, RANDOM_ROOM);
    job->item.stored_length = job->stored_length;
    job->item.raw = job->back;
    job->item.frame =
        (struct bale_frame){.raw_length = job->length, .codec = codec, .chunk_log2 = 16};
}

/* ---- What has become of them ---- */

static inline bool random_untouched(const uint8_t *begin, const uint8_t *end)
{
    return rig_all(begin, end, RANDOM_GUARD_BYTE);
}

static inline void random_check_encoded(struct random_items *items, struct random_job *job)
{
    const struct bale_item *item = &job->item;
    const uint8_t *end = job->back + RANDOM_ROOM + RANDOM_GUARD;
    struct bale_frame frame;

    CHECK_EQ_U(bale_hash(job->raw, RANDOM_ROOM), job->input_hash);
    CHECK(random_untouched(job->raw - RANDOM_GUARD, job->raw));
    CHECK(random_untouched(job->raw + RANDOM_ROOM, job->stored));
    CHECK(random_untouched(job->stored + item->capacity, end));
    if (!CHECK_EQ(item->status, BALE_OK) || !CHECK(item->stored_length <= item->capacity))
        abort();
    job->stored_length = item->stored_length;
    if (CHECK_EQ(bale_frame_decode(items->scratch, job->stored, item->stored_length, job->expected,
                                   job->length, &frame),
                 BALE_OK)) {
        CHECK_EQ_MEM(job->expected, job->raw, job->length);
        CHECK_EQ_U(frame.head_checksum, item->frame.head_checksum);
        CHECK_EQ_U(frame.codec, item->frame.codec);
        CHECK_EQ_U(frame.offset, item->frame.offset);
        CHECK_EQ_U(frame.generation, item->frame.generation);
    }
}

static inline void random_check_decoded(struct random_job *job)
{
    const struct bale_item *item = &job->item;

    CHECK_EQ(item->status, job->expected_status);
    CHECK_EQ_U(bale_hash(job->stored, RANDOM_ROOM), job->input_hash);
    CHECK(random_untouched(job->stored + RANDOM_ROOM, job->back));
    CHECK(random_untouched(job->back + job->length, job->back + RANDOM_ROOM + RANDOM_GUARD));
    if (item->status == BALE_OK && job->expected_status == BALE_OK) {
        CHECK_EQ_MEM(job->back, job->expected, job->length);
        CHECK_EQ_U(item->frame.head_checksum, job->expected_frame.head_checksum);
        CHECK_EQ_U(item->frame.raw_checksum, job->expected_frame.raw_checksum);
    }
}

#endif
