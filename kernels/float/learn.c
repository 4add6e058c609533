#include "kernels/float/learn.h"

/* The elements of the chunk at a byte of the extent. */
static uint32_t count_of_chunk(const struct float_extent *extent, uint32_t chunk)
{
    const uint32_t left = extent->length - chunk;

    return float_elements(extent->layout, left < extent->chunk ? left : extent->chunk);
}

/* The chunk of a window; *first is the window's first element, as if the chunk did not end, and
 * *count how many it has. */
static const uint8_t *find_window(const struct float_extent *extent, unsigned window,
                                  uint32_t *first, uint32_t *count)
{
    const uint64_t from = (uint64_t)(float_used(extent) - 1) * window / (FLOAT_WINDOWS - 1);
    const uint32_t chunk = (uint32_t)from / extent->chunk * extent->chunk;

    *first = ((uint32_t)from - chunk) >> extent->layout->size_log2;
    *count = count_of_chunk(extent, chunk);
    return extent->raw + chunk + extent->layout->lead;
}

const uint8_t *float_window(const struct float_extent *extent, unsigned window, uint32_t *first)
{
    uint32_t count;
    const uint8_t *chunk = find_window(extent, window, first, &count);

    if (*first > count - FLOAT_BLOCK)
        *first = count - FLOAT_BLOCK;
    return chunk;
}

bool float_can_interpolate(const struct float_extent *extent, uint32_t row)
{
    const uint32_t last = (float_used(extent) - 1) / extent->chunk * extent->chunk;

    return row >= FLOAT_INTERPOLATED_ROW &&
           count_of_chunk(extent, last) / FLOAT_INTERPOLATED_ROWS >= row;
}

uint32_t float_edges_cost(const struct float_extent *extent, uint32_t row, uint32_t cost)
{
    const uint32_t chunk = extent->length < extent->chunk ? extent->length : extent->chunk;

    return cost / ((chunk >> extent->layout->size_log2) / row / FLOAT_EDGES);
}

const uint8_t *float_inner_window(const struct float_extent *extent, unsigned window, uint32_t row,
                                  uint32_t *first)
{
    uint32_t count;
    const uint8_t *chunk = find_window(extent, window, first, &count);

    if (*first < FLOAT_AROUND * row)
        *first = FLOAT_AROUND * row;
    if (*first > count - FLOAT_BLOCK - FLOAT_AROUND * row)
        *first = count - FLOAT_BLOCK - FLOAT_AROUND * row;
    return chunk;
}

const uint8_t *float_middle_chunk(const struct float_extent *extent, uint32_t *length)
{
    const uint32_t chunks = (float_used(extent) + extent->chunk - 1) / extent->chunk;
    const uint32_t at = (chunks - 1) / 2 * extent->chunk, left = extent->length - at;

    *length = (left < extent->chunk ? left : extent->chunk) - extent->layout->lead;
    return extent->raw + at + extent->layout->lead;
}

bool float_gains(uint32_t bits, unsigned size_bits)
{
    const uint32_t raw = FLOAT_WINDOWS * (FLOAT_BLOCK - FLOAT_HISTORY) * size_bits;

    return bits + FLOAT_WINDOWS * 2 * (FLOAT_BLOCK - FLOAT_HISTORY) / FLOAT_GROUP < raw - raw / 64;
}

/* Type and place of the elements that a field names. */
static void take_type(const struct bale_field *field, uint64_t offset, struct float_layout *layout)
{
    const uint32_t size = bale_field_element(field);

    *layout = (struct float_layout){
        .size_log2 = (uint8_t)__builtin_ctz(size),
        .is_float = field->type == BALE_FIELD_F32 || field->type == BALE_FIELD_F64,
        .big_endian = field->big_endian,
        .lead = (uint8_t)((field->offset - offset) % size),
    };
}

/* Rows and planes that a field names. */
static void take_rows(const struct bale_field *field, struct float_extent *extent)
{
    const uint64_t *dims = field->dims;

    extent->flat = dims[0] > 0;
    if (dims[1] > 1 && dims[0] <= FLOAT_STRIDE_MAX)
        extent->row = (uint32_t)dims[0];
    if (extent->row > 0 && dims[2] > 1 && dims[1] <= FLOAT_STRIDE_MAX / dims[0])
        extent->plane = (uint32_t)(dims[0] * dims[1]);
}

bool float_learn(struct float_work *work, const struct float_steps *steps,
                 const struct bale_field *field, uint64_t offset, const uint8_t *raw,
                 uint32_t length, struct float_layout *layout)
{
    const struct bale_setting setting = {.codec = BALE_CODEC_FLOAT, .field = *field};
    struct float_extent extent = {
        .work = work,
        .raw = raw,
        .length = length,
        .chunk = 1u << bale_codec_chunk_log2(&setting, BALE_CHUNK_LOG2_DEFAULT),
        .layout = layout,
    };

    if (length < FLOAT_LEAST)
        return false;
    if (bale_field_element(field) == 0)
        float_find_type(steps, raw, length, layout);
    else
        take_type(field, offset, layout);
    layout->singles = float_may_have_singles(layout->size_log2);
    take_rows(field, &extent);
    steps += layout->size_log2 - 1;
    return steps->choose(&extent);
}
