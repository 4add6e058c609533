/* fsst on the device: sums over the threads of a block. */
#ifndef BALE_KERNELS_FSST_BLOCK_CUH
#define BALE_KERNELS_FSST_BLOCK_CUH

#include "kernels/codec/warp.cuh"

namespace bale_fsst
{
constexpr unsigned WARPS_MAX = 32;

/* By a block: the sum of the values of the threads before this one; *total: of all. sums: room for
 * WARPS_MAX, in shared memory. */
__device__ inline uint32_t sum_before(uint32_t value, uint32_t *sums, uint32_t *total)
{
    const uint32_t warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const uint32_t upto = bale_warp::inclusive_sum(value);

    if (bale_warp::lane() == 31)
        sums[warp] = upto;
    __syncthreads();
    const uint32_t of_warp = bale_warp::lane() < warps ? sums[bale_warp::lane()] : 0;
    const uint32_t before =
        __reduce_add_sync(bale_warp::ALL, bale_warp::lane() < warp ? of_warp : 0);
    *total = __reduce_add_sync(bale_warp::ALL, of_warp);
    __syncthreads();
    return before + upto - value;
}

/* By a block: the sum of all threads' values. */
__device__ inline uint32_t sum_of_all(uint32_t value, uint32_t *sums)
{
    const uint32_t warps = blockDim.x / 32;
    const uint32_t of_this = __reduce_add_sync(bale_warp::ALL, value);

    if (bale_warp::lane() == 0)
        sums[threadIdx.x / 32] = of_this;
    __syncthreads();
    const uint32_t all =
        __reduce_add_sync(bale_warp::ALL, bale_warp::lane() < warps ? sums[bale_warp::lane()] : 0);
    __syncthreads();
    return all;
}
} // namespace bale_fsst

#endif
