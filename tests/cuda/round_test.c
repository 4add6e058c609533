/* The kernel that rounds on a device gives the bytes of bale_round_piece, for elements of all kinds
 * and arrays that begin anywhere, and finds out which cells have equal bytes.
 *
 * usage: round_test [ROUNDS [SEED]]; skipped where there is no GPU.
 *        round_test --all STEP: every f32 there is, with that step */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "kernels/cuda/test_round.h"
#include "kernels/round/piece.h"
#include "tests/check.h"
#include "tests/unit/kernels/round/draw.h"

enum { FRAMES = 8, CELLS = 40, CELL = BALE_CUDA_CELL, GUARD = 0x5a };

/* Frames, one behind the other, and their cells. */
struct batch {
    struct cuda_frame frames[FRAMES];
    struct cuda_chunk chunks[CELLS];
    struct cuda_result results[CELLS];
    uint8_t cells[CELLS][CELL], expected[CELLS][CELL];
    uint32_t frame_count, cell_count;
};

/* A frame of so many bytes, whose cells are to be filled. Returns the first of them. */
static uint8_t *add_frame(struct batch *b, const struct bale_field *field, uint64_t offset,
                          uint32_t length, bool rounds)
{
    const uint32_t first = b->cell_count;

    b->frames[b->frame_count] = (struct cuda_frame){
        .raw_length = length, .first = first, .rounds = rounds, .field = *field, .offset = offset};
    for (uint32_t at = 0; at < length; at += CELL) {
        b->results[b->cell_count] = (struct cuda_result){.flags = GUARD};
        b->chunks[b->cell_count++] = (struct cuda_chunk){
            .raw_length = length - at < CELL ? length - at : CELL, .frame = b->frame_count};
    }
    b->frame_count++;
    memset(b->cells[first], GUARD, (size_t)(b->cell_count - first) * CELL);
    return b->cells[first];
}

static uint32_t flags_of(const uint8_t *bytes, uint32_t length)
{
    for (uint32_t i = 1; i < length; i++)
        if (bytes[i] != bytes[0])
            return CUDA_MIXED;
    return bytes[0];
}

static void check_cell(const struct batch *b, uint32_t c)
{
    const struct cuda_frame *frame = &b->frames[b->chunks[c].frame];
    const unsigned long before = atomic_load(&check_failures);

    CHECK_EQ_MEM(b->cells[c], b->expected[c], CELL);
    CHECK_EQ_U(b->results[c].flags,
               frame->rounds ? flags_of(b->expected[c], b->chunks[c].raw_length) : GUARD);
    if (atomic_load(&check_failures) != before)
        fprintf(stderr, "type %u, big-endian %d, offset %llu, step %llx; at %llu of the file\n",
                frame->field.type, frame->field.big_endian, (unsigned long long)frame->field.offset,
                (unsigned long long)frame->field.step,
                (unsigned long long)frame->offset + (c - frame->first) * (uint64_t)CELL);
}

static void run(struct batch *b)
{
    memcpy(b->expected, b->cells, sizeof b->cells);
    for (uint32_t f = 0; f < b->frame_count; f++) {
        const struct cuda_frame *frame = &b->frames[f];
        uint8_t *raw = b->expected[frame->first];
        if (frame->rounds)
            bale_round_piece(&frame->field, frame->offset, raw, raw, frame->raw_length);
    }
    REQUIRE(bale_test_round_run(b->chunks, b->cell_count, b->frames, b->frame_count, b->cells[0],
                                b->results));
    for (uint32_t c = 0; c < b->cell_count; c++)
        check_cell(b, c);
    b->frame_count = b->cell_count = 0;
}

/* ---- Elements of all kinds ---- */

static void put(uint8_t *to, uint64_t bits, size_t width, bool big_endian)
{
    for (size_t k = 0; k < width; k++)
        to[big_endian ? width - 1 - k : k] = (uint8_t)(bits >> 8 * k);
}

static void fill(uint8_t *raw, uint32_t length, const struct bale_field *field, uint64_t offset,
                 unsigned kind, double range)
{
    struct bale_rounding rounding;
    const enum bale_round_type type =
        field->type == BALE_FIELD_F64 ? BALE_ROUND_F64 : BALE_ROUND_F32;

    REQUIRE(bale_rounding_make(&rounding, type, field->big_endian, field->step) == BALE_OK);
    const size_t width = bale_rounding_width(&rounding);
    size_t at = (size_t)((field->offset - offset) % width);
    for (size_t i = 0; i < at && i < length; i++)
        raw[i] = (uint8_t)draw();
    for (; at < length; at += width) {
        uint8_t bytes[8];
        put(bytes, draw_element(&rounding, kind, range), width, field->big_endian);
        memcpy(raw + at, bytes, length - at < width ? length - at : width);
    }
}

static struct bale_field any_field(double *range)
{
    struct bale_field field = {.type = draw() % 2 ? BALE_FIELD_F64 : BALE_FIELD_F32,
                               .big_endian = draw() % 3 == 0};
    const enum bale_round_type type =
        field.type == BALE_FIELD_F64 ? BALE_ROUND_F64 : BALE_ROUND_F32;
    double step;

    do {
        *range = draw_range(type);
        step = draw() % 4 ? *range * pow(10, -12 * fabs(draw_real()))
                          : ldexp(1 + fabs(draw_real()), (int)(draw() % 2042) - 1021);
    } while (!(step >= 0x1p-1021 && step <= 0x1p1021));
    memcpy(&field.step, &step, sizeof step);
    field.offset = draw() % 3 ? draw() % 32 * 8 : draw() % 3 * CELL + draw() % 9000;
    return field;
}

static uint32_t any_length(void)
{
    static const uint32_t most[] = {40, 5000, CELL, 5 * CELL};

    return draw() % 8 ? 1 + (uint32_t)(draw() % most[draw() % 4]) : (uint32_t)(4 * CELL);
}

static void add_any(struct batch *b)
{
    const uint64_t offset = draw() % 4 * 4096 + draw() % 2 * CELL;
    const uint32_t length = any_length();
    double range;
    const struct bale_field field = any_field(&range);
    const unsigned kind = (unsigned)(draw() % DRAW_KINDS);

    fill(add_frame(b, &field, offset, length, draw() % 16), length, &field, offset, kind, range);
}

/* ---- Cells that become equal bytes, or nearly ---- */

static void add_small(struct batch *b, uint32_t length, uint32_t large)
{
    const double step = 1;
    struct bale_field field = {.type = BALE_FIELD_F32};
    uint8_t *raw;

    memcpy(&field.step, &step, sizeof step);
    raw = add_frame(b, &field, 0, length, true);
    for (uint32_t at = 0; at + 4 <= length; at += 4) {
        const float x = at == large ? 3 : (float)(draw_real() / 3);
        memcpy(raw + at, &x, 4);
    }
    memset(raw + length / 4 * 4, 0, length % 4);
}

static void test_equal(struct batch *b)
{
    add_small(b, 2 * CELL, UINT32_MAX);
    add_small(b, 2 * CELL, CELL + 40000);
    add_small(b, 2 * CELL, 0);
    add_small(b, 7777, UINT32_MAX);
    add_small(b, 7777, 7772);
    add_small(b, 3, UINT32_MAX);
    run(b);
}

/* ---- Every f32 ---- */

static void test_all(struct batch *b, double step)
{
    struct bale_field field = {.type = BALE_FIELD_F32};

    memcpy(&field.step, &step, sizeof step);
    for (uint64_t next = 0; next <= UINT32_MAX;) {
        uint8_t *raw = add_frame(b, &field, 0, 32 * CELL, true);
        for (uint32_t at = 0; at < 32 * CELL; at += 4, next++) {
            const uint32_t bits = (uint32_t)next;
            memcpy(raw + at, &bits, sizeof bits);
        }
        run(b);
    }
}

int main(int argc, char **argv)
{
    static struct batch batch;
    const bool all = argc > 2 && strcmp(argv[1], "--all") == 0;
    const int rounds = argc > 1 ? atoi(argv[1]) : 500;

    if (!bale_test_round_open(CELLS))
        check_skip("no GPU: its memory cannot be allocated");
    if (all) {
        test_all(&batch, strtod(argv[2], NULL));
        return check_result();
    }
    draw_state = argc > 2 ? strtoull(argv[2], NULL, 0) : 21;
    test_equal(&batch);
    for (int i = 0; i < rounds; i++) {
        while (batch.frame_count < FRAMES && batch.cell_count + 5 <= CELLS)
            add_any(&batch);
        run(&batch);
    }
    return check_result();
}
