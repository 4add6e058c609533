/* The CUDA engine's gpulz and culzss against the CPU's: frames are the same to the byte; streams that were made to
 * harm, with checksums that match, get the same answer.
 *
 * usage: lzss_test PLUGIN [--few]; skipped where there is no GPU.
 *   --few: as much as a checker of memory accesses can follow */
#include "format/bytes.h"
#include "format/err.h"
#include "format/gpulz.h"
#include "format/hash.h"
#include "tests/check.h"
#include "tests/cuda/rig.h"
#include "tests/unit/lzss_shapes.h"

enum {
    ITEMS = 64, /* of a list */
    ROUNDS = 80,
    ROUNDS_FEW = 3,
    ALL_STEP_FEW = 37, /* of the settings and kinds of data, every so many */
    LENGTH_MAX = 140001,
    CHUNKS_MAX = 64,
    GUARD_BYTE = 0x5a,
    ROOM = LENGTH_MAX + 8192,
};

struct job {
    struct bale_setting setting;
    unsigned kind;
    uint32_t length;
    uint8_t chunk_log2;
    uint8_t *data;  /* what is encoded, or what the CPU makes of the frame */
    uint8_t *frame; /* the CPU's, or a hostile one */
    size_t frame_length;
    int expected; /* of a decode */
};

struct world {
    struct rig *rig;
    struct bale_scratch *scratch;
    uint64_t state;
    bool few;
    uint8_t *plain; /* 2 * ITEMS * ROOM */
    unsigned count, refused;
    unsigned long encoded, decoded;
    struct job jobs[ITEMS];
    struct bale_item items[ITEMS];
};

static uint32_t below(struct world *w, uint32_t limit)
{
    return (uint32_t)(data_next(&w->state) % limit);
}

static uint8_t *pinned_room(struct world *w, unsigned i, unsigned which)
{
    return w->rig->memory + ((size_t)2 * i + which) * ROOM;
}

/* ---- What is encoded ---- */

static struct bale_frame frame_of(const struct job *job)
{
    return (struct bale_frame){
        .offset = 4096, .generation = 7, .raw_length = job->length, .chunk_log2 = job->chunk_log2};
}

/* The data is job->data[0, length). */
static void encode_on_cpu(struct world *w, struct job *job)
{
    struct bale_frame frame = frame_of(job);

    REQUIRE(bale_frame_encode(w->scratch, job->setting, job->data, &frame, job->frame,
                              &job->frame_length) == BALE_OK);
    job->expected = BALE_OK;
}

static void add(struct world *w, struct bale_setting setting, unsigned kind, uint32_t length,
                uint8_t chunk_log2)
{
    struct job *job = &w->jobs[w->count];
    uint32_t shift = below(w, 8);

    *job = (struct job){
        .setting = setting,
        .kind = kind,
        .length = length,
        .chunk_log2 = chunk_log2,
        .data = w->plain + (size_t)2 * w->count * ROOM,
        .frame = w->plain + ((size_t)2 * w->count + 1) * ROOM,
    };
    w->count++;
    shape_fill(kind, job->data, length + shift);
    memmove(job->data, job->data + shift, length);
    encode_on_cpu(w, job);
}

static void tell(const struct job *job, const char *what, unsigned long before)
{
    if (atomic_load(&check_failures) != before)
        fprintf(stderr, "%s: codec %u, parameter %04x, data %u, %u bytes, chunks of 2^%u\n", what,
                job->setting.codec, (uint16_t)job->setting.parameter, job->kind, job->length,
                job->chunk_log2);
}

/* ---- Lists of items ---- */

static void run(struct world *w)
{
    for (unsigned i = 0; i < w->count; i++)
        CHECK(w->rig->gpu->takes(w->rig->engine, &w->items[i]));
    if (w->count > 0)
        rig_run(w->rig, w->items, w->count);
}

static void encode_all(struct world *w)
{
    for (unsigned i = 0; i < w->count; i++) {
        const struct job *job = &w->jobs[i];
        uint8_t *raw = pinned_room(w, i, 0) + below(w, 64), *stored = pinned_room(w, i, 1);
        memcpy(raw, job->data, job->length);
        memset(stored, GUARD_BYTE, ROOM);
        w->items[i] = (struct bale_item){
            .kind = BALE_ITEM_ENCODE,
            .place = BALE_PLACE_PINNED,
            .setting = job->setting,
            .frame = frame_of(job),
            .raw = raw,
            .stored = stored + below(w, 64),
            .capacity = bale_frame_bound(job->length, job->chunk_log2),
        };
    }
    run(w);
    for (unsigned i = 0; i < w->count; i++) {
        const struct bale_item *item = &w->items[i];
        const struct job *job = &w->jobs[i];
        unsigned long before = atomic_load(&check_failures);
        uint8_t *room = pinned_room(w, i, 1);
        CHECK_EQ(item->status, BALE_OK);
        if (CHECK_EQ_U(item->stored_length, job->frame_length))
            CHECK_EQ_MEM(item->stored, job->frame, job->frame_length);
        CHECK(rig_all(room, item->stored, GUARD_BYTE));
        CHECK(rig_all(item->stored + item->stored_length, room + ROOM, GUARD_BYTE));
        tell(job, "encode", before);
    }
    w->encoded += w->count;
}

static void decode_all(struct world *w)
{
    for (unsigned i = 0; i < w->count; i++) {
        const struct job *job = &w->jobs[i];
        uint8_t *raw = pinned_room(w, i, 0), *stored = pinned_room(w, i, 1) + below(w, 64);
        memset(raw, GUARD_BYTE, ROOM);
        memcpy(stored, job->frame, job->frame_length);
        w->items[i] = (struct bale_item){
            .kind = BALE_ITEM_DECODE,
            .place = BALE_PLACE_PINNED,
            .frame = {.raw_length = job->length},
            .raw = raw + below(w, 64),
            .stored = stored,
            .stored_length = job->frame_length,
        };
    }
    run(w);
    for (unsigned i = 0; i < w->count; i++) {
        const struct bale_item *item = &w->items[i];
        const struct job *job = &w->jobs[i];
        unsigned long before = atomic_load(&check_failures);
        uint8_t *room = pinned_room(w, i, 0);
        uint32_t written = job->expected == BALE_OK ? job->length : 0;
        CHECK_EQ(item->status, job->expected);
        if (job->expected == BALE_OK && item->status == BALE_OK)
            CHECK_EQ_MEM(item->raw, job->data, job->length);
        CHECK(rig_all(room, item->raw, GUARD_BYTE));
        CHECK(rig_all(item->raw + written, room + ROOM, GUARD_BYTE));
        w->refused += job->expected != BALE_OK;
        tell(job, "decode", before);
    }
    w->decoded += w->count;
}

/* A frame of one value is the host's. */
static void drop_zero(struct world *w)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < w->count; i++) {
        struct job job = w->jobs[i];
        if (job.frame[5] == BALE_CODEC_ZERO)
            continue;
        w->jobs[kept++] = job;
    }
    w->count = kept;
}

/* ---- Frames made to harm ---- */

/* Changes some of a stream: anywhere, among its counts and first flags, or at its end. Returns its
 * length then. */
static uint32_t damage(struct world *w, uint8_t *stream, uint32_t length)
{
    uint32_t most[] = {length, 2, 70, length};

    for (uint32_t edits = 1 + below(w, 3); edits > 0; edits--) {
        uint32_t range = most[below(w, 4)];
        uint32_t at = below(w, range < length ? range : length);
        if (below(w, 4) == 0)
            at = length - 1 - below(w, length < 40 ? length : 40);
        uint8_t bit = (uint8_t)(1u << below(w, 8));
        stream[at] = (uint8_t)(below(w, 2) ? stream[at] ^ bit : data_next(&w->state));
    }
    return below(w, 6) == 0 ? 1 + below(w, length) : length;
}

/* What the CPU's decoder makes of all chunks; false: one is refused. */
static bool decode_chunks(struct world *w, struct job *job, const struct bale_frame *frame,
                          const struct bale_chunk *table, const uint8_t *in, uint8_t *hashes)
{
    const struct bale_codec *codec = bale_codec_find(frame->codec);
    uint8_t *raw = job->data;

    for (uint32_t i = 0; i < frame->chunks; i++) {
        uint32_t length = bale_frame_chunk_raw(frame, i);
        if (table[i].stored == length)
            memcpy(raw, in, length);
        else if (codec->decode(w->scratch, (int16_t)frame->parameter, in, table[i].stored, raw,
                               length, 1u << frame->chunk_log2) != BALE_OK)
            return false;
        bale_put64(hashes + (size_t)8 * i, bale_hash(raw, length));
        in += table[i].stored;
        raw += length;
    }
    return true;
}

/* One chunk's stream is damaged, and all checksums are made to match. */
static void harm(struct world *w, struct job *job)
{
    static uint8_t stored[ROOM], hashes[8 * CHUNKS_MAX];
    struct bale_chunk table[CHUNKS_MAX];
    struct bale_frame frame;
    size_t from, to = 0;

    REQUIRE(bale_frame_head_decode(job->frame, job->frame_length, &frame) == BALE_OK);
    if (frame.codec != job->setting.codec)
        return;
    REQUIRE(frame.chunks <= CHUNKS_MAX);
    from = frame.head_length;
    uint32_t victim = below(w, frame.chunks);
    for (uint32_t i = 0; i < frame.chunks; i++) {
        table[i] = bale_frame_chunk(job->frame, &frame, i);
        memcpy(stored + to, job->frame + from, table[i].stored);
        from += table[i].stored;
        if (i == victim && table[i].stored < bale_frame_chunk_raw(&frame, i))
            table[i].stored = damage(w, stored + to, table[i].stored);
        table[i].checksum = bale_hash(stored + to, table[i].stored);
        to += table[i].stored;
    }
    job->expected = decode_chunks(w, job, &frame, table, stored, hashes) ? BALE_OK : BALE_E_CORRUPT;
    if (job->expected == BALE_OK)
        frame.raw_checksum = bale_hash(hashes, (size_t)8 * frame.chunks);
    bale_frame_head_encode(&frame, table, job->frame);
    memcpy(job->frame + frame.head_length, stored, to);
    job->frame_length = frame.head_length + to;
}

static void harm_all(struct world *w)
{
    for (unsigned i = 0; i < w->count; i++)
        harm(w, &w->jobs[i]);
}

static void run_jobs(struct world *w)
{
    encode_all(w);
    drop_zero(w);
    decode_all(w);
    harm_all(w);
    decode_all(w);
    w->count = 0;
}

static void run_if_full(struct world *w)
{
    if (w->count == ITEMS)
        run_jobs(w);
}

/* ---- Which ---- */

static struct bale_setting gpulz(unsigned symbol_log2, unsigned piece_log2, unsigned window)
{
    uint16_t parameter = bale_gpulz_parameter(symbol_log2, piece_log2, window);

    return (struct bale_setting){BALE_CODEC_GPULZ, (int16_t)parameter};
}

static struct bale_setting culzss(unsigned version)
{
    return (struct bale_setting){BALE_CODEC_CULZSS, (int16_t)version};
}

static struct bale_setting any_setting(struct world *w)
{
    if (below(w, 4) == 0)
        return culzss(1 + below(w, 2));
    return gpulz(below(w, 4), BALE_GPULZ_PIECE_LOG2_MIN + below(w, 6),
                 BALE_GPULZ_WINDOW_MIN + below(w, 224));
}

/* Every size of symbols and pieces with the windows at the ends and between, and every kind of data. */
static void test_settings(struct world *w)
{
    static const uint8_t windows[] = {32, 33, 64, 128, 255};
    enum { GPULZ = 4 * 6 * sizeof windows, SETTINGS = GPULZ + 2 };

    for (unsigned k = 0; k < SETTINGS * SHAPES; k += w->few ? ALL_STEP_FEW : 1) {
        unsigned i = k % SETTINGS;
        add(w,
            i < GPULZ ? gpulz(i % 4, BALE_GPULZ_PIECE_LOG2_MIN + i / 4 % 6, windows[i / 24])
                      : culzss(1 + i - GPULZ),
            k / SETTINGS, 65536 + 4500 - k % 3, 16);
        run_if_full(w);
    }
    run_jobs(w);
}

/* The shortest chunks, and those about a piece's end. */
static void test_lengths(struct world *w)
{
    for (uint32_t length = 1; length <= 96; length++) {
        add(w, any_setting(w), SHAPE_RUNS, length, 16);
        run_if_full(w);
    }
    for (uint32_t length = 2048 - 16; length <= 2048 + 48; length++) {
        struct bale_setting setting =
            length % 6 < 4 ? gpulz(length % 4, 11, 255) : culzss(length % 6 - 3);
        add(w, setting, length % SHAPES, length, 16);
        run_if_full(w);
        add(w, setting, length % SHAPES, 65536 - 2048 + length, 16);
        run_if_full(w);
    }
    run_jobs(w);
}

static void test_random(struct world *w)
{
    static const uint32_t most[] = {300, 5000, 70000, LENGTH_MAX - 8};

    for (int round = 0; round < (w->few ? ROUNDS_FEW : ROUNDS); round++) {
        while (w->count < ITEMS)
            add(w, any_setting(w), below(w, SHAPES), 1 + below(w, most[below(w, 4)]),
                (uint8_t)(12 + below(w, 5)));
        run_jobs(w);
    }
}

/* What leaves its symbols open is somebody else's to settle first. */
static void test_open(struct world *w)
{
    struct bale_item item;

    add(w, gpulz(0, 12, 255), DATA_TEXT, 100000, 16);
    encode_all(w);
    w->count = 0;
    item = w->items[0];
    item.setting.parameter |= (int16_t)BALE_GPULZ_ADAPTIVE;
    CHECK(bale_setting_is_open(item.setting));
    CHECK(!w->rig->gpu->takes(w->rig->engine, &item));
    rig_run(w->rig, &item, 1);
    CHECK_EQ(item.status, BALE_E_INVALID);
}

int main(int argc, char **argv)
{
    static struct world world;
    const struct bale_gpu_options options = {.verify = true};
    struct rig rig;

    setvbuf(stdout, NULL, _IOLBF, 0);
    REQUIRE(argc >= 2);
    rig_load(&rig, argv[1]);
    world.rig = &rig;
    world.state = 11;
    world.few = argc > 2;
    world.plain = malloc((size_t)2 * ITEMS * ROOM);
    REQUIRE(world.plain && bale_scratch_create(&world.scratch) == BALE_OK);
    rig_reserve(&rig, (size_t)2 * ITEMS * ROOM);
    rig_open(&rig, &options);
    test_open(&world);
    test_lengths(&world);
    test_settings(&world);
    test_random(&world);
    CHECK_EQ_U(rig_stats(&rig).mismatches, 0);
    CHECK(!rig_stats(&rig).lost);
    printf("%s: %lu items encoded, %lu decoded, of which %u refused\n", rig_stats(&rig).device,
           world.encoded, world.decoded, world.refused);
    rig_close(&rig);
    bale_scratch_destroy(world.scratch);
    free(world.plain);
    return check_result();
}
