/* The CUDA engine against the CPU's: what one encodes the other decodes, and where the bytes have to be
 * the same they are.
 *
 * usage: cuda_test PLUGIN [--few]; skipped where there is no GPU.
 *   --few: as much as a checker of memory accesses can follow */
#include <unistd.h>

#include "format/err.h"
#include "tests/check.h"
#include "tests/cuda/rig.h"
#include "tests/unit/kernels_data.h"

enum {
    ROUNDS = 40,
    ROUNDS_FEW = 2,
    ITEMS = 64, /* of a round */
    LENGTH_MAX = 1 << 20,
    GUARD = 64,
    GUARD_BYTE = 0x5a,
    ROOM = LENGTH_MAX + (16 << 10), /* for a frame, or for what one holds, with its guards */
    DATA_EQUAL = DATA_KINDS,        /* one kind more than kernels_data.h has */
};

/* Where an item's bytes are, and what came of them on the CPU. */
struct job {
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

struct world {
    struct rig *rig;
    struct bale_scratch *scratch;
    uint64_t state;
    unsigned rounds;
    struct job jobs[ITEMS];
    struct bale_item items[ITEMS];
    uint8_t *plain; /* not pinned: ITEMS * 2 * ROOM */
    unsigned taken, refused, frames_of[BALE_CODEC_GPULZ + 1];
};

static uint64_t next(struct world *w)
{
    return data_next(&w->state);
}

static struct bale_setting pick_setting(struct world *w, const uint8_t *raw, uint32_t length)
{
    static const struct bale_setting all[] = {
        {BALE_CODEC_STORE, 0},      {BALE_CODEC_ZERO, 0},  {BALE_CODEC_LZ4, 0},
        {BALE_CODEC_LZ4, 0},        {BALE_CODEC_ZSTD, -2}, {BALE_CODEC_ZSTD, 1},
        {BALE_CODEC_ZSTD, 3},       {BALE_CODEC_AUTO, 0},  {BALE_CODEC_GPULZ, 0x21ff},
        {BALE_CODEC_GPULZ, 0x1020},
    };
    struct bale_setting setting = all[next(w) % (sizeof all / sizeof all[0])];

    return bale_auto_choose(w->scratch, setting, raw, length);
}

/* Many short ones, for the hash of few bytes has rules of its own. */
static uint32_t pick_length(struct world *w)
{
    switch (next(w) % 4) {
    case 0:
        return 1 + (uint32_t)(next(w) % 600);
    case 1:
        return 128 << 10;
    case 2:
        return 1 + (uint32_t)(next(w) % (200 << 10));
    default:
        return 1 + (uint32_t)(next(w) % LENGTH_MAX);
    }
}

static void fill(struct world *w, uint8_t *out, uint32_t length)
{
    unsigned kind = (unsigned)(next(w) % (DATA_KINDS + 1));

    if (kind == DATA_EQUAL) {
        memset(out, (int)(next(w) % 256), length);
        if (next(w) % 4 == 0) /* but for one */
            out[next(w) % length] ^= 1;
    } else {
        data_fill((enum data_kind)kind, next(w), out, length);
    }
}

/* Half of them are aligned as a file system's extents are. */
static uint8_t *place(struct world *w, uint8_t *room)
{
    return room + (next(w) % 2 ? 4096 : GUARD + next(w) % 1000);
}

static void guard(uint8_t *room)
{
    memset(room, GUARD_BYTE, ROOM);
}

/* Nothing but [begin, begin + length) of the room was written. */
static void check_guards(const uint8_t *room, const uint8_t *begin, size_t length)
{
    CHECK(rig_all(room, begin, GUARD_BYTE));
    CHECK(rig_all(begin + length, room + ROOM, GUARD_BYTE));
}

static uint8_t *pinned_room(struct world *w, unsigned i, unsigned which)
{
    return w->rig->memory + ((size_t)2 * i + which) * ROOM;
}

static void encode_on_cpu(struct world *w, struct job *job, struct bale_setting setting,
                          struct bale_frame *frame)
{
    REQUIRE(bale_frame_encode(w->scratch, setting, job->original, frame, job->frame,
                              &job->frame_length) == BALE_OK);
}

static void prepare_encode(struct world *w, unsigned i, struct bale_setting setting,
                           struct bale_frame frame)
{
    struct job *job = &w->jobs[i];

    guard(pinned_room(w, i, 1));
    memcpy(job->raw, job->original, job->raw_length);
    w->items[i] = (struct bale_item){
        .kind = BALE_ITEM_ENCODE,
        .priority = BALE_PRIORITY_NORMAL,
        .place = BALE_PLACE_PINNED,
        .setting = setting,
        .frame = frame,
        .raw = job->raw,
        .stored = job->stored,
        .capacity = bale_frame_bound(job->raw_length, frame.chunk_log2),
    };
    encode_on_cpu(w, job, setting, &frame);
}

/* A frame of the CPU's, sometimes with a byte that is wrong. */
static void prepare_decode(struct world *w, unsigned i, struct bale_setting setting,
                           struct bale_frame frame)
{
    struct job *job = &w->jobs[i];

    encode_on_cpu(w, job, setting, &frame);
    if (job->damaged)
        job->frame[next(w) % job->frame_length] ^= (uint8_t)(1 + next(w) % 255);
    job->expected = bale_frame_decode(w->scratch, job->frame, job->frame_length,
                                      pinned_room(w, i, 0), job->raw_length, NULL);
    guard(pinned_room(w, i, 0));
    memcpy(job->stored, job->frame, job->frame_length);
    w->items[i] = (struct bale_item){
        .kind = BALE_ITEM_DECODE,
        .priority = BALE_PRIORITY_LOW,
        .place = BALE_PLACE_PINNED,
        .frame = {.raw_length = job->raw_length},
        .raw = job->raw,
        .stored = job->stored,
        .stored_length = job->frame_length,
    };
}

/* length 0: any. */
static void prepare(struct world *w, unsigned i, uint32_t length, bool encode)
{
    struct job *job = &w->jobs[i];
    struct bale_frame frame = {.chunk_log2 = next(w) % 3 ? 16 : (uint8_t)(12 + next(w) % 5)};
    struct bale_setting setting;

    *job = (struct job){
        .original = w->plain + (size_t)2 * i * ROOM,
        .frame = w->plain + ((size_t)2 * i + 1) * ROOM,
        .raw = place(w, pinned_room(w, i, 0)),
        .stored = place(w, pinned_room(w, i, 1)),
        .raw_length = length > 0 ? length : pick_length(w),
        .encode = encode,
        .damaged = !encode && next(w) % 5 == 0,
    };
    fill(w, job->original, job->raw_length);
    frame.raw_length = job->raw_length;
    frame.offset = next(w) % (1u << 30);
    frame.generation = next(w);
    setting = pick_setting(w, job->original, job->raw_length);
    if (encode)
        prepare_encode(w, i, setting, frame);
    else
        prepare_decode(w, i, setting, frame);
}

/* Not a library's. */
static bool is_ours(uint8_t codec)
{
    return codec != BALE_CODEC_LZ4 && codec != BALE_CODEC_ZSTD;
}

/* The CPU decodes it; frames without a library's choices in them are the CPU's to the byte. */
static void check_encoded(struct world *w, unsigned i)
{
    const struct bale_item *item = &w->items[i];
    struct job *job = &w->jobs[i];
    uint8_t *back = pinned_room(w, i, 0);
    struct bale_frame frame;

    if (!CHECK_EQ(item->status, BALE_OK))
        return;
    check_guards(pinned_room(w, i, 1), job->stored, item->stored_length);
    CHECK_EQ_U(item->stored_length, (size_t)item->frame.head_length + item->frame.stored_length);
    CHECK_EQ(bale_frame_decode(w->scratch, job->stored, item->stored_length, back, job->raw_length,
                               &frame),
             BALE_OK);
    CHECK_EQ_MEM(back, job->original, job->raw_length);
    CHECK_EQ_U(frame.head_checksum, item->frame.head_checksum); /* and so all that is in the head */
    CHECK_EQ_U(frame.head_length, item->frame.head_length);
    CHECK_EQ_U(frame.chunks, item->frame.chunks);
    w->frames_of[frame.codec]++;
    if (is_ours(frame.codec) && is_ours(job->frame[5])) {
        CHECK_EQ_U(item->stored_length, job->frame_length);
        CHECK_EQ_MEM(job->stored, job->frame, job->frame_length);
    }
    if (job->frame[5] == BALE_CODEC_ZERO)
        CHECK_EQ(frame.codec, BALE_CODEC_ZERO);
    /* Whoever compresses, what halves is worth it. */
    if (job->raw_length > 100000 && job->frame_length < job->raw_length / 2)
        CHECK_EQ(frame.codec, job->frame[5]);
}

static void check_decoded(struct world *w, unsigned i)
{
    const struct bale_item *item = &w->items[i];
    struct job *job = &w->jobs[i];

    CHECK_EQ(item->status, job->expected);
    check_guards(pinned_room(w, i, 0), job->raw, item->status == BALE_OK ? job->raw_length : 0);
    if (item->status == BALE_OK)
        CHECK_EQ_MEM(job->raw, job->original, job->raw_length);
}

/* Runs those of items[0, count) that the engine takes. */
static void run(struct world *w, unsigned count)
{
    static struct bale_item list[ITEMS];
    unsigned index[ITEMS];
    unsigned taken = 0;

    for (unsigned i = 0; i < count; i++) {
        if (!w->rig->gpu->takes(w->rig->engine, &w->items[i])) {
            w->refused++;
            CHECK(!w->jobs[i].encode);
            continue;
        }
        index[taken] = i;
        list[taken++] = w->items[i];
    }
    if (taken > 0)
        rig_run(w->rig, list, taken);
    w->taken += taken;
    for (unsigned t = 0; t < taken; t++) {
        w->items[index[t]] = list[t];
        if (list[t].kind == BALE_ITEM_ENCODE)
            check_encoded(w, index[t]);
        else
            check_decoded(w, index[t]);
    }
}

static void test_many(struct world *w)
{
    for (unsigned round = 0; round < w->rounds; round++) {
        for (unsigned i = 0; i < ITEMS; i++)
            prepare(w, i, 0, next(w) % 2);
        run(w, ITEMS);
    }
}

/* Each length up to 2048, for the sake of the hash, whose rules change with it. */
static void test_lengths(struct world *w)
{
    for (uint32_t length = 1; length <= 2048; length += ITEMS) {
        for (unsigned i = 0; i < ITEMS; i++)
            prepare(w, i, length + i, i % 4 != 0);
        run(w, ITEMS);
    }
}

/* What the engine cannot do it says so of, before and when it is asked all the same. */
static void test_refused(struct world *w)
{
    const struct bale_gpu *gpu = w->rig->gpu;
    struct bale_engine *engine = w->rig->engine;
    struct bale_item item;

    prepare(w, 0, 100000, true);
    item = w->items[0];
    item.setting = (struct bale_setting){BALE_CODEC_STORE, 0};
    CHECK(gpu->takes(engine, &item));
    item.raw = w->plain;
    CHECK(!gpu->takes(engine, &item)); /* not pinned */
    item = w->items[0];
    item.stored = w->plain;
    CHECK(!gpu->takes(engine, &item));
    item = w->items[0];
    item.raw = w->rig->memory + w->rig->size - 50000;
    CHECK(!gpu->takes(engine, &item)); /* partly */
    item = w->items[0];
    item.setting = (struct bale_setting){BALE_CODEC_ZSTD, 4};
    CHECK(!gpu->takes(engine, &item));
    item.setting = (struct bale_setting){BALE_CODEC_AUTO, 0};
    CHECK(!gpu->takes(engine, &item));
    item.setting = (struct bale_setting){BALE_CODEC_GPULZ, 0x21ff}; /* as open */
    CHECK(!gpu->takes(engine, &item));
    item.setting = (struct bale_setting){BALE_CODEC_STORE, 0};
    item.capacity--;
    CHECK(!gpu->takes(engine, &item));
    rig_run(w->rig, &item, 1);
    CHECK_EQ(item.status, BALE_E_INVALID);
    item.capacity++;
    item.frame.chunk_log2 = 17;
    CHECK(!gpu->takes(engine, &item));
    rig_run(w->rig, &item, 1);
    CHECK_EQ(item.status, BALE_E_INVALID);
    CHECK(!bale_engine_here(engine, &item, NULL));
}

/* Copies may lie across what was pinned step by step, more of them than are begun at a time. */
static void test_copies(struct world *w)
{
    enum { COPIES = 600, LENGTH = 100000 };
    const struct bale_gpu *gpu = w->rig->gpu;
    uint8_t *border = w->rig->memory + w->rig->size - RIG_STEP;
    uint8_t *from = border - LENGTH / 2, *to = w->plain;
    static struct bale_gpu_copy copies[COPIES];

    data_fill(DATA_MIXED, next(w), from, LENGTH);
    for (size_t i = 0; i < COPIES; i++)
        copies[i] = (struct bale_gpu_copy){to + i * LENGTH, from, LENGTH - i};
    CHECK_EQ(gpu->copy(w->rig->engine, copies, COPIES), BALE_OK);
    for (size_t i = 0; i < COPIES; i++)
        CHECK_EQ_MEM(to + i * LENGTH, from, LENGTH - i);
    data_fill(DATA_MIXED, next(w), to, LENGTH);
    copies[0] = (struct bale_gpu_copy){from, to, LENGTH};
    CHECK_EQ(gpu->copy(w->rig->engine, copies, 1), BALE_OK);
    CHECK_EQ_MEM(from, to, LENGTH);
}

/* Without work the device's memory is given back; the next batch is answered at once and takes it
 * again. */
static void test_release(struct world *w)
{
    const struct bale_gpu_options options = {.release_ms = 100};

    uint64_t memory;

    rig_open(w->rig, &options);
    memory = rig_stats(w->rig).device_memory;
    for (int round = 0; round < 3; round++) {
        prepare(w, 0, 300000, true);
        rig_wait(w->rig, false);
        CHECK(rig_stats(w->rig).device_memory < memory);
        CHECK(w->rig->gpu->takes(w->rig->engine, &w->items[0]));
        rig_run(w->rig, w->items, 1);
        CHECK_EQ(w->items[0].status, BALE_E_AGAIN);
        rig_wait(w->rig, true);
        run(w, 1);
    }
    rig_close(w->rig);
}

static bool two_devices(struct rig *rig)
{
    struct bale_gpu_found found;
    char why[BALE_GPU_WHY];

    return rig->gpu->find(&found, why) == BALE_OK && found.device_count > 1;
}

static void test_engine(struct world *w, bool verify, uint64_t memory, unsigned devices)
{
    const struct bale_gpu_options options = {
        .verify = verify, .memory = memory, .devices = {0, 1}, .device_count = devices};
    struct bale_gpu_stats stats;

    rig_open(w->rig, &options);
    test_lengths(w);
    test_refused(w);
    test_copies(w);
    test_many(w);
    stats = rig_stats(w->rig);
    CHECK(stats.open);
    CHECK(!stats.lost);
    CHECK_EQ_U(stats.mismatches, 0);
    CHECK_EQ_U(stats.pinned, w->rig->size);
    if (memory > 0)
        CHECK(stats.device_memory <= memory * (devices > 0 ? devices : 1));
    printf("%s, verify %d: %u items taken, %u not; frames: store %u, zero %u, lz4 %u, zstd %u, "
           "gpulz %u; batches %llu, %.0f MiB of device memory\n",
           stats.device, verify, w->taken, w->refused, w->frames_of[0], w->frames_of[1],
           w->frames_of[2], w->frames_of[3], w->frames_of[BALE_CODEC_GPULZ],
           (unsigned long long)stats.batches, (double)stats.device_memory / (1 << 20));
    rig_close(w->rig);
}

static struct world world;

int main(int argc, char **argv)
{
    struct rig rig;

    setvbuf(stdout, NULL, _IOLBF, 0);
    REQUIRE(argc >= 2);
    rig_load(&rig, argv[1]);
    world.rig = &rig;
    world.state = 1;
    world.rounds = argc > 2 ? ROUNDS_FEW : ROUNDS;
    world.plain = malloc((size_t)ITEMS * 2 * ROOM);
    REQUIRE(world.plain && bale_scratch_create(&world.scratch) == BALE_OK);
    rig_reserve(&rig, (size_t)ITEMS * 2 * ROOM);
    test_engine(&world, true, (uint64_t)8 << 30, 0);
    test_engine(&world, false, 0, 0);
    test_engine(&world, false, (uint64_t)24 << 30, two_devices(&rig) ? 2 : 1);
    test_release(&world);
    return check_result();
}
