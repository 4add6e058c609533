#include "kernels/float/work.h"

#define EACH UINT64_C(0x0101010101010101)

struct float_widths float_widths_choose(const uint8_t need[8], unsigned count, unsigned size_bits)
{
    struct float_widths w = {.bits = 0};
    unsigned most = 0, least_cost = UINT32_MAX;

    for (unsigned g = 0; g < count; g++)
        most = need[g] > most ? need[g] : most;
    most = float_code_width(float_width_code(most), size_bits);
    for (unsigned bits = 0; bits <= FLOAT_DELTA_BITS; bits++) {
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
