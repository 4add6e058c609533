/* The CUDA engine's codec float against the CPU's: arrays of each type, with and without what is
 * known of them, and chunks with extent parts that no encoder would choose.
 *
 * usage: float_test PLUGIN [ROUNDS]; skipped where there is no GPU. */
#define EXACT_LENGTH_MAX 600000
#include "format/err.h"
#include "tests/check.h"
#include "tests/cuda/exact_run.h"
#include "tests/cuda/float_items.h"

enum { CHUNK = 65536, LONG_CHUNK = 4 * CHUNK, PART = 13, PART_MAX = 14, ROUNDS = 40 };

static uint32_t pick(struct exact_items *list, const uint32_t *from, uint32_t count)
{
    return from[exact_below(list, count)];
}

#define PICK(list, from) pick(list, from, sizeof(from) / sizeof((from)[0]))

static struct float_array any_array(struct exact_items *list)
{
    static const uint32_t rows[] = {1,   2,   3,   5,   8,   13,  31,  32,   40,   64,  100,
                                    255, 256, 257, 300, 511, 513, 777, 1000, 4096, 5000};
    static const uint32_t heights[] = {1, 3, 8, 11, 20, 64};

    return (struct float_array){
        .type = (enum bale_field_type)(BALE_FIELD_F32 + exact_below(list, 5)),
        .kind = (enum float_kind)exact_below(list, FLOAT_KINDS),
        .big_endian = exact_below(list, 3) == 0,
        .row = PICK(list, rows),
        .rows = PICK(list, heights),
        .digits = exact_below(list, 7),
        .noise = 1 + exact_below(list, 14),
        .state = data_next(&list->state),
    };
}

/* In rows that may be interpolated. */
static struct float_array any_rows(struct exact_items *list)
{
    static const uint32_t rows[] = {32, 33, 40, 64, 100, 128, 255, 256, 257, 300, 511, 513, 600};
    static const uint32_t heights[] = {40, 64, 256, 1000};
    static const uint32_t kinds[] = {FLOAT_WAVES, FLOAT_WAVES, FLOAT_WAVES, FLOAT_NOISY,
                                     FLOAT_DECIMALS};
    struct float_array array = any_array(list);

    array.kind = (enum float_kind)PICK(list, kinds);
    array.row = PICK(list, rows);
    array.rows = PICK(list, heights);
    return array;
}

static uint32_t any_length(struct exact_items *list, uint32_t chunk)
{
    static const uint32_t most[] = {80, 1100, 3000, CHUNK, 2 * CHUNK + 3000};

    if (chunk > CHUNK && exact_below(list, 4) > 0)
        return exact_below(list, 2)
                   ? 1 + exact_below(list, EXACT_LENGTH_MAX)
                   : (1 + exact_below(list, 8)) * CHUNK - 8 + exact_below(list, 1048);

    if (exact_below(list, 4) == 0)
        return (1 + exact_below(list, 2)) * CHUNK - 8 + exact_below(list, 1048);
    return 1 + exact_below(list, PICK(list, most));
}

/* What a user says about the array, or nothing. Large planes make chunks of several cells. */
static struct bale_field any_field(struct exact_items *list, const struct float_array *a,
                                   uint32_t lead)
{
    struct bale_field field = {0};

    if (exact_below(list, 2) == 0)
        return field;
    field.type = (uint8_t)a->type;
    field.big_endian = a->big_endian;
    field.offset = lead;
    if (exact_below(list, 3) > 0) {
        field.dims[0] = a->row;
        if (exact_below(list, 3) > 0)
            field.dims[1] = a->rows;
        if (field.dims[1] > 0 && exact_below(list, 2) == 0)
            field.dims[2] = 1 + exact_below(list, 9);
    }
    return field;
}

static bool is_interpolated(const struct exact_job *job)
{
    struct bale_frame head;

    return bale_frame_head_decode(job->frame, job->frame_length, &head) == BALE_OK &&
           head.codec == BALE_CODEC_FLOAT && head.part.stored == PART_MAX;
}

/* Returns whether its rows are interpolated. */
static bool add_array(struct exact_items *list, struct float_array array)
{
    struct exact_job *job = &list->jobs[list->count];
    const uint32_t size = bale_field_element(&(struct bale_field){.type = (uint8_t)array.type});
    const uint32_t lead = exact_below(list, 2) ? exact_below(list, size) : 0;

    *job = (struct exact_job){
        .setting = {.codec = BALE_CODEC_FLOAT, .field = any_field(list, &array, lead)},
        .kind = (unsigned)array.kind,
        .chunk_log2 = 16,
        .data = exact_data(list, list->count),
        .frame = exact_frame(list, list->count),
    };
    job->length = any_length(list, 1u << bale_codec_chunk_log2(&job->setting, 16));
    float_fill(&array, lead, job->data, job->length);
    exact_encode_on_cpu(list, job);
    const bool is = is_interpolated(job);
    if (++list->count == EXACT_ITEMS)
        exact_run_jobs(list);
    return is;
}

/* ---- Parts that were not chosen ---- */

/* Rows of the array that are interpolated, whether that suits it or not. */
static uint32_t interpolated_part(struct exact_items *list, const struct float_array *a,
                                  uint8_t part[PART_MAX])
{
    const uint32_t size = bale_field_element(&(struct bale_field){.type = (uint8_t)a->type});
    const bool is_float = a->type == BALE_FIELD_F32 || a->type == BALE_FIELD_F64;
    const bool singles = size > 2 && exact_below(list, 2) == 0;
    uint32_t exponent = 0;

    if (is_float && a->kind == FLOAT_DECIMALS)
        exponent = 0x8000 | a->digits;
    else if (is_float && exact_below(list, 2) == 0)
        exponent = (size == 4 ? 100 : 1000) + exact_below(list, 60);
    part[0] = (uint8_t)((size == 8 ? 3 : size / 2) | (is_float ? 4u : 0) |
                        (a->big_endian ? 8u : 0) | (singles ? 0x80u : 0));
    part[1] = 0;
    bale_put16(part + 2, (uint16_t)exponent);
    bale_put32(part + 4, exact_below(list, 40) ? a->row : 1 << 26);
    bale_put32(part + 8, 0);
    part[12] = (uint8_t)(exact_below(list, 5) | exact_below(list, 3) << 3);
    part[PART] = (uint8_t)(exact_below(list, 3) | exact_below(list, 3) << 2);
    return PART_MAX;
}

/* Any. Returns its length. */
static uint32_t plain_part(struct exact_items *list, uint8_t part[PART_MAX])
{
    static const uint32_t strides[] = {1,   2,   3,   7,   64,  255,  256,   257,
                                       400, 512, 513, 700, 999, 5000, 20000, 1 << 26};
    const uint32_t log2 = 1 + exact_below(list, 3), is_float = exact_below(list, 4) > 0;
    const uint32_t mantissa = log2 == 1 ? 10 : log2 == 2 ? 23 : 52;
    const uint32_t y = exact_below(list, 2) * exact_below(list, 5), z = exact_below(list, 4);
    const uint32_t exponents = 1u << ((8u << log2) - 1 - mantissa);
    uint32_t shift = exact_below(list, 3) == 0 ? exact_below(list, mantissa - 2) : 0, exponent = 0;

    if (is_float && exact_below(list, 3) > 0)
        exponent = 1 + exact_below(list, exponents - 1);
    if (is_float && log2 > 1 && exact_below(list, 4) == 0)
        exponent = 0x8000 | exact_below(list, 11), shift = 0;
    part[0] = (uint8_t)(log2 | is_float << 2 | exact_below(list, 2) << 3 |
                        exact_below(list, 1u << log2) << 4 |
                        (log2 > 1 && exact_below(list, 3) > 0 ? 0x80u : 0));
    part[1] = (uint8_t)shift;
    bale_put16(part + 2, (uint16_t)exponent);
    bale_put32(part + 4, y > 0 ? PICK(list, strides) : 0);
    bale_put32(part + 8, z > 0 ? PICK(list, strides) : 0);
    part[12] = (uint8_t)(exact_below(list, 5) | y << 3 | z << 6);
    return PART;
}

/* Mostly one that keeps the rules. Returns its length. */
static uint32_t any_part(struct exact_items *list, const struct float_array *a,
                         uint8_t part[PART_MAX])
{
    const uint32_t length =
        exact_below(list, 3) == 0 ? interpolated_part(list, a, part) : plain_part(list, part);

    if (exact_below(list, 12) == 0)
        part[exact_below(list, length)] ^= (uint8_t)(1u << exact_below(list, 8));
    return length;
}

static void decode_streams(struct exact_items *list)
{
    exact_decode_all(list);
    list->count = 0;
}

/* A chunk of so many bytes at most that the CPU encodes with a part, or else some bytes, for the
 * decoder. */
static void add_part(struct exact_items *list, uint32_t longest)
{
    static uint8_t stored[LONG_CHUNK], raw[LONG_CHUNK];
    const struct bale_codec *codec = bale_codec_find(BALE_CODEC_FLOAT);
    struct float_array array = any_array(list);
    uint8_t part[PART_MAX];
    const uint32_t most[] = {3000, 3000, CHUNK, longest};
    uint32_t length = 40 + exact_below(list, PICK(list, most) - 40);
    int64_t packed;

    const uint32_t part_length = any_part(list, &array, part);
    float_fill(&array, 0, raw, length);
    packed = codec->encode(bale_scratch_work(list->scratch, codec->id), 0,
                           (struct bale_extent_part){part, part_length}, raw, length, stored,
                           length - 1);
    if (packed <= 0) {
        packed = 1 + exact_below(list, length - 1);
        for (int64_t i = 0; i < packed; i++)
            stored[i] = (uint8_t)(exact_below(list, 4) ? 0 : data_next(&list->state));
    }
    exact_add_stream(list, BALE_CODEC_FLOAT,
                     &(struct codec_stream){.part = part,
                                            .part_length = part_length,
                                            .stored = stored,
                                            .length = (uint32_t)packed,
                                            .raw = raw,
                                            .raw_length = length});
    if (list->count == EXACT_ITEMS)
        decode_streams(list);
}

int main(int argc, char **argv)
{
    static struct exact_items list;
    const int rounds = argc > 2 ? atoi(argv[2]) : ROUNDS;
    int interpolated = 0;
    struct rig rig;

    REQUIRE(argc >= 2);
    exact_begin(&list, &rig, argv[1], argc > 3 ? strtoull(argv[3], NULL, 0) : 5);
    for (int i = 0; i < rounds * EXACT_ITEMS; i++)
        add_part(&list, i / EXACT_ITEMS % 2 == 0 ? LONG_CHUNK : CHUNK);
    decode_streams(&list);
    for (int i = 0; i < rounds * EXACT_ITEMS; i++)
        interpolated += add_array(&list, i % 2 == 0 ? any_array(&list) : any_rows(&list));
    CHECK(interpolated >= rounds * EXACT_ITEMS / 64);
    return exact_end(&list);
}
