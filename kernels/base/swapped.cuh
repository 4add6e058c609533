/* The bytes of a word in the other order, on a device. */
#ifndef BALE_KERNELS_BASE_SWAPPED_CUH
#define BALE_KERNELS_BASE_SWAPPED_CUH

#include <stdint.h>

namespace bale_base
{
/* T: uint16_t, uint32_t or uint64_t. */
template <typename T> __device__ inline T swapped(T x)
{
    const uint32_t low = __byte_perm((uint32_t)x, 0, sizeof(T) == 2 ? 0x4401 : 0x0123);

    if (sizeof(T) == 8)
        return (T)((uint64_t)low << 32 | __byte_perm((uint32_t)((uint64_t)x >> 32), 0, 0x0123));
    return (T)low;
}
} // namespace bale_base

#endif
