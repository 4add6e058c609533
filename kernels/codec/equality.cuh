/* Whether the bytes that a block sees are all equal, for a result's flags. */
#ifndef BALE_KERNELS_CODEC_EQUALITY_CUH
#define BALE_KERNELS_CODEC_EQUALITY_CUH

#include <cuda_runtime.h>
#include <stdint.h>

#include "kernels/codec/tables.h"

namespace bale_equality
{
constexpr uint32_t ANYTHING = 0x200; /* the verdict on no bytes */

/* Whether the bytes that a thread has seen are all equal, and to which. */
struct equality {
    bool any;
    uint32_t splat;
    uint32_t differ;
};

__device__ inline void compare_bytes(equality *e, uint4 v)
{
    if (!e->any) {
        e->any = true;
        e->splat = (v.x & 0xff) * 0x01010101u;
    }
    e->differ |= (v.x ^ e->splat) | (v.y ^ e->splat) | (v.z ^ e->splat) | (v.w ^ e->splat);
}

__device__ inline uint32_t verdict(equality e)
{
    if (!e.any)
        return ANYTHING;
    return e.differ ? CUDA_MIXED : e.splat & CUDA_VALUE;
}

/* The verdict of the whole block. Where there are bytes, thread 0 must have seen some. */
__device__ inline uint32_t verdict_of_block(equality e)
{
    __shared__ uint32_t first;
    uint32_t own = verdict(e);

    if (threadIdx.x == 0)
        first = own;
    __syncthreads();
    uint32_t one = first;
    return __syncthreads_and(one != CUDA_MIXED && (own == one || own == ANYTHING)) ? one
                                                                                   : CUDA_MIXED;
}
} // namespace bale_equality

#endif
