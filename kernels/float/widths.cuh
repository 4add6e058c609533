/* float on the device: widths of groups (spec.md, Chunk), and what stands for them in blocks of
 * singles. */
#ifndef BALE_KERNELS_FLOAT_WIDTHS_CUH
#define BALE_KERNELS_FLOAT_WIDTHS_CUH

#include "kernels/float/layout.cuh"

namespace bale_float
{
constexpr uint32_t BLOCKS_MAX = BALE_CUDA_CELL / sizeof(uint16_t) / FLOAT_BLOCK;
static_assert(BLOCKS_MAX <= THREADS, "a thread for each block of elements");

constexpr uint64_t EVERY = UINT64_C(0x0101010101010101);

constexpr uint32_t CLASS_BITS = FLOAT_SINGLES_DELTAS / sizeof(uint64_t);

/* Classes of singles: bit i of each in word i, of a block's elements or of a group's. */
template <typename W> struct classes {
    W bit[CLASS_BITS];

    __device__ uint32_t at(uint32_t k) const
    {
        return (uint32_t)(bit[0] >> k & 1) | (uint32_t)(bit[1] >> k & 1) << 1 |
               (uint32_t)(bit[2] >> k & 1) << 2;
    }

    __device__ void set(uint32_t k, uint32_t its)
    {
#pragma unroll
        for (uint32_t i = 0; i < CLASS_BITS; i++)
            bit[i] |= (W)(its >> i & 1) << k;
    }
};

/* The widths of a block's groups, and deltas: a byte for each group. Of singles widths is what
 * widths_of_singles makes, and there are no deltas. */
struct widths {
    uint64_t widths, deltas;
    uint32_t header, bits;     /* bits: bytes of deltas in the chunk */
    classes<uint64_t> singles; /* if they are decoded */
};

/* The code of a width, at most 63, and the width. */
__device__ inline uint32_t code_of_width(uint32_t width)
{
    return min(width, 63u);
}

__device__ inline uint32_t width_of_code(uint32_t code, unsigned size_bits)
{
    return size_bits == 64 && code == 63 ? 64 : code;
}

__device__ inline uint32_t sum_of_bytes(uint64_t bytes)
{
    const uint64_t pairs = UINT64_C(0x00ff00ff00ff00ff);

    return (uint32_t)(((bytes & pairs) + (bytes >> 8 & pairs)) * UINT64_C(0x0001000100010001) >>
                      48);
}

/* In place of widths: the longest number's bits, and how many low bits there are; the place of the
 * block's deltas may be added. */
constexpr uint64_t OF_SINGLES = UINT64_C(1) << 63;
constexpr unsigned LONGEST_AT = 48, DELTAS_AT = 16;

__device__ inline uint64_t widths_of_singles(uint32_t most, uint32_t bits)
{
    return OF_SINGLES | (uint64_t)most << LONGEST_AT | (bits + 7) / 8;
}

__device__ inline bool is_of_singles(uint64_t widths)
{
    return (widths & OF_SINGLES) != 0;
}

__device__ inline uint32_t longest_of(uint64_t widths)
{
    return (uint32_t)(widths >> LONGEST_AT) & 0xff;
}

__device__ inline uint32_t deltas_of(uint64_t widths)
{
    return (uint32_t)(widths >> DELTAS_AT);
}

/* With the place of the deltas, of singles. */
__device__ inline uint64_t with_deltas(uint64_t widths, uint32_t at)
{
    return is_of_singles(widths) ? widths | (uint64_t)at << DELTAS_AT : widths;
}

/* Bytes of a block's planes. */
__device__ inline uint32_t planes_length(uint64_t widths)
{
    return is_of_singles(widths) ? (uint32_t)widths & 0xffff : sum_of_bytes(widths);
}

/* The sum of the first `count` bytes, less than 8. */
__device__ inline uint32_t sum_of_first(uint64_t bytes, uint32_t count)
{
    return sum_of_bytes(bytes & ((UINT64_C(1) << 8 * count) - 1));
}

/* Bytes of groups that are there. */
__device__ inline uint64_t bytes_there(uint32_t groups)
{
    return groups >= 8 ? UINT64_MAX : (UINT64_C(1) << 8 * groups) - 1;
}

/* Groups of a block of a chunk with so many elements. */
__device__ inline uint32_t groups_there(uint32_t count, uint32_t block)
{
    const uint32_t first = block * FLOAT_BLOCK;

    return first >= count ? 0 : min((count - first + FLOAT_GROUP - 1) / FLOAT_GROUP, 8u);
}

/* Reads the deltas at `in`. False: a rule is broken. */
__device__ inline bool read_widths(uint32_t header, const uint8_t *in, uint32_t groups,
                                   unsigned size_bits, widths *w)
{
    const uint32_t most = width_of_code(header & 63, size_bits);
    const uint64_t there = bytes_there(groups);

    w->deltas = 0;
    for (uint32_t k = 0; k < header >> 6; k++) /* float_spread_bits (work.h) */
        w->deltas |= (((in[k] * EVERY & UINT64_C(0x8040201008040201)) + EVERY * 0x7f) >> 7 & EVERY)
                     << k;
    w->widths = most * EVERY - w->deltas;
    if (most > size_bits || (w->widths & EVERY * 0x80) != 0 || (w->deltas & ~there) != 0)
        return false;
    w->widths &= there;
    return true;
}

/* What `groups` groups that need so many bits take with deltas of `bits` bits. */
__device__ inline uint32_t cost_of(uint64_t need, uint32_t groups, uint32_t most, uint32_t bits)
{
    const uint32_t range = (1u << bits) - 1, least = most > range ? most - range : 0;
    uint32_t cost = bits;

#pragma unroll
    for (uint32_t g = 0; g < 8; g++)
        if (g < groups)
            cost += max((uint32_t)(need >> 8 * g & 0xff), least);
    return cost;
}

/* The widths that take the fewest bytes. low_bits: what singles need. */
__device__ inline widths choose_widths(uint64_t need, uint32_t groups, unsigned size_bits,
                                       uint32_t low_bits)
{
    widths w = {};
    uint32_t most = 0, least_cost = UINT32_MAX;

#pragma unroll
    for (uint32_t g = 0; g < 8; g++)
        if (g < groups)
            most = max(most, (uint32_t)(need >> 8 * g & 0xff));
    const uint32_t code = code_of_width(most);
    most = width_of_code(code, size_bits);
    const bool has_singles = size_bits > FLOAT_SINGLES_ABOVE && most > FLOAT_SINGLES_ABOVE;
    if (has_singles)
        least_cost = FLOAT_SINGLES_DELTAS + (low_bits + 7) / 8;
    for (uint32_t bits = has_singles; bits <= FLOAT_DELTA_BITS; bits++) {
        const uint32_t cost = cost_of(need, groups, most, bits);
        if (cost < least_cost)
            least_cost = cost, w.bits = bits;
    }
    w.header = code | w.bits << 6;
    if (has_singles && w.bits == 0) {
        w.widths = widths_of_singles(most, low_bits);
        w.bits = FLOAT_SINGLES_DELTAS;
        return w;
    }
    const uint32_t range = (1u << w.bits) - 1, least = most > range ? most - range : 0;
#pragma unroll
    for (uint32_t g = 0; g < 8; g++) {
        const uint32_t width = max((uint32_t)(need >> 8 * g & 0xff), least);
        w.widths |= (uint64_t)(g < groups ? width : 0) << 8 * g;
        w.deltas |= (uint64_t)(g < groups ? most - width : 0) << 8 * g;
    }
    return w;
}

/* Byte k of a block's deltas: bit k of each. */
__device__ inline uint8_t delta_byte(uint64_t deltas, uint32_t k)
{
    return (uint8_t)((deltas >> k & EVERY) * UINT64_C(0x0102040810204080) >> 56);
}
} // namespace bale_float

#endif
