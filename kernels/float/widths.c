#include "kernels/float/work.h"

#define EACH UINT64_C(0x0101010101010101)

struct float_widths float_widths_choose(const uint8_t need[8], unsigned count, unsigned most,
                                        unsigned as_singles)
{
    struct float_widths w = {.bits = 0};
    unsigned least_cost = as_singles > 0 ? as_singles : UINT32_MAX;

    for (unsigned bits = as_singles > 0; bits <= FLOAT_DELTA_BITS; bits++) {
        unsigned range = (1u << bits) - 1, floor = most > range ? most - range : 0, cost = bits;
        for (unsigned g = 0; g < count; g++)
            cost += need[g] > floor ? need[g] : floor;
        if (cost < least_cost)
            least_cost = cost, w.bits = bits;
    }
    w.header = (uint8_t)(float_width_code(most) | w.bits << 6);
    for (unsigned g = 0; g < count; g++) {
        unsigned range = (1u << w.bits) - 1, floor = most > range ? most - range : 0;
        unsigned width = need[g] > floor ? need[g] : floor;
        w.widths |= (uint64_t)width << 8 * g;
        w.deltas |= (uint64_t)(most - width) << 8 * g;
    }
    return w;
}

bool float_widths_read(uint8_t header, const uint8_t *deltas, unsigned count, unsigned size_bits,
                       struct float_widths *w)
{
    unsigned most = float_code_width(header & 63, size_bits);
    uint64_t there = count == FLOAT_GROUP ? UINT64_MAX : (UINT64_C(1) << 8 * count) - 1;

    *w = (struct float_widths){.header = header, .bits = header >> 6};
    for (unsigned k = 0; k < w->bits; k++)
        w->deltas |= float_spread_bits(deltas[k]) << k;
    w->widths = most * EACH - w->deltas;
    if (most > size_bits || (w->widths & EACH * 0x80) != 0 || (w->deltas & ~there) != 0)
        return false;
    w->widths &= there;
    return true;
}

/* How many of the bits of each byte are set, as bytes. */
static uint64_t count_bits(uint64_t x)
{
    const uint64_t twos = x - (x >> 1 & EACH * 0x55);
    const uint64_t fours = (twos & EACH * 0x33) + (twos >> 2 & EACH * 0x33);

    return (fours + (fours >> 4)) & EACH * 0x0f;
}

bool float_singles_read(uint8_t header, const uint8_t deltas[FLOAT_SINGLES_DELTAS], unsigned count,
                        unsigned size_bits, unsigned *most, uint32_t *bytes)
{
    const uint64_t there = UINT64_MAX >> (FLOAT_BLOCK - count);
    const uint64_t low = bale_get64(deltas), middle = bale_get64(deltas + 8),
                   high = bale_get64(deltas + 16), zeros = low & middle & high;
    /* Less one of the class before the last. */
    const uint64_t classes = count_bits(low) + 2 * count_bits(middle) + 4 * count_bits(high) -
                             count_bits(middle & high & ~low);
    uint32_t bits;

    *most = float_code_width(header, size_bits);
    if (*most > size_bits || (zeros | there) != UINT64_MAX)
        return false;
    bits = FLOAT_BLOCK * (*most - 1) - float_sum_bytes(classes) -
           (*most - FLOAT_CLASSES - 1) * float_sum_bytes(count_bits(zeros));
    *bytes = (bits + 7) / 8;
    return true;
}
