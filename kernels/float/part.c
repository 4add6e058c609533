#include "format/bytes.h"
#include "format/err.h"
#include "kernels/float/float.h"

enum {
    TYPE_SIZE = 3, /* masks of the first byte */
    TYPE_FLOAT = 1 << 2,
    TYPE_BIG_ENDIAN = 1 << 3,
    TYPE_LEAD_AT = 4,
    TYPE_LEAD = 7, /* mask there */
    TYPE_SINGLES = 1 << 7,
    MANTISSA_MIN = 3, /* with a fixed point */
    DETAIL_BITS = 2,  /* of each order in the byte of details */
    DETAIL_MAX = 2,
};

uint32_t float_part_write(const struct float_layout *layout, uint8_t *out)
{
    out[0] = (uint8_t)(layout->size_log2 | (layout->is_float ? TYPE_FLOAT : 0) |
                       (layout->big_endian ? TYPE_BIG_ENDIAN : 0) | layout->lead << TYPE_LEAD_AT |
                       (layout->singles ? TYPE_SINGLES : 0));
    out[1] = layout->shift;
    bale_put16(out + 2, layout->exponent);
    bale_put32(out + 4, layout->strides[1]);
    bale_put32(out + 8, layout->strides[2]);
    out[12] = (uint8_t)(layout->orders[0] | layout->orders[1] << 3 | layout->orders[2] << 6);
    if (!layout->interpolated)
        return FLOAT_PART;
    out[FLOAT_PART] = (uint8_t)(layout->details[0] | layout->details[1] << DETAIL_BITS);
    return FLOAT_PART_MAX;
}

static bool type_is_right(const struct float_layout *l)
{
    return l->size_log2 >= 1 && (!l->singles || float_may_have_singles(l->size_log2)) &&
           l->lead < 1u << l->size_log2 && l->shift < 8u << l->size_log2 &&
           (!l->is_float || l->shift <= float_mantissa(l->size_log2));
}

static bool axes_are_right(const struct float_layout *l)
{
    const uint8_t *max = l->interpolated ? float_order_max_interpolated : float_order_max;

    for (unsigned i = 0; i < FLOAT_AXES; i++) {
        const bool has_stride = l->orders[i] > 0 || (i == 1 && l->interpolated);
        if (l->orders[i] > max[i] || l->strides[i] > FLOAT_STRIDE_MAX ||
            has_stride != (l->strides[i] != 0))
            return false;
    }
    return l->details[0] <= DETAIL_MAX && l->details[1] <= DETAIL_MAX;
}

int float_part_read(struct bale_extent_part part, struct float_layout *layout)
{
    const uint8_t *p = part.bytes;
    const uint8_t details = part.length == FLOAT_PART_MAX ? p[FLOAT_PART] : 0;

    if ((part.length != FLOAT_PART && part.length != FLOAT_PART_MAX) ||
        details >> 2 * DETAIL_BITS != 0)
        return BALE_E_CORRUPT;
    *layout = (struct float_layout){
        .size_log2 = p[0] & TYPE_SIZE,
        .is_float = (p[0] & TYPE_FLOAT) != 0,
        .big_endian = (p[0] & TYPE_BIG_ENDIAN) != 0,
        .singles = (p[0] & TYPE_SINGLES) != 0,
        .lead = p[0] >> TYPE_LEAD_AT & TYPE_LEAD,
        .shift = p[1],
        .exponent = bale_get16(p + 2),
        .orders = {p[12] & 7, p[12] >> 3 & 7, p[12] >> 6},
        .strides = {(p[12] & 7) != 0, bale_get32(p + 4), bale_get32(p + 8)},
        .interpolated = part.length == FLOAT_PART_MAX,
        .details = {details & ((1 << DETAIL_BITS) - 1), details >> DETAIL_BITS},
    };
    return type_is_right(layout) && axes_are_right(layout) &&
                   (layout->exponent == 0 || float_map_has(layout, layout->exponent))
               ? BALE_OK
               : BALE_E_CORRUPT;
}

/* Digits behind the point, at most: the power of ten is a float itself. Floats of two bytes have
 * none. */
static unsigned digits_max(unsigned size_log2)
{
    return size_log2 == 2 ? 10 : 22;
}

bool float_map_has(const struct float_layout *layout, unsigned exponent)
{
    unsigned mantissa = float_mantissa(layout->size_log2);
    unsigned exponents = 1u << ((8u << layout->size_log2) - 1 - mantissa);

    if ((exponent & FLOAT_DECIMAL) != 0)
        return layout->is_float && layout->size_log2 > 1 && layout->shift == 0 &&
               exponent - FLOAT_DECIMAL <= digits_max(layout->size_log2);
    return layout->is_float && mantissa - layout->shift >= MANTISSA_MIN && exponent >= 1 &&
           exponent < exponents;
}

static unsigned bit_length(uint64_t x)
{
    return x == 0 ? 0 : 64 - (unsigned)__builtin_clzll(x);
}

struct float_map float_map_make(const struct float_layout *layout)
{
    struct float_map map = {.shift = layout->shift,
                            .is_float = layout->is_float,
                            .mantissa = float_mantissa(layout->size_log2) - layout->shift,
                            .is_decimal = (layout->exponent & FLOAT_DECIMAL) != 0,
                            .scale = 1};

    if (map.is_decimal)
        for (unsigned i = layout->exponent - FLOAT_DECIMAL; i > 0; i--)
            map.scale *= 10;
    else
        map.high = layout->exponent;
    if (map.high > 0) {
        map.low = map.high > map.mantissa - 2 ? map.high - (map.mantissa - 2) : 1;
        map.low_bits = bit_length(((uint64_t)map.low << map.mantissa) - 1);
    }
    return map;
}
