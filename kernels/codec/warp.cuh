/* The lanes of a warp, and sums over them. Every function is called by all 32 lanes of a warp
 * together. */
#ifndef BALE_KERNELS_CODEC_WARP_CUH
#define BALE_KERNELS_CODEC_WARP_CUH

#include <stdint.h>

namespace bale_warp
{
constexpr unsigned ALL = 0xffffffffu; /* the mask of all lanes */

__device__ inline uint32_t lane()
{
    return threadIdx.x % 32;
}

/* The mask of the lanes before this one. */
__device__ inline uint32_t lower_lanes()
{
    return (1u << lane()) - 1;
}

/* The sum of the values of the lanes up to this one, this one included. */
__device__ inline uint32_t inclusive_sum(uint32_t value)
{
    for (uint32_t by = 1; by < 32; by *= 2) {
        const uint32_t other = __shfl_up_sync(ALL, value, by);
        if (lane() >= by)
            value += other;
    }
    return value;
}

/* Turns sizes[0, count) into offsets, the first of which is start, and sets sizes[count] to the
 * end of the last. Returns that end. A block whose other warps read the offsets synchronizes
 * afterwards. */
__device__ inline uint32_t offsets_from_sizes(uint32_t *sizes, uint32_t count, uint32_t start)
{
    for (uint32_t first = 0; first < count; first += 32) {
        const uint32_t k = first + lane(), size = k < count ? sizes[k] : 0;
        const uint32_t end = start + inclusive_sum(size);
        if (k < count)
            sizes[k] = end - size;
        start = __shfl_sync(ALL, end, 31);
    }
    if (lane() == 0)
        sizes[count] = start;
    return start;
}
} // namespace bale_warp

#endif
