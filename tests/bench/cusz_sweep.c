/* Times the parts of codec cusz on one core, compiled with other sizes than streams have
 * (kernels/cusz/sizes.h), for tests/bench/paper-cusz. What it makes stays in memory.
 *
 * usage: cusz_sweep FILE BOUND X Y Z PIPELINE: f32, in extents and chunks of 1 MiB. Prints a JSON
 * object: the sizes, bytes raw and stored, those of the runs of equal codes as tuples of a value and
 * a count, MB/s of the best of RUNS, and nanoseconds an element of each stage, all in CPU time.
 * usage: cusz_sweep bins: microseconds that a codebook of so many different tokens takes. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "format/err.h"
#include "kernels/cusz/cusz.h"
#include "tests/bench/read_file.h"

extern const struct bale_codec bale_codec_cusz;

enum { TUPLE = 4 }; /* bytes: a value and a count of 16 bits, as cuSZ+ has them */
enum { EXTENT = 1 << 20, ELEMENTS = EXTENT / 4, RUNS = 3, BOOKS = 200 };
enum stage {
    ROUND,
    QUANTISE,
    SAMPLE,
    PREDICT,
    COUNT,
    BOOK,
    ENCODE,
    TABLE,
    DECODE,
    SUM,
    RESTORE,
    STAGES
};
static const char *const names[STAGES] = {"round",  "quantise", "sample", "predict",
                                          "count",  "codebook", "encode", "table",
                                          "decode", "sum",      "restore"};

struct extent {
    const uint8_t *exact; /* the file's */
    uint8_t raw[EXTENT], back[EXTENT], part[CUSZ_PART], stored[EXTENT], codes[2 * EXTENT];
    uint8_t lengths[2 * (ELEMENTS >> CUSZ_SEGMENT_MIN)];
    uint32_t words[ELEMENTS];
    uint32_t length, part_length, runs;
    int64_t stored_length; /* 0: raw */
};

/* What is measured. */
struct sweep {
    struct extent *extents;
    size_t count, elements;
    struct bale_rounding rounding;
    struct bale_field field;
    struct cusz_work *work;
    double seconds[STAGES], in, out;
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void note(double *best, double *begin)
{
    const double end = now();

    if (*best <= 0 || end - *begin < *best)
        *best = end - *begin;
    *begin = now();
}

/* The whole codec. False: other bytes came back. */
static bool run_codec(struct sweep *s)
{
    double begin = now();

    for (size_t i = 0; i < s->count; i++) {
        struct extent *e = &s->extents[i];
        const uint64_t at = (uint64_t)i * EXTENT;
        struct bale_extent_part part = {.bytes = e->part};
        int64_t made = bale_codec_cusz.learn(s->work, 0, &s->field, at, EXTENT, e->raw, e->length,
                                             e->part, CUSZ_PART);
        if (made < 0)
            return false;
        part.length = e->part_length = (uint32_t)made;
        e->stored_length = bale_codec_cusz.encode(s->work, 0, part, e->raw, e->length, e->stored,
                                                  e->length - 1 - e->length / 64);
    }
    note(&s->in, &begin);
    for (size_t i = 0; i < s->count; i++) {
        struct extent *e = &s->extents[i];
        const struct bale_extent_part part = {.bytes = e->part, .length = e->part_length};
        if (e->stored_length > 0 &&
            bale_codec_cusz.decode(s->work, 0, part, e->stored, (uint32_t)e->stored_length, e->back,
                                   e->length, EXTENT,
                                   (struct bale_wanted){0, e->length}) != BALE_OK)
            return false;
    }
    note(&s->out, &begin);
    for (size_t i = 0; i < s->count; i++)
        if (s->extents[i].stored_length > 0 &&
            memcmp(s->extents[i].raw, s->extents[i].back, s->extents[i].length) != 0)
            return false;
    return true;
}

/* Runs of equal codes, of at most so many as a tuple counts. */
static uint32_t count_equal(const uint32_t *words, uint32_t count)
{
    uint32_t runs = 0, begin = 0;

    for (uint32_t i = 1; i <= count; i++)
        if (i == count || words[i] != words[begin] || i - begin > UINT16_MAX) {
            runs++;
            begin = i;
        }
    return runs;
}

/* Counts as the pipeline of the part does. */
static void count_tokens(struct sweep *s, const struct cusz_part *part,
                         const struct cusz_folded *folded)
{
    const struct cusz_width *width = cusz_width_of(&s->rounding);
    uint32_t counts[CUSZ_TOKENS] = {0}, others[CUSZ_TOKENS] = {0};

    if (part->codes.matches) {
        width->count_matches(&s->work->matcher, folded, counts, others);
        return;
    }
    width->count(folded, counts, others);
}

static bool decode_segments(struct sweep *s, const struct cusz_part *part, struct extent *e,
                            uint32_t bytes)
{
    const struct cusz_width *width = cusz_width_of(&s->rounding);
    const struct cusz_bits in = {e->codes, bytes};
    const uint32_t count = e->length / 4, log2 = part->segment_log2;
    struct cusz_segment beside[CUSZ_BESIDE] = {{0}};
    uint64_t at = 0;

    memset(s->work->words, 0, e->length);
    for (uint32_t begin = 0, i = 0; begin < count; begin += 1u << log2, i++) {
        const uint64_t end = at + (e->lengths[2 * i] | (unsigned)e->lengths[2 * i + 1] << 8);
        beside[i % CUSZ_BESIDE] = (struct cusz_segment){
            at, end, begin, count - begin < 1u << log2 ? count - begin : 1u << log2};
        at = end;
        if (i % CUSZ_BESIDE < CUSZ_BESIDE - 1 && begin + (1u << log2) < count)
            continue;
        if (!width->decode(&s->work->table, in, beside, s->work->words))
            return false;
        memset(beside, 0, sizeof beside);
    }
    return true;
}

/* The stages of one extent, one after the other; adds what each takes to seconds. */
static bool run_stages(struct sweep *s, struct extent *e, double seconds[STAGES])
{
    const struct cusz_width *width = cusz_width_of(&s->rounding);
    const uint32_t count = e->length / 4;
    uint32_t counts[CUSZ_TOKENS], strides[CUSZ_ORDERS - 1] = {1, 1, 1};
    uint64_t costs[CUSZ_ORDERS] = {0};
    const struct cusz_folded folded = {s->work->folded, s->work->others, count};
    struct cusz_part part;
    uint8_t lengths[CUSZ_TOKENS];
    int64_t bytes;
    double begin;

#define TIMED(stage, what)                                                                         \
    do {                                                                                           \
        begin = now();                                                                             \
        what;                                                                                      \
        seconds[stage] += now() - begin;                                                           \
    } while (0)
    if (cusz_part_read((struct bale_extent_part){e->part, e->part_length}, &part) < 0)
        return true; /* the codec is not for it */
    for (uint32_t i = 0; i < CUSZ_TOKENS; i++)
        counts[i] = part.codes.length[i] ? 1u << (16 - part.codes.length[i]) : 0;
    for (unsigned i = 1; i < part.order; i++)
        strides[i] = part.strides[i];
    memcpy(e->back, e->exact, e->length);
    TIMED(ROUND, bale_round(&s->rounding, e->back, e->back, count));
    TIMED(QUANTISE, width->quantise(&s->rounding, e->raw, count, e->words, NULL, 0));
    TIMED(SAMPLE, width->sample(e->words, count, strides, part.order + 1u, costs));
    TIMED(PREDICT, width->predict(e->words, count, part.strides, part.order, part.turned,
                                  s->work->folded, s->work->others));
    e->runs = count_equal(folded.words, count);
    TIMED(COUNT, count_tokens(s, &part, &folded));
    TIMED(BOOK, (cusz_lengths_huffman(counts, lengths), cusz_codes_make(&part.codes),
                 cusz_puts_make(&part.codes, &s->work->puts)));
    TIMED(ENCODE, bytes = width->encode(&s->work->matcher, &part.codes, &s->work->puts, &folded,
                                        part.segment_log2, e->lengths, e->codes, sizeof e->codes));
    TIMED(TABLE, cusz_table_make(&part.codes, &s->work->table));
    if (bytes < 0)
        return true; /* segments of too many bits */
    bool fine;
    TIMED(DECODE, fine = decode_segments(s, &part, e, (uint32_t)bytes));
    TIMED(SUM, width->sum(s->work->words, count, part.strides, part.order, part.turned));
    TIMED(RESTORE, width->restore(&s->rounding, s->work->words, count, e->back));
#undef TIMED
    return fine;
}

static bool run(struct sweep *s)
{
    for (int run = 0; run < RUNS; run++) {
        double seconds[STAGES] = {0};
        if (!run_codec(s))
            return false;
        for (size_t i = 0; i < s->count; i++)
            if (!run_stages(s, &s->extents[i], seconds))
                return false;
        for (int i = 0; i < STAGES; i++)
            if (run == 0 || seconds[i] < s->seconds[i])
                s->seconds[i] = seconds[i];
    }
    return true;
}

static void print(const struct sweep *s)
{
    const double bytes = 4 * (double)s->elements;
    uint64_t stored = 0, tuples = 0;

    for (size_t i = 0; i < s->count; i++) {
        const struct extent *e = &s->extents[i];
        stored += e->stored_length > 0 ? (uint64_t)e->stored_length + e->part_length : e->length;
        tuples += (uint64_t)e->runs * TUPLE;
    }
    printf("{\"segment_bits\": %d, \"codeword\": %zu, \"raw\": %.0f, \"stored\": %" PRIu64
           ", \"tuples\": %" PRIu64 ", \"compress\": %.1f, \"decompress\": %.1f, \"stages\": {",
           CUSZ_SEGMENT_BITS, 8 * sizeof(cusz_codeword), bytes, stored, tuples,
           bytes / s->in * 1e-6, bytes / s->out * 1e-6);
    for (int i = 0; i < STAGES; i++)
        printf("%s\"%s\": %.4f", i ? ", " : "", names[i],
               s->seconds[i] / (double)s->elements * 1e9);
    printf("}}\n");
}

/* A codebook of so many tokens, whose counts fall off. */
static double time_book(uint32_t bins)
{
    uint32_t counts[CUSZ_TOKENS] = {0};
    struct cusz_codes codes = {.matches = false};
    double best = 0, begin;

    for (uint32_t i = 0; i < bins; i++)
        counts[i] = 1 + (uint32_t)(1e5 * exp(-0.1 * i));
    for (int run = 0; run < RUNS; run++) {
        begin = now();
        for (int i = 0; i < BOOKS; i++) {
            cusz_lengths_huffman(counts, codes.length);
            cusz_codes_make(&codes);
        }
        note(&best, &begin);
    }
    return best / BOOKS * 1e6;
}

static int print_books(void)
{
    static const uint32_t bins[] = {8, 16, 32, 64, 128, 256, CUSZ_TOKENS};

    for (size_t i = 0; i < sizeof bins / sizeof *bins; i++)
        printf("%s\"%u\": %.2f", i ? ", " : "{", bins[i], time_book(bins[i]));
    printf("}\n");
    return 0;
}

static bool prepare(struct sweep *s, char **argv, const uint8_t *bytes, size_t length)
{
    static const char *const pipelines[BALE_PIPELINES] = {"auto", "huffman", "rle", "rle+huffman",
                                                          "gpulz+huffman"};
    const double step = 2 * strtod(argv[2], NULL);

    s->field = (struct bale_field){.type = BALE_FIELD_F32, .pipeline = BALE_PIPELINES};
    for (int i = 0; i < 3; i++)
        s->field.dims[i] = strtoull(argv[3 + i], NULL, 10);
    for (int i = 0; i < BALE_PIPELINES; i++)
        if (strcmp(pipelines[i], argv[6]) == 0)
            s->field.pipeline = (uint8_t)i;
    memcpy(&s->field.step, &step, sizeof step);
    s->count = (length + EXTENT - 1) / EXTENT;
    s->elements = length / 4;
    s->extents = calloc(s->count + 1, sizeof *s->extents);
    if (!s->extents || !length || s->field.pipeline == BALE_PIPELINES ||
        bale_rounding_make(&s->rounding, BALE_ROUND_F32, false, s->field.step) < 0)
        return false;
    for (size_t i = 0; i < s->count; i++) {
        struct extent *e = &s->extents[i];
        e->exact = bytes + i * EXTENT;
        e->length = (uint32_t)(length - i * EXTENT < EXTENT ? length - i * EXTENT : EXTENT);
        memcpy(e->raw, e->exact, e->length);
        bale_round(&s->rounding, e->raw, e->raw, e->length / 4);
    }
    return true;
}

int main(int argc, char **argv)
{
    struct sweep s = {.count = 0};
    size_t length = 0;
    uint8_t *bytes;
    void *work;
    bool fine;

    if (argc == 2 && strcmp(argv[1], "bins") == 0)
        return print_books();
    bytes = argc == 7 ? read_file(argv[1], &length) : NULL;
    if (!bytes || !prepare(&s, argv, bytes, length - length % 4) ||
        bale_codec_cusz.create(&work) != BALE_OK) {
        fprintf(stderr, "usage: cusz_sweep FILE BOUND X Y Z PIPELINE | cusz_sweep bins\n");
        return 2;
    }
    s.work = work;
    fine = run(&s);
    if (fine)
        print(&s);
    else
        fprintf(stderr, "cusz_sweep: %s: other bytes came back than went in\n", argv[1]);
    bale_codec_cusz.destroy(work);
    free(s.extents);
    free(bytes);
    return fine ? 0 : 1;
}
