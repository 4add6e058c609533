/* Lists of items of gpulz and culzss that the CUDA engine encodes and decodes: the CPU's frames to the byte, and
 * the CPU's bytes or its error. */
#ifndef BALE_TESTS_CUDA_LZSS_ITEMS_H
#define BALE_TESTS_CUDA_LZSS_ITEMS_H

#include "format/err.h"
#include "kernels/frame/frame.h"
#include "kernels/frame/registry.h"
#include "tests/check.h"
#include "tests/cuda/rig.h"
#include "tests/unit/kernels/lzss/shapes.h"

enum {
    LZSS_ITEMS = 64, /* of a list */
    LZSS_LENGTH_MAX = 140001,
    LZSS_ROOM = LZSS_LENGTH_MAX + 8192,
    LZSS_GUARD_BYTE = 0x5a,
};

struct lzss_job {
    struct bale_setting setting;
    unsigned kind;
    uint32_t length;
    uint8_t chunk_log2;
    uint8_t *data;  /* what is encoded, or what the CPU makes of the frame */
    uint8_t *frame; /* the CPU's, or a hostile one */
    size_t frame_length;
    int expected; /* of a decode */
};

struct lzss_items {
    struct rig *rig;
    struct bale_scratch *scratch;
    uint64_t state;
    uint8_t *plain; /* 2 * LZSS_ITEMS * LZSS_ROOM */
    unsigned count, refused;
    unsigned long encoded, decoded;
    struct lzss_job jobs[LZSS_ITEMS];
    struct bale_item items[LZSS_ITEMS];
};

/* The rig's engine is opened after this. */
static inline void lzss_items_open(struct lzss_items *list, struct rig *rig, uint64_t seed)
{
    list->rig = rig;
    list->state = seed;
    list->plain = malloc((size_t)2 * LZSS_ITEMS * LZSS_ROOM);
    REQUIRE(list->plain && bale_scratch_create(&list->scratch) == BALE_OK);
    rig_reserve(rig, (size_t)2 * LZSS_ITEMS * LZSS_ROOM);
}

static inline void lzss_items_close(struct lzss_items *list)
{
    bale_scratch_destroy(list->scratch);
    free(list->plain);
}

static inline uint32_t lzss_below(struct lzss_items *list, uint32_t limit)
{
    return (uint32_t)(data_next(&list->state) % limit);
}

/* ---- What is encoded ---- */

static inline struct bale_frame lzss_frame_of(const struct lzss_job *job)
{
    return (struct bale_frame){
        .offset = 4096, .generation = 7, .raw_length = job->length, .chunk_log2 = job->chunk_log2};
}

/* The data is job->data[0, length). */
static inline void lzss_encode_on_cpu(struct lzss_items *list, struct lzss_job *job)
{
    struct bale_frame frame = lzss_frame_of(job);

    REQUIRE(bale_frame_encode(list->scratch, job->setting, job->data, &frame, job->frame,
                              &job->frame_length) == BALE_OK);
    job->expected = BALE_OK;
}

/* kind: shape_fill()'s. There is room for it. */
static inline void lzss_add(struct lzss_items *list, struct bale_setting setting, unsigned kind,
                            uint32_t length, uint8_t chunk_log2)
{
    struct lzss_job *job = &list->jobs[list->count];
    uint32_t shift = lzss_below(list, 8);

    *job = (struct lzss_job){
        .setting = setting,
        .kind = kind,
        .length = length,
        .chunk_log2 = chunk_log2,
        .data = list->plain + (size_t)2 * list->count * LZSS_ROOM,
        .frame = list->plain + ((size_t)2 * list->count + 1) * LZSS_ROOM,
    };
    list->count++;
    shape_fill(kind, job->data, length + shift);
    memmove(job->data, job->data + shift, length);
    lzss_encode_on_cpu(list, job);
}

/* A frame of one value is the host's. */
static inline void lzss_drop_zero(struct lzss_items *list)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < list->count; i++) {
        struct lzss_job job = list->jobs[i];
        if (job.frame[5] == BALE_CODEC_ZERO)
            continue;
        list->jobs[kept++] = job;
    }
    list->count = kept;
}

/* ---- Through the engine ---- */

static inline uint8_t *lzss_raw_room(struct lzss_items *list, unsigned i)
{
    return list->rig->memory + (size_t)2 * i * LZSS_ROOM;
}

static inline uint8_t *lzss_stored_room(struct lzss_items *list, unsigned i)
{
    return lzss_raw_room(list, i) + LZSS_ROOM;
}

/* Nothing but [begin, begin + length) of the room was written. */
static inline void lzss_check_guards(const uint8_t *room, const uint8_t *begin, size_t length)
{
    CHECK(rig_all(room, begin, LZSS_GUARD_BYTE));
    CHECK(rig_all(begin + length, room + LZSS_ROOM, LZSS_GUARD_BYTE));
}

/* Says which job it was, if a check has failed since. */
static inline void lzss_tell(const struct lzss_job *job, const char *what, unsigned long before)
{
    if (atomic_load(&check_failures) != before)
        fprintf(stderr, "%s: codec %u, parameter %04x, data %u, %u bytes, chunks of 2^%u\n", what,
                job->setting.codec, (uint16_t)job->setting.parameter, job->kind, job->length,
                job->chunk_log2);
}

/* prepare and check: of one item. */
static inline void lzss_run(struct lzss_items *list, void (*prepare)(struct lzss_items *, unsigned),
                            void (*check)(struct lzss_items *, unsigned))
{
    for (unsigned i = 0; i < list->count; i++)
        prepare(list, i);
    for (unsigned i = 0; i < list->count; i++)
        CHECK(list->rig->gpu->takes(list->rig->engine, &list->items[i]));
    if (list->count > 0)
        rig_run(list->rig, list->items, list->count);
    for (unsigned i = 0; i < list->count; i++)
        check(list, i);
}

static inline void lzss_prepare_encode(struct lzss_items *list, unsigned i)
{
    const struct lzss_job *job = &list->jobs[i];
    uint8_t *raw = lzss_raw_room(list, i) + lzss_below(list, 64);
    uint8_t *stored = lzss_stored_room(list, i);

    memcpy(raw, job->data, job->length);
    memset(stored, LZSS_GUARD_BYTE, LZSS_ROOM);
    list->items[i] = (struct bale_item){
        .kind = BALE_ITEM_ENCODE,
        .memory_kind = BALE_MEMORY_PINNED,
        .setting = job->setting,
        .frame = lzss_frame_of(job),
        .raw = raw,
        .stored = stored + lzss_below(list, 64),
        .capacity = bale_frame_bound(job->length, job->chunk_log2),
    };
}

static inline void lzss_check_encoded(struct lzss_items *list, unsigned i)
{
    const struct bale_item *item = &list->items[i];
    const struct lzss_job *job = &list->jobs[i];
    unsigned long before = atomic_load(&check_failures);

    CHECK_EQ(item->status, BALE_OK);
    if (CHECK_EQ_U(item->stored_length, job->frame_length))
        CHECK_EQ_MEM(item->stored, job->frame, job->frame_length);
    lzss_check_guards(lzss_stored_room(list, i), item->stored, item->stored_length);
    lzss_tell(job, "encode", before);
}

static inline void lzss_encode_all(struct lzss_items *list)
{
    lzss_run(list, lzss_prepare_encode, lzss_check_encoded);
    list->encoded += list->count;
}

static inline void lzss_prepare_decode(struct lzss_items *list, unsigned i)
{
    const struct lzss_job *job = &list->jobs[i];
    uint8_t *raw = lzss_raw_room(list, i);
    uint8_t *stored = lzss_stored_room(list, i) + lzss_below(list, 64);

    memset(raw, LZSS_GUARD_BYTE, LZSS_ROOM);
    memcpy(stored, job->frame, job->frame_length);
    list->items[i] = (struct bale_item){
        .kind = BALE_ITEM_DECODE,
        .memory_kind = BALE_MEMORY_PINNED,
        .frame = {.raw_length = job->length},
        .raw = raw + lzss_below(list, 64),
        .stored = stored,
        .stored_length = job->frame_length,
    };
}

static inline void lzss_check_decoded(struct lzss_items *list, unsigned i)
{
    const struct bale_item *item = &list->items[i];
    const struct lzss_job *job = &list->jobs[i];
    unsigned long before = atomic_load(&check_failures);

    CHECK_EQ(item->status, job->expected);
    if (job->expected == BALE_OK && item->status == BALE_OK)
        CHECK_EQ_MEM(item->raw, job->data, job->length);
    lzss_check_guards(lzss_raw_room(list, i), item->raw,
                      job->expected == BALE_OK ? job->length : 0);
    list->refused += job->expected != BALE_OK;
    lzss_tell(job, "decode", before);
}

static inline void lzss_decode_all(struct lzss_items *list)
{
    lzss_run(list, lzss_prepare_decode, lzss_check_decoded);
    list->decoded += list->count;
}

#endif
