/* Lists of items of the codecs whose every byte is defined, which the CUDA engine encodes and
 * decodes: the CPU's frames to the byte, and the CPU's bytes or its error. */
#ifndef BALE_TESTS_CUDA_EXACT_ITEMS_H
#define BALE_TESTS_CUDA_EXACT_ITEMS_H

#include "format/err.h"
#include "kernels/codec/tables.h"
#include "kernels/frame/frame.h"
#include "kernels/frame/registry.h"
#include "tests/check.h"
#include "tests/codecs/cases.h"
#include "tests/cuda/rig.h"
#include "tests/support/offsets.h"

#ifndef EXACT_LENGTH_MAX
#define EXACT_LENGTH_MAX 140001
#endif

enum {
    EXACT_ITEMS = 64, /* of a list */
    EXACT_ROOM = EXACT_LENGTH_MAX + 8192,
    EXACT_GUARD_BYTE = 0x5a,
};

struct exact_job {
    struct bale_setting setting;
    unsigned kind;
    uint32_t length;
    uint8_t chunk_log2;
    uint8_t *data;  /* what is encoded, or what the CPU makes of the frame */
    uint8_t *exact; /* what the engine rounds to data; NULL: nothing is rounded */
    uint8_t *frame; /* the CPU's, or a hostile one */
    size_t frame_length;
    int expected; /* of a decode */
};

struct exact_items {
    struct rig *rig;
    struct bale_scratch *scratch;
    uint64_t state;
    uint8_t *plain; /* 2 * EXACT_ITEMS * EXACT_ROOM */
    unsigned count, refused, unsuited;
    unsigned long encoded, decoded;
    struct exact_job jobs[EXACT_ITEMS];
    struct bale_item items[EXACT_ITEMS];
};

/* The rig's engine is opened after this. */
static inline void exact_items_open(struct exact_items *list, struct rig *rig, uint64_t seed)
{
    list->rig = rig;
    list->state = seed;
    list->plain = malloc((size_t)2 * EXACT_ITEMS * EXACT_ROOM);
    REQUIRE(list->plain && bale_scratch_create(&list->scratch) == BALE_OK);
    rig_reserve(rig, (size_t)2 * EXACT_ITEMS * EXACT_ROOM);
}

static inline void exact_items_close(struct exact_items *list)
{
    bale_scratch_destroy(list->scratch);
    free(list->plain);
}

static inline uint32_t exact_below(struct exact_items *list, uint32_t limit)
{
    return (uint32_t)(data_next(&list->state) % limit);
}

/* ---- What is encoded ---- */

static inline uint8_t *exact_data(struct exact_items *list, unsigned i)
{
    return list->plain + (size_t)2 * i * EXACT_ROOM;
}

static inline uint8_t *exact_frame(struct exact_items *list, unsigned i)
{
    return exact_data(list, i) + EXACT_ROOM;
}

static inline struct bale_frame exact_frame_of(const struct exact_job *job)
{
    return (struct bale_frame){
        .offset = 4096, .generation = 7, .raw_length = job->length, .chunk_log2 = job->chunk_log2};
}

/* The data is job->data[0, length). */
static inline void exact_encode_on_cpu(struct exact_items *list, struct exact_job *job)
{
    struct bale_frame frame = exact_frame_of(job);

    REQUIRE(bale_frame_encode(list->scratch, job->setting, job->data, &frame, job->frame,
                              &job->frame_length) == BALE_OK);
    job->expected = BALE_OK;
}

/* kind: codec_case_fill()'s. There is room for it. */
static inline void exact_add(struct exact_items *list, struct bale_setting setting, unsigned kind,
                             uint32_t length, uint8_t chunk_log2)
{
    struct exact_job *job = &list->jobs[list->count];
    uint32_t shift = exact_below(list, 8);

    *job = (struct exact_job){
        .setting = setting,
        .kind = kind,
        .length = length,
        .chunk_log2 = bale_codec_has_cells(setting.codec) ? 16 : chunk_log2,
        .data = exact_data(list, list->count),
        .frame = exact_frame(list, list->count),
    };
    list->count++;
    codec_case_fill(codec_case_of(setting.codec), kind, job->data, length + shift);
    memmove(job->data, job->data + shift, length);
    exact_encode_on_cpu(list, job);
}

/* A frame of one value is the host's; and one for which a codec that knows arrays left the choice
 * to auto may be. */
static inline void exact_drop_zero(struct exact_items *list)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < list->count; i++) {
        struct exact_job job = list->jobs[i];
        const uint8_t codec = job.frame[FRAME_AT_CODEC];
        if (codec == BALE_CODEC_ZERO ||
            (bale_codec_has_field(job.setting.codec) && codec != job.setting.codec))
            continue;
        list->jobs[kept++] = job;
    }
    list->count = kept;
}

/* ---- Through the engine ---- */

static inline uint8_t *exact_raw_room(struct exact_items *list, unsigned i)
{
    return list->rig->memory + (size_t)2 * i * EXACT_ROOM;
}

static inline uint8_t *exact_stored_room(struct exact_items *list, unsigned i)
{
    return exact_raw_room(list, i) + EXACT_ROOM;
}

/* Nothing but [begin, begin + length) of the room was written. */
static inline void exact_check_guards(const uint8_t *room, const uint8_t *begin, size_t length)
{
    CHECK(rig_all(room, begin, EXACT_GUARD_BYTE));
    CHECK(rig_all(begin + length, room + EXACT_ROOM, EXACT_GUARD_BYTE));
}

/* Says which job it was, if a check has failed since. */
static inline void exact_tell(const struct exact_job *job, const char *what, unsigned long before)
{
    if (atomic_load(&check_failures) != before)
        fprintf(stderr, "%s: %s, parameter %04x, data %u, %u bytes, chunks of 2^%u\n", what,
                bale_codec_name(job->setting.codec), (uint16_t)job->setting.parameter, job->kind,
                job->length, job->chunk_log2);
}

/* prepare and check: of one item. */
static inline void exact_run(struct exact_items *list,
                             void (*prepare)(struct exact_items *, unsigned),
                             void (*check)(struct exact_items *, unsigned))
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

static inline void exact_prepare_encode(struct exact_items *list, unsigned i)
{
    const struct exact_job *job = &list->jobs[i];
    uint8_t *raw = exact_raw_room(list, i) + exact_below(list, 64);
    uint8_t *stored = exact_stored_room(list, i);

    memcpy(raw, job->exact ? job->exact : job->data, job->length);
    memset(stored, EXACT_GUARD_BYTE, EXACT_ROOM);
    list->items[i] = (struct bale_item){
        .kind = BALE_ITEM_ENCODE,
        .memory_kind = job->exact ? BALE_MEMORY_DEVICE : BALE_MEMORY_PINNED,
        .device = (int)list->rig->found.chosen,
        .setting = job->setting,
        .rounds = job->exact != NULL,
        .frame = exact_frame_of(job),
        .raw = raw,
        .stored = stored + exact_below(list, 64),
        .capacity = bale_frame_bound(job->length, job->chunk_log2),
    };
}

/* Whether the codec, one that knows arrays, leaves the bytes to what auto chooses: then no device
 * encodes them, and the CPU's frame has another codec. */
static inline bool exact_is_unsuited(const struct exact_items *list, const struct exact_job *job)
{
    const struct bale_codec *codec = bale_codec_find(job->setting.codec);
    const struct bale_frame frame = exact_frame_of(job);
    uint8_t part[BALE_CUDA_PART];

    return bale_codec_has_field(codec->id) && job->frame[FRAME_AT_CODEC] != BALE_CODEC_ZERO &&
           bale_frame_with_part_gains(job->length, 0) &&
           codec->learn(bale_scratch_work(list->scratch, codec->id), job->setting.parameter,
                        &job->setting.field, frame.offset,
                        1u << bale_codec_chunk_log2(&job->setting, job->chunk_log2), job->data,
                        job->length, part, bale_part_limit(job->length)) == 0;
}

static inline void exact_check_encoded(struct exact_items *list, unsigned i)
{
    const struct bale_item *item = &list->items[i];
    const struct exact_job *job = &list->jobs[i];
    unsigned long before = atomic_load(&check_failures);

    CHECK_EQ_MEM(item->raw, job->exact ? job->exact : job->data, job->length);
    if (exact_is_unsuited(list, job)) {
        CHECK_EQ(item->status, BALE_E_INVALID);
        list->unsuited++;
        return;
    }
    CHECK_EQ(item->status, BALE_OK);
    if (CHECK_EQ_U(item->stored_length, job->frame_length))
        CHECK_EQ_MEM(item->stored, job->frame, job->frame_length);
    exact_check_guards(exact_stored_room(list, i), item->stored, item->stored_length);
    exact_tell(job, "encode", before);
}

static inline void exact_encode_all(struct exact_items *list)
{
    exact_run(list, exact_prepare_encode, exact_check_encoded);
    list->encoded += list->count;
}

static inline void exact_prepare_decode(struct exact_items *list, unsigned i)
{
    const struct exact_job *job = &list->jobs[i];
    uint8_t *raw = exact_raw_room(list, i);
    uint8_t *stored = exact_stored_room(list, i) + exact_below(list, 64);

    memset(raw, EXACT_GUARD_BYTE, EXACT_ROOM);
    memcpy(stored, job->frame, job->frame_length);
    list->items[i] = (struct bale_item){
        .kind = BALE_ITEM_DECODE,
        .memory_kind = BALE_MEMORY_PINNED,
        .frame = {.raw_length = job->length},
        .raw = raw + exact_below(list, 64),
        .stored = stored,
        .stored_length = job->frame_length,
    };
}

static inline void exact_check_decoded(struct exact_items *list, unsigned i)
{
    const struct bale_item *item = &list->items[i];
    const struct exact_job *job = &list->jobs[i];
    unsigned long before = atomic_load(&check_failures);

    CHECK_EQ(item->status, job->expected);
    if (job->expected == BALE_OK && item->status == BALE_OK)
        CHECK_EQ_MEM(item->raw, job->data, job->length);
    exact_check_guards(exact_raw_room(list, i), item->raw,
                       job->expected == BALE_OK ? job->length : 0);
    list->refused += job->expected != BALE_OK;
    exact_tell(job, "decode", before);
}

static inline void exact_decode_all(struct exact_items *list)
{
    exact_run(list, exact_prepare_decode, exact_check_decoded);
    list->decoded += list->count;
}

#endif
