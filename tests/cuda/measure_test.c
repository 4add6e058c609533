/* The plug-in's measure: every codec that it has, what it does not take, and bytes that come back wrong.
 *
 * usage: measure_test PLUGIN [--few]; skipped where there is no GPU.
 *   --few: with a plug-in whose device is none, which measures known figures */
#include "format/err.h"
#include "format/gpulz.h"
#include "format/reason.h"
#include "kernels/frame/frame.h"
#include "kernels/frame/registry.h"
#include "kernels/round/piece.h"
#include "tests/check.h"
#include "tests/codecs/data.h"
#include "tests/cuda/rig.h"

enum {
    EXTENT = 5, /* chunks */
    CHUNK = 64 << 10,
    CHUNKS = BALE_GPU_TRIAL + 1, /* one more than is measured */
    CHUNKS_FEW = 40,
    DISTINCT = 16, /* chunks */
    RUNS = 3,
    TRIALS = 32,
};

struct world {
    struct rig rig;
    bool few;
    size_t count;
    struct bale_scratch *scratch;
    uint8_t data[DISTINCT][CHUNK + 1];
    uint8_t packed[CHUNK];
    uint8_t extent[EXTENT * CHUNK], frame[EXTENT * CHUNK + 4096];
    struct bale_gpu_trial_chunk chunks[TRIALS][CHUNKS];
    struct bale_gpu_trial trials[TRIALS];
    size_t trial_count;
    size_t ticks;
    const char *fault; /* from the first trial on: the device is open then */
};

static void add(struct world *w, uint8_t codec, int parameter, uint32_t length)
{
    struct bale_gpu_trial_chunk *chunks = w->chunks[w->trial_count];

    REQUIRE(w->trial_count < TRIALS);
    for (size_t i = 0; i < w->count; i++)
        chunks[i] = (struct bale_gpu_trial_chunk){.raw = w->data[i % DISTINCT],
                                                  .length = length,
                                                  .parameter = (uint16_t)parameter,
                                                  .begins = i % EXTENT == 0};
    w->trials[w->trial_count++] = (struct bale_gpu_trial){
        .codec = codec, .chunks = chunks, .count = w->count, .runs = RUNS, .status = 1};
}

static void tick(void *argument, size_t trial)
{
    struct world *w = argument;

    CHECK_EQ_U(trial, w->ticks);
    if (w->fault)
        w->rig.fault(w->fault);
    w->ticks++;
}

static void measure(struct world *w)
{
    const struct bale_gpu_options options = {0};
    struct bale_reason why = {0};

    w->ticks = 0;
    if (!CHECK_EQ(w->rig.gpu->measure(&options, w->trials, w->trial_count, tick, w, &why), BALE_OK))
        fprintf(stderr, "measure: %s\n", why.text);
    CHECK_EQ_U(w->ticks, w->trial_count);
}

/* The extent of chunk i and those behind it, as the CPU compresses them. */
static uint64_t extent_on_cpu(struct world *w, const struct bale_gpu_trial *trial, size_t i)
{
    const struct bale_gpu_trial_chunk *chunk = &trial->chunks[i];
    struct bale_frame frame = {.chunk_log2 = 16};
    size_t length;

    for (size_t n = 0; n < EXTENT && i + n < trial->measured; n++) {
        memcpy(w->extent + frame.raw_length, chunk[n].raw, chunk[n].length);
        frame.raw_length += chunk[n].length;
    }
    REQUIRE(bale_frame_encode(w->scratch,
                              (struct bale_setting){.codec = trial->codec, .field = trial->field},
                              w->extent, &frame, w->frame, &length) == BALE_OK);
    return frame.stored_length;
}

/* A chunk as the CPU compresses it. */
static uint32_t stored_on_cpu(struct world *w, const struct bale_gpu_trial *trial, size_t i)
{
    const struct bale_gpu_trial_chunk *chunk = &trial->chunks[i];
    const uint32_t limit = bale_chunk_limit(chunk->length);
    int64_t stored = bale_codec_find(trial->codec)
                         ->encode(bale_scratch_work(w->scratch, trial->codec),
                                  (int16_t)chunk->parameter, (struct bale_extent_part){NULL, 0},
                                  chunk->raw, chunk->length, w->packed, limit);

    REQUIRE(stored >= 0);
    return stored > 0 ? (uint32_t)stored : chunk->length;
}

/* Our own codecs make the CPU's bytes. */
static void check_stored(struct world *w, const struct bale_gpu_trial *trial, uint64_t raw)
{
    uint32_t each[DISTINCT];
    uint64_t stored = 0;

    if (trial->codec == BALE_CODEC_LZ4 || trial->codec == BALE_CODEC_ZSTD) {
        CHECK(trial->stored > 0 && trial->stored < raw);
        return;
    }
    if (bale_codec_has_part(trial->codec)) {
        for (size_t i = 0; i < trial->measured; i += EXTENT)
            stored += extent_on_cpu(w, trial, i);
        CHECK_EQ_U(trial->stored, stored);
        return;
    }
    for (size_t i = 0; i < DISTINCT; i++)
        each[i] = stored_on_cpu(w, trial, i);
    for (size_t i = 0; i < trial->measured; i++)
        stored += each[i % DISTINCT];
    CHECK_EQ_U(trial->stored, stored);
}

static void check_figures(struct world *w, const struct bale_gpu_trial *trial)
{
    uint64_t raw = 0, room = w->few ? CHUNKS_FEW : BALE_GPU_TRIAL;

    CHECK(trial->measured > 0 && trial->measured <= room);
    for (size_t i = 0; i < trial->measured; i++)
        raw += trial->chunks[i].length;
    check_stored(w, trial, raw);
    CHECK(trial->encode_ns > 0 && trial->decode_ns > 0);
    if (w->few) { /* the median of three */
        CHECK_EQ_U(trial->round_ns, 0);
        CHECK_EQ_U(trial->encode_ns, 2000);
        CHECK_EQ_U(trial->decode_ns, 20);
    }
    printf("codec %u, parameter %#x: %zu chunks of %u bytes, ratio %.2f, %.2f and %.2f GB/s\n",
           trial->codec, trial->chunks[0].parameter, trial->measured, trial->chunks[0].length,
           (double)raw / (double)trial->stored, (double)raw / (double)trial->encode_ns,
           (double)raw / (double)trial->decode_ns);
}

/* All parameters that the engine takes; without nvCOMP its codecs are not there. */
static void test_codecs(struct world *w)
{
    w->trial_count = 0;
    add(w, BALE_CODEC_LZ4, 0, CHUNK);
    add(w, BALE_CODEC_ZSTD, 1, CHUNK);
    add(w, BALE_CODEC_ZSTD, -5, CHUNK);
    add(w, BALE_CODEC_ZSTD, 3, 5000);
    add(w, BALE_CODEC_CULZSS, 1, CHUNK);
    add(w, BALE_CODEC_CULZSS, 2, CHUNK);
    for (unsigned symbol_log2 = 0; symbol_log2 < 4; symbol_log2++)
        add(w, BALE_CODEC_GPULZ, bale_gpulz_parameter(symbol_log2, 12, 255), CHUNK - symbol_log2);
    add(w, BALE_CODEC_FSST, 0, CHUNK);
    measure(w);
    for (size_t i = 0; i < w->trial_count; i++) {
        const struct bale_gpu_trial *trial = &w->trials[i];
        bool has = rig_has(&w->rig, trial->codec);
        CHECK_EQ(trial->status, has ? BALE_OK : BALE_E_INVALID);
        if (trial->status == BALE_OK)
            check_figures(w, trial);
    }
}

/* A lossy codec rounds first: what is stored is what the CPU makes of rounded elements. */
static void test_rounding(struct world *w)
{
    static uint8_t exact[DISTINCT][CHUNK + 1];
    struct bale_field field = {.type = BALE_FIELD_F32};
    const double step = 0x1p-6;

    if (w->few)
        return;
    memcpy(&field.step, &step, sizeof step);
    for (size_t i = 0; i < DISTINCT; i++)
        data_fill(DATA_FIELD, i, exact[i], CHUNK);
    w->trial_count = 0;
    add(w, BALE_CODEC_CUSZ, 0, CHUNK);
    w->trials[0].field = field;
    for (size_t i = 0; i < w->count; i++)
        w->chunks[0][i].raw = exact[i % DISTINCT];
    measure(w);
    CHECK_EQ(w->trials[0].status, BALE_OK);
    CHECK(w->trials[0].round_ns > 0 && w->trials[0].round_ns < w->trials[0].encode_ns);
    for (size_t i = 0; i < DISTINCT; i++)
        bale_round_piece(&field, 0, exact[i], exact[i], CHUNK);
    check_figures(w, &w->trials[0]);
}

static void test_not_taken(struct world *w)
{
    w->trial_count = 0;
    add(w, BALE_CODEC_STORE, 0, CHUNK);
    add(w, BALE_CODEC_ZERO, 0, CHUNK);
    add(w, BALE_CODEC_AUTO, 0, CHUNK);
    add(w, BALE_CODEC_ZSTD, 4, CHUNK);
    add(w, BALE_CODEC_GPULZ, BALE_GPULZ_ADAPTIVE | 255, CHUNK);
    add(w, BALE_CODEC_CULZSS, 2, CHUNK + 1);
    add(w, BALE_CODEC_CULZSS, 2, 0);
    measure(w);
    for (size_t i = 0; i < w->trial_count; i++)
        CHECK_EQ(w->trials[i].status, BALE_E_INVALID);
}

/* A chunk that does not shrink counts with its raw length. */
static void test_raw(struct world *w)
{
    for (size_t i = 0; i < DISTINCT; i++)
        data_fill(DATA_RANDOM, i, w->data[i], CHUNK);
    w->trial_count = 0;
    add(w, BALE_CODEC_CULZSS, 2, CHUNK);
    measure(w);
    CHECK_EQ(w->trials[0].status, BALE_OK);
    CHECK_EQ_U(w->trials[0].stored, w->trials[0].measured * CHUNK);
    CHECK(w->trials[0].encode_ns > 0 && w->trials[0].decode_ns > 0);
}

static void test_flip(struct world *w)
{
    if (!w->rig.fault)
        return;
    w->trial_count = 0;
    add(w, BALE_CODEC_CULZSS, 2, CHUNK);
    w->fault = "flip";
    measure(w);
    w->fault = NULL;
    w->rig.fault(NULL);
    CHECK_EQ(w->trials[0].status, BALE_E_CORRUPT);
    measure(w);
    CHECK_EQ(w->trials[0].status, BALE_OK);
}

int main(int argc, char **argv)
{
    static struct world w;

    setvbuf(stdout, NULL, _IOLBF, 0);
    REQUIRE(argc >= 2);
    rig_load(&w.rig, argv[1]);
    rig_say_missing(&w.rig);
    w.few = argc > 2;
    w.count = w.few ? CHUNKS_FEW : CHUNKS;
    REQUIRE(bale_scratch_create(&w.scratch) == BALE_OK);
    for (size_t i = 0; i < DISTINCT; i++)
        data_fill(i % 2 ? DATA_TEXT : DATA_RUNS, i, w.data[i], CHUNK);
    test_codecs(&w);
    test_rounding(&w);
    test_not_taken(&w);
    test_flip(&w);
    test_raw(&w);
    bale_scratch_destroy(w.scratch);
    return check_result();
}
