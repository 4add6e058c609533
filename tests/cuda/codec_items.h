/* Items of all codecs, with lengths, data and settings at random, and what must have become of
 * them: what one engine encodes the other decodes, and where the bytes have to be the same they
 * are. */
#ifndef BALE_TESTS_CUDA_CODEC_ITEMS_H
#define BALE_TESTS_CUDA_CODEC_ITEMS_H

#include "format/err.h"
#include "kernels/frame/frame.h"
#include "kernels/frame/registry.h"
#include "kernels/frame/setting.h"
#include "tests/check.h"
#include "tests/codecs/cases.h"
#include "tests/codecs/data.h"
#include "tests/cuda/rig.h"
#include "tests/support/offsets.h"

enum {
    CODEC_ITEMS = 64, /* of a list */
    CODEC_LENGTH_MAX = 1 << 20,
    CODEC_GUARD = 64,
    CODEC_GUARD_BYTE = 0x5a,
    /* For a frame, or for what one holds, with its guards: more than the raw bytes. */
    CODEC_ROOM_MORE = 16 << 10,
    CODEC_ROOM = CODEC_LENGTH_MAX + CODEC_ROOM_MORE,
    CODEC_DATA_EQUAL = DATA_KINDS, /* one kind more than data.h has */
};

/* Where an item's bytes are, and what came of them on the CPU. */
struct codec_job {
    uint8_t *original; /* on the CPU */
    uint8_t *raw;      /* pinned */
    uint8_t *stored;   /* pinned */
    uint32_t raw_length;
    bool encode;
    bool damaged;
    int expected;   /* decode: the CPU's status */
    uint8_t *frame; /* encode: the CPU's frame */
    size_t frame_length;
};

struct codec_items {
    struct rig *rig;
    struct bale_scratch *scratch;
    uint64_t state;
    struct codec_job jobs[CODEC_ITEMS];
    struct bale_item items[CODEC_ITEMS];
    uint8_t *plain; /* not pinned: CODEC_ITEMS * 2 * CODEC_ROOM */
    unsigned taken, refused, frames_of[UINT8_MAX + 1];
};

/* The rig's engine is opened after this. */
static inline void codec_items_open(struct codec_items *list, struct rig *rig, uint64_t seed)
{
    list->rig = rig;
    list->state = seed;
    list->plain = malloc((size_t)CODEC_ITEMS * 2 * CODEC_ROOM);
    REQUIRE(list->plain && bale_scratch_create(&list->scratch) == BALE_OK);
    rig_reserve(rig, (size_t)CODEC_ITEMS * 2 * CODEC_ROOM);
}

static inline void codec_items_close(struct codec_items *list)
{
    bale_scratch_destroy(list->scratch);
    free(list->plain);
}

static inline uint64_t codec_next(struct codec_items *list)
{
    return data_next(&list->state);
}

/* One that the device encodes. What auto chooses may be a codec that the device does not do. */
static inline struct bale_setting codec_pick_setting(struct codec_items *list, const uint8_t *raw,
                                                     uint32_t length)
{
    struct bale_setting setting;

    do {
        setting = codec_settings_pick(SETTINGS_RANDOM, codec_next(list));
        setting = bale_setting_choose(list->scratch, setting, raw, length, BALE_CHUNK_LOG2_DEFAULT);
    } while (setting.parameter > bale_codec_about(setting.codec)->most ||
             !rig_has(list->rig, setting.codec));
    return setting;
}

/* Many short ones, for the hash of few bytes has rules of its own. */
static inline uint32_t codec_pick_length(struct codec_items *list)
{
    switch (codec_next(list) % 4) {
    case 0:
        return 1 + (uint32_t)(codec_next(list) % 600);
    case 1:
        return 128 << 10;
    case 2:
        return 1 + (uint32_t)(codec_next(list) % (200 << 10));
    default:
        return 1 + (uint32_t)(codec_next(list) % CODEC_LENGTH_MAX);
    }
}

static inline void codec_fill(struct codec_items *list, uint8_t *out, uint32_t length)
{
    unsigned kind = (unsigned)(codec_next(list) % (DATA_KINDS + 1));

    if (kind == CODEC_DATA_EQUAL) {
        memset(out, (int)(codec_next(list) % 256), length);
        if (codec_next(list) % 4 == 0) /* except one */
            out[codec_next(list) % length] ^= 1;
    } else {
        data_fill((enum data_kind)kind, codec_next(list), out, length);
    }
}

/* Half of them are aligned as a file system's extents are. */
static inline uint8_t *codec_place(struct codec_items *list, uint8_t *room)
{
    return room + (codec_next(list) % 2 ? 4096 : CODEC_GUARD + codec_next(list) % 1000);
}

/* Of the room, as much as the job needs: most jobs are short. */
static inline void codec_guard(const struct codec_job *job, uint8_t *room)
{
    memset(room, CODEC_GUARD_BYTE, job->raw_length + CODEC_ROOM_MORE);
}

/* Nothing but [begin, begin + length) of what codec_guard filled was written. */
static inline void codec_check_guards(const struct codec_job *job, const uint8_t *room,
                                      const uint8_t *begin, size_t length)
{
    CHECK(rig_all(room, begin, CODEC_GUARD_BYTE));
    CHECK(rig_all(begin + length, room + job->raw_length + CODEC_ROOM_MORE, CODEC_GUARD_BYTE));
}

static inline uint8_t *codec_room(struct codec_items *list, unsigned i, unsigned which)
{
    return list->rig->memory + ((size_t)2 * i + which) * CODEC_ROOM;
}

static inline void codec_encode_on_cpu(struct codec_items *list, struct codec_job *job,
                                       struct bale_setting setting, struct bale_frame *frame)
{
    REQUIRE(bale_frame_encode(list->scratch, setting, job->original, frame, job->frame,
                              &job->frame_length) == BALE_OK);
}

static inline void codec_prepare_encode(struct codec_items *list, unsigned i,
                                        struct bale_setting setting, struct bale_frame frame)
{
    struct codec_job *job = &list->jobs[i];

    codec_guard(job, codec_room(list, i, 1));
    memcpy(job->raw, job->original, job->raw_length);
    list->items[i] = (struct bale_item){
        .kind = BALE_ITEM_ENCODE,
        .priority = BALE_PRIORITY_NORMAL,
        .memory_kind = BALE_MEMORY_PINNED,
        .setting = setting,
        .frame = frame,
        .raw = job->raw,
        .stored = job->stored,
        .capacity = bale_frame_bound(job->raw_length, frame.chunk_log2),
    };
    codec_encode_on_cpu(list, job, setting, &frame);
}

/* A frame of the CPU's, sometimes with a byte that is wrong. */
static inline void codec_prepare_decode(struct codec_items *list, unsigned i,
                                        struct bale_setting setting, struct bale_frame frame)
{
    struct codec_job *job = &list->jobs[i];

    codec_encode_on_cpu(list, job, setting, &frame);
    if (job->damaged)
        job->frame[codec_next(list) % job->frame_length] ^= (uint8_t)(1 + codec_next(list) % 255);
    job->expected = bale_frame_decode(list->scratch, job->frame, job->frame_length,
                                      codec_room(list, i, 0), job->raw_length, NULL);
    codec_guard(job, codec_room(list, i, 0));
    memcpy(job->stored, job->frame, job->frame_length);
    list->items[i] = (struct bale_item){
        .kind = BALE_ITEM_DECODE,
        .priority = BALE_PRIORITY_LOW,
        .memory_kind = BALE_MEMORY_PINNED,
        .frame = {.raw_length = job->raw_length},
        .raw = job->raw,
        .stored = job->stored,
        .stored_length = job->frame_length,
    };
}

/* items[i]. length 0: any. */
static inline void codec_prepare(struct codec_items *list, unsigned i, uint32_t length, bool encode)
{
    struct codec_job *job = &list->jobs[i];
    struct bale_frame frame = {
        .chunk_log2 = codec_next(list) % 3 ? 16 : (uint8_t)(12 + codec_next(list) % 5)};
    struct bale_setting setting;

    *job = (struct codec_job){
        .original = list->plain + (size_t)2 * i * CODEC_ROOM,
        .frame = list->plain + ((size_t)2 * i + 1) * CODEC_ROOM,
        .raw = codec_place(list, codec_room(list, i, 0)),
        .stored = codec_place(list, codec_room(list, i, 1)),
        .raw_length = length > 0 ? length : codec_pick_length(list),
        .encode = encode,
        .damaged = !encode && codec_next(list) % 5 == 0,
    };
    codec_fill(list, job->original, job->raw_length);
    frame.raw_length = job->raw_length;
    frame.offset = codec_next(list) % (1u << 30);
    frame.generation = codec_next(list);
    setting = codec_pick_setting(list, job->original, job->raw_length);
    if (bale_codec_has_cells(setting.codec))
        frame.chunk_log2 = 16; /* a device has no other */
    if (encode)
        codec_prepare_encode(list, i, setting, frame);
    else
        codec_prepare_decode(list, i, setting, frame);
}

static inline bool codec_is_defined(uint8_t codec)
{
    return codec_case_of(codec)->defined;
}

/* The CPU decodes it; if every byte is defined, it is the CPU's frame to the byte. */
static inline void codec_check_encoded(struct codec_items *list, unsigned i)
{
    const struct bale_item *item = &list->items[i];
    struct codec_job *job = &list->jobs[i];
    uint8_t *back = codec_room(list, i, 0);
    struct bale_frame frame;

    /* What does not suit a codec that knows arrays is left to auto's choice, and that to the
     * CPU. */
    if (item->status == BALE_E_INVALID && bale_codec_has_field(item->setting.codec) &&
        job->frame[FRAME_AT_CODEC] != item->setting.codec)
        return;
    if (!CHECK_EQ(item->status, BALE_OK))
        return;
    codec_check_guards(job, codec_room(list, i, 1), job->stored, item->stored_length);
    CHECK_EQ_U(item->stored_length, (size_t)item->frame.head_length + item->frame.stored_length);
    CHECK_EQ(bale_frame_decode(list->scratch, job->stored, item->stored_length, back,
                               job->raw_length, &frame),
             BALE_OK);
    CHECK_EQ_MEM(back, job->original, job->raw_length);
    CHECK_EQ_U(frame.head_checksum, item->frame.head_checksum); /* and so all that is in the head */
    CHECK_EQ_U(frame.head_length, item->frame.head_length);
    CHECK_EQ_U(frame.chunks, item->frame.chunks);
    list->frames_of[frame.codec]++;
    if (codec_is_defined(frame.codec) && codec_is_defined(job->frame[FRAME_AT_CODEC])) {
        CHECK_EQ_U(item->stored_length, job->frame_length);
        CHECK_EQ_MEM(job->stored, job->frame, job->frame_length);
    }
    if (job->frame[FRAME_AT_CODEC] == BALE_CODEC_ZERO)
        CHECK_EQ(frame.codec, BALE_CODEC_ZERO);
    /* Bytes that shrink to half are worth compressing with every codec. */
    if (job->raw_length > 100000 && job->frame_length < job->raw_length / 2)
        CHECK_EQ(frame.codec, job->frame[FRAME_AT_CODEC]);
}

static inline void codec_check_decoded(struct codec_items *list, unsigned i)
{
    const struct bale_item *item = &list->items[i];
    struct codec_job *job = &list->jobs[i];

    CHECK_EQ(item->status, job->expected);
    codec_check_guards(job, codec_room(list, i, 0), job->raw,
                       item->status == BALE_OK ? job->raw_length : 0);
    if (item->status == BALE_OK)
        CHECK_EQ_MEM(job->raw, job->original, job->raw_length);
}

/* Runs those of items[0, count) that the engine takes, and checks them. */
static inline void codec_run(struct codec_items *list, unsigned count)
{
    static struct bale_item some[CODEC_ITEMS];
    unsigned index[CODEC_ITEMS];
    unsigned taken = 0;

    for (unsigned i = 0; i < count; i++) {
        if (!list->rig->gpu->takes(list->rig->engine, &list->items[i])) {
            list->refused++;
            CHECK(!list->jobs[i].encode);
            continue;
        }
        index[taken] = i;
        some[taken++] = list->items[i];
    }
    if (taken > 0)
        rig_run(list->rig, some, taken);
    list->taken += taken;
    for (unsigned t = 0; t < taken; t++) {
        list->items[index[t]] = some[t];
        if (some[t].kind == BALE_ITEM_ENCODE)
            codec_check_encoded(list, index[t]);
        else
            codec_check_decoded(list, index[t]);
    }
}

#endif
