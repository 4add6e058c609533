/* The sections of a chunk (spec.md). */
#include "kernels/float/work.h"

static uint32_t blocks_of(uint32_t count)
{
    return (count + FLOAT_BLOCK - 1) / FLOAT_BLOCK;
}

static uint8_t *append(uint8_t *out, const uint8_t *from, size_t length)
{
    memcpy(out, from, length);
    return out + length;
}

int64_t float_join(const struct float_work *work, const struct float_layout *layout,
                   const uint8_t *raw, uint32_t raw_length, struct float_ends ends,
                   uint32_t bits_length, uint8_t *out, uint32_t capacity)
{
    const uint32_t count = float_elements(layout, raw_length), blocks = blocks_of(count);
    const uint32_t lead = layout->lead < raw_length ? layout->lead : raw_length;
    const uint32_t end = lead + (count << layout->size_log2);
    const size_t deltas = (size_t)(ends.deltas - work->deltas);
    const size_t planes = (size_t)(ends.planes - work->planes);
    const size_t length = lead + (raw_length - end) + blocks + deltas + planes + bits_length;

    if (length > capacity)
        return 0;
    out = append(out, raw, lead);
    out = append(out, raw + end, raw_length - end);
    out = append(out, work->headers, blocks);
    out = append(out, work->deltas, deltas);
    out = append(out, work->planes, planes);
    append(out, work->bits, bits_length);
    return (int64_t)length;
}

/* Reads a block of singles, whose widths are then marked. Returns the bytes of its low bits, or
 * -1. */
static int64_t read_singles(uint8_t header, const uint8_t *deltas, unsigned elements,
                            unsigned size_bits, uint8_t *widths)
{
    unsigned most;
    uint32_t bytes;

    if (!float_singles_read(header, deltas, elements, size_bits, &most, &bytes))
        return -1;
    memset(widths, (int)(FLOAT_SINGLES | most), FLOAT_GROUP);
    return bytes;
}

/* Likewise the widths of a block's groups. */
static int64_t read_groups(uint8_t header, const uint8_t *deltas, unsigned elements,
                           unsigned size_bits, uint8_t *widths)
{
    struct float_widths w;

    if (!float_widths_read(header, deltas, (elements + FLOAT_GROUP - 1) / FLOAT_GROUP, size_bits,
                           &w))
        return -1;
    memcpy(widths, &w.widths, FLOAT_GROUP);
    return float_sum_bytes(w.widths);
}

/* Reads the widths of all groups. Returns the bytes of the deltas and planes, or -1. */
static int64_t read_widths(struct float_work *work, const struct float_layout *layout,
                           const uint8_t *in, const uint8_t *end, uint32_t count,
                           uint32_t *deltas_length)
{
    const unsigned size_bits = 8u << layout->size_log2;
    const uint32_t blocks = blocks_of(count);
    const uint8_t *deltas = in + blocks;
    int64_t planes = 0;

    if (blocks > (size_t)(end - in))
        return -1;
    for (uint32_t i = 0; i < blocks; i++) {
        const uint32_t left = count - i * FLOAT_BLOCK;
        const unsigned elements = left < FLOAT_BLOCK ? left : FLOAT_BLOCK;
        const bool singles = layout->singles && float_is_singles(in[i]);
        const unsigned length = singles ? FLOAT_SINGLES_DELTAS : in[i] >> 6;
        uint8_t *widths = work->widths + (size_t)i * FLOAT_GROUP;
        int64_t its;

        if (length > end - deltas)
            return -1;
        its = singles ? read_singles(in[i], deltas, elements, size_bits, widths)
                      : read_groups(in[i], deltas, elements, size_bits, widths);
        if (its < 0)
            return -1;
        deltas += length;
        planes += its;
    }
    *deltas_length = (uint32_t)(deltas - in) - blocks;
    return planes;
}

bool float_split(struct float_work *work, const struct float_layout *layout, const uint8_t *in,
                 uint32_t length, uint8_t *raw, uint32_t raw_length, struct float_sections *s)
{
    const uint32_t count = float_elements(layout, raw_length);
    const uint32_t lead = layout->lead < raw_length ? layout->lead : raw_length;
    const uint32_t tail = raw_length - lead - (count << layout->size_log2);
    const uint8_t *end = in + length;
    uint32_t deltas;
    int64_t planes;

    if (lead + tail > length)
        return false;
    memcpy(raw, in, lead);
    memcpy(raw + raw_length - tail, in + lead, tail);
    in += lead + tail;
    planes = read_widths(work, layout, in, end, count, &deltas);
    if (planes < 0)
        return false;
    s->headers = in;
    s->deltas = in + blocks_of(count);
    in = s->deltas + deltas;
    if (planes > end - in)
        return false;
    s->planes = in;
    s->planes_length = (uint32_t)planes;
    s->bits = in + planes;
    s->bits_length = (uint32_t)(end - in - planes);
    return true;
}

const uint8_t *float_padded(struct float_work *work, const struct float_sections *s,
                            const uint8_t *from, uint32_t length)
{
    if (s->bits + s->bits_length - from >= (ptrdiff_t)length + FLOAT_PAD)
        return from;
    memcpy(work->bits, from, length);
    memset(work->bits + length, 0, FLOAT_PAD);
    return work->bits;
}

bool float_bits_end(const uint8_t *in, uint32_t length, uint64_t bits)
{
    return (bits + 7) / 8 == length && (bits % 8 == 0 || in[length - 1] >> bits % 8 == 0);
}
