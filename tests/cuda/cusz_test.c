/* The CUDA engine's cusz: arrays of all kinds, types, dims and pipelines, in chunks of one cell and
 * of several, rounded before or by the engine, become the CPU's frames to the byte; streams and
 * parts that were made to harm get the CPU's answer.
 *
 * usage: cusz_test PLUGIN [ROUNDS [SEED]]; skipped where there is no GPU. */
#include <math.h>

#define EXACT_LENGTH_MAX 1100000 /* chunks of 1 MiB, and more than one */

#include "format/err.h"
#include "kernels/round/piece.h"
#include "tests/check.h"
#include "tests/codecs/cases.h"
#include "tests/cuda/exact_run.h"

enum { ROUNDS = 40, CHUNK = 65536 };

#define PICK(list, values) (values)[exact_below(list, sizeof(values) / sizeof *(values))]

enum kind {
    WAVES,    /* smooth in three dimensions */
    VOLUME,   /* the same, with something left of two of them */
    WALK,     /* small steps */
    SPARSE,   /* few that are not zero */
    WILD,     /* of all magnitudes */
    PULSES,   /* long runs of zeros */
    EXACT,    /* some are no multiples */
    NAN_EDGE, /* one of so many is near the edge at which the codec is not for them */
    FEW,      /* three values */
    SLOW,     /* one-dimensional, hardly changing */
    NOISE,    /* 12 bits each */
    AGAIN,    /* the same again and again, at distances in and out of reach */
    HOLES,    /* zeros, and few that are no number */
    EDGES,    /* the greatest and the least, between which is the least word of f32 */
    KINDS,
    BURST /* few that are not zero, but for one burst: in add_burst */
};

static uint8_t exact[EXACT_ITEMS][EXACT_LENGTH_MAX]; /* of jobs whose elements are rounded */

/* Multiples of the step, mostly. */
static double value_at(struct exact_items *list, enum kind kind, const struct bale_field *field,
                       uint32_t i, double before)
{
    const uint64_t random = data_next(&list->state);
    const uint64_t row = field->dims[0] ? field->dims[0] : 50;
    const uint64_t rows = field->dims[1] ? field->dims[1] : 40;
    const uint64_t line = i / row, plane = line / rows;
    const double x = (double)(i % row), y = (double)(line % rows), z = (double)plane;

    switch (kind) {
    case WAVES:
        return rint((sin(x * .1) + cos(y * .07) * sin(z * .3)) * 1000);
    case VOLUME:
        return rint(sin(x * .1) * cos(y * .07) * sin(z * .05 + 1) * 1e4);
    case WALK:
        return random % 8 ? before : before + (double)(random >> 8 & 3) - 1;
    case SPARSE:
        return random % 300 ? 0 : (double)(random >> 20 & 4095);
    case WILD:
        return (double)((int64_t)random >> (random & 63));
    case EDGES:
        return copysign(0x1p30 - (random % 4 ? 0 : 64), random % 16 / 4 ? before : -before);
    case PULSES:
        return i % 9973 == 9972;
    case EXACT:
        return rint(sin(x * .1) * 100) + (random % 60 ? 0 : 0.3);
    case NAN_EDGE:
        return random % 17 ? 0 : random >> 10 & 1 ? NAN : 1e30;
    case HOLES:
        return random % 300 ? 0 : NAN;
    case FEW:
        return (double)(random % 3);
    case NOISE:
        return (double)(random % 4096);
    case BURST:
        if (i >= 40960 && i < 40960 + 2000)
            return (double)((int32_t)(random >> 40) - (1 << 23)) * 64;
        return random % 1024 < i / 256 % 7 * 10 ? (double)(random >> 30 & 63) : 0;
    case AGAIN:
        return random % 700 ? (double)(i % (i / 3000 * 37 % 300 + 1) * 7 % 13) : 300000;
    default:
        return rint(sin(i * 1e-5) * 3e5);
    }
}

/* off: by how many steps elements may be off their multiples, either way. */
static void fill(struct exact_items *list, enum kind kind, const struct bale_field *field,
                 double off, uint32_t lead, uint8_t *out, uint32_t length)
{
    const uint32_t size = bale_field_element(field);
    double step, q = 0;

    memcpy(&step, &field->step, sizeof step);
    for (uint32_t i = 0; i < lead && i < length; i++)
        out[i] = (uint8_t)data_next(&list->state);
    memset(out + (lead < length ? lead : length), 't', length > lead ? length - lead : 0);
    for (uint32_t i = 0; lead + (i + 1) * size <= length; i++) {
        uint8_t *to = out + lead + i * size;
        q = value_at(list, kind, field, i, q);
        const double error = off * (double)((int)exact_below(list, 33) - 16) / 16;
        const double x = (q + error) * step + 0.0;
        const float narrow = (float)x;
        if (size == 8)
            memcpy(to, &x, size);
        else
            memcpy(to, &narrow, size);
        for (uint32_t k = 0; field->big_endian && k < size / 2; k++) {
            uint8_t byte = to[k];
            to[k] = to[size - 1 - k];
            to[size - 1 - k] = byte;
        }
    }
}

static struct bale_field any_field(struct exact_items *list)
{
    static const double steps[] = {0x1p-8, 1e-3, 1.7e-5, 3, 0x1p-1000, 0x1p900};
    static const uint32_t rows[] = {1, 2, 5, 64, 100, 257, 300, 1500, 20000};
    static const uint64_t volumes[][BALE_FIELD_DIMS] = {/* in chunks of several cells */
                                                        {100, 100, 90},
                                                        {64, 257, 40},
                                                        {1500, 5, 200},
                                                        {300, 300, 30}};
    struct bale_field field = {.type = exact_below(list, 2) ? BALE_FIELD_F64 : BALE_FIELD_F32};
    const double step = steps[exact_below(list, field.type == BALE_FIELD_F64 ? 6 : 4)];

    memcpy(&field.step, &step, sizeof step);
    field.pipeline = (uint8_t)exact_below(list, BALE_PIPELINES);
    field.big_endian = exact_below(list, 5) == 0;
    field.offset = exact_below(list, 3) ? 0 : exact_below(list, 20);
    if (exact_below(list, 4) == 0) /* the array begins inside the frame */
        field.offset += 4096 + 4 * exact_below(list, 20000);
    for (uint32_t i = exact_below(list, 4), k = 0; k < i; k++)
        field.dims[k] = PICK(list, rows);
    if (exact_below(list, 6) == 0)
        memcpy(field.dims, PICK(list, volumes), sizeof *volumes);
    return field;
}

static uint32_t any_length(struct exact_items *list)
{
    static const uint32_t most[] = {80, 1100, 3000, CHUNK, 140000};

    if (exact_below(list, 12) == 0)
        return 1 + exact_below(list, EXACT_LENGTH_MAX);
    if (exact_below(list, 4) == 0)
        return (1 + exact_below(list, 2)) * CHUNK - 8 + exact_below(list, 1048);
    return 1 + exact_below(list, PICK(list, most));
}

/* rounds: half steps and all between are in the device's memory, and the engine rounds them. */
static void add_job(struct exact_items *list, const struct bale_field *field, uint32_t kind,
                    uint32_t length, bool rounds)
{
    struct exact_job *job = &list->jobs[list->count];
    const uint32_t size = bale_field_element(field);

    *job = (struct exact_job){
        .setting = {.codec = BALE_CODEC_CUSZ, .field = *field},
        .kind = kind,
        .length = length,
        .chunk_log2 = 16,
        .data = exact_data(list, list->count),
        .frame = exact_frame(list, list->count),
    };
    fill(list, job->kind, field, rounds ? 0.5 : 0,
         (uint32_t)((field->offset - exact_frame_of(job).offset) % size), job->data, job->length);
    if (rounds) {
        job->exact = exact[list->count];
        memcpy(job->exact, job->data, job->length);
        bale_round_piece(field, exact_frame_of(job).offset, job->data, job->exact, job->length);
    }
    exact_encode_on_cpu(list, job);
    if (++list->count == EXACT_ITEMS)
        exact_run_jobs(list);
}

static void add_array(struct exact_items *list)
{
    const struct bale_field field = any_field(list);
    const bool volume = field.dims[2] && exact_below(list, 3);
    const uint32_t kind = volume ? VOLUME : exact_below(list, KINDS);

    const bool rounds = exact_below(list, 4) == 0;

    add_job(list, &field, kind, any_length(list), rounds);
}

/* A chunk of 1 MiB with a segment of more bits than one may have: it is made again with shorter
 * segments, all of it by one block. */
static void add_burst(struct exact_items *list)
{
    struct bale_field field = {.type = BALE_FIELD_F32, .dims = {256, 256, 4}};
    const double step = 0.5;

    memcpy(&field.step, &step, sizeof step);
    add_job(list, &field, BURST, 1 << 20, false);
}

/* A chunk with matches in segments of 2^15 words, more than a cell has: no encoder makes these. */
enum { LONG_SEGMENT = 1 << 15, LONG_WORDS = LONG_SEGMENT + 9000, LONG_ROOM = 1 << 17 };

struct long_stream {
    uint8_t stored[LONG_ROOM];
    uint32_t bits;
    int8_t words[LONG_WORDS];
    uint8_t raw[8 * LONG_WORDS];
};

static void add_bits(struct long_stream *s, uint32_t value, unsigned count)
{
    for (; count > 0; count--, s->bits++)
        s->stored[s->bits / 8] |= (uint8_t)((value >> (count - 1) & 1) << (7 - s->bits % 8));
}

/* Of order 1 or 0, and a step of 0.5. Tokens 0 to 12 have codes of 4 bits, 13 to 17 and 143 5. */
static const uint8_t long_part[] = {128,  0,    0,    0,    0,    0,    0,    0,    0xe0, 0x3f,
                                    0x44, 0x44, 0x44, 0x44, 0x44, 0x44, 0x54, 0x55, 0x55, 0xf0,
                                    0xf0, 0xf0, 0xf0, 0xf0, 0xf0, 0xf0, 0xc0, 0x05};

/* Adds a token from word `at` of the segment on, of which `left` are to come. Returns its words. */
static uint32_t add_token(struct exact_items *list, struct long_stream *s, int8_t *words,
                          uint32_t at, uint32_t left)
{
    uint32_t token = exact_below(list, 18);
    const uint32_t low = token == 15 ? 0 : token < 8 ? token : token - 7;
    const uint32_t number = low ? exact_below(list, 1u << low) : 0;
    const uint32_t distance = token < 8 || token == 15 ? 1 : 1 + exact_below(list, 256);
    const uint32_t count = token == 15 ? 257 : 2 + (1u << low) + number;

    if (token > 0 && token < 16 && (count > left || distance > at))
        token = 16;
    add_bits(s, token < 13 ? token : token + 13, token < 13 ? 4 : 5);
    if (token == 0 || token >= 16) {
        *words = token == 0 ? 0 : token == 16 ? -1 : 1;
        return 1;
    }
    add_bits(s, number, low);
    if (token >= 8 && token < 15)
        add_bits(s, distance - 1, 8);
    for (uint32_t i = 0; i < count; i++)
        words[i] = words[(int32_t)(i - distance)];
    return count;
}

static void add_long_stream(struct exact_items *list, bool f64, bool order)
{
    static struct long_stream s;
    const uint32_t ends[] = {0, LONG_SEGMENT, LONG_WORDS}, head = 1 + 2 * 2;
    struct codec_stream stream = {
        .part_length = sizeof long_part, .stored = s.stored, .raw = s.raw};
    uint8_t part[sizeof long_part];
    int32_t sum = 0;

    memset(&s, 0, sizeof s);
    memcpy(part, long_part, sizeof part);
    part[0] |= (uint8_t)(f64 | order << 2);
    s.stored[0] = 15;
    s.bits = 8 * head;
    for (int k = 0; k < 2; k++) {
        const uint32_t begin = s.bits;
        for (uint32_t i = ends[k]; i < ends[k + 1];)
            i += add_token(list, &s, s.words + i, i - ends[k], ends[k + 1] - i);
        bale_put16(s.stored + 1 + 2 * k, (uint16_t)(s.bits - begin));
    }
    for (uint32_t i = 0; i < LONG_WORDS; i++) {
        sum = order ? sum + s.words[i] : s.words[i];
        const double x = sum * 0.5;
        const float narrow = (float)x;
        memcpy(s.raw + (f64 ? 8 : 4) * i, f64 ? (const void *)&x : &narrow, f64 ? 8 : 4);
    }
    stream.part = part;
    stream.length = (s.bits + 7) / 8;
    stream.raw_length = (f64 ? 8 : 4) * LONG_WORDS;
    exact_add_stream(list, BALE_CODEC_CUSZ, &stream);
    REQUIRE(list->jobs[list->count - 1].expected == BALE_OK);
}

static void decode_long_streams(struct exact_items *list)
{
    for (int i = 0; i < 16; i++)
        add_long_stream(list, i & 1, i & 2);
    exact_decode_all(list);
    list->count = 0;
}

int main(int argc, char **argv)
{
    static struct exact_items list;
    const int rounds = argc > 2 ? atoi(argv[2]) : ROUNDS;
    struct rig rig;

    REQUIRE(argc >= 2);
    exact_begin(&list, &rig, argv[1], argc > 3 ? strtoull(argv[3], NULL, 0) : 19);
    exact_decode_streams(&list, codec_case_of(BALE_CODEC_CUSZ));
    decode_long_streams(&list);
    for (int i = 0; i < rounds * EXACT_ITEMS; i++)
        add_array(&list);
    for (int i = 0; i < rounds && i < EXACT_ITEMS / 2; i++)
        add_burst(&list);
    exact_run_jobs(&list);
    return exact_end(&list);
}
