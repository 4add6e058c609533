/* float on the device: sums over a block, spans of elements, and copies. */
#ifndef BALE_KERNELS_FLOAT_BLOCK_CUH
#define BALE_KERNELS_FLOAT_BLOCK_CUH

#include "kernels/codec/warp.cuh"
#include "kernels/float/layout.cuh"

namespace bale_float
{
/* Of this block. */
__device__ inline unsigned warps()
{
    return blockDim.x / 32;
}

/* Room for a value of each warp. */
struct warp_values {
    uint64_t of[THREADS_MAX / 32];
};

/* What the lanes' values are added up in. */
template <typename T> struct wide {
    using type = uint32_t;
};
template <> struct wide<uint64_t> {
    using type = uint64_t;
};

template <typename S> __device__ inline S sum_of_lanes(S value)
{
    for (unsigned by = 16; by > 0; by /= 2)
        value += __shfl_xor_sync(bale_warp::ALL, value, by);
    return value;
}

/* The sum of the values of the lanes up to this one, this one included. */
template <typename S> __device__ inline S sum_upto(S value)
{
    for (unsigned by = 1; by < 32; by *= 2) {
        const S other = __shfl_up_sync(bale_warp::ALL, value, by);
        if (bale_warp::lane() >= by)
            value += other;
    }
    return value;
}

/* By a block, with a value of each warp (the same in all lanes): the sum of those of the warps
 * before; *total: of all. */
template <typename S> __device__ inline S sum_of_warps_before(S value, warp_values *room, S *total)
{
    if (bale_warp::lane() == 0)
        room->of[threadIdx.x / 32] = value;
    __syncthreads();
    const S its = bale_warp::lane() < warps() ? (S)room->of[bale_warp::lane()] : 0;
    const S before = sum_of_lanes(bale_warp::lane() < threadIdx.x / 32 ? its : 0);
    *total = sum_of_lanes(its);
    __syncthreads();
    return before;
}

/* By a block: the sum of the values of the threads before this one; *total: of all. */
__device__ inline uint32_t sum_before(uint32_t value, warp_values *room, uint32_t *total)
{
    const uint32_t upto = sum_upto(value);
    const uint32_t of_warp = __shfl_sync(bale_warp::ALL, upto, 31);

    return sum_of_warps_before(of_warp, room, total) + upto - value;
}

/* By a block: the greatest value of the threads before this one; 0 if there is none. */
__device__ inline uint32_t most_before(uint32_t value, warp_values *room)
{
    uint32_t upto = value;

    for (unsigned by = 1; by < 32; by *= 2)
        upto = max(upto, __shfl_up_sync(bale_warp::ALL, upto, by));
    if (bale_warp::lane() == 31)
        room->of[threadIdx.x / 32] = upto;
    __syncthreads();
    const uint32_t its =
        bale_warp::lane() < threadIdx.x / 32 ? (uint32_t)room->of[bale_warp::lane()] : 0;
    const uint32_t before = __reduce_max_sync(bale_warp::ALL, its);
    const uint32_t previous = __shfl_up_sync(bale_warp::ALL, upto, 1);
    __syncthreads();
    return bale_warp::lane() == 0 ? before : max(before, previous);
}

/* By a block: the least value of all threads. */
__device__ inline uint32_t least_of_all(uint32_t value, warp_values *room)
{
    const uint32_t of_warp = ~__reduce_max_sync(bale_warp::ALL, ~value);

    if (bale_warp::lane() == 0)
        room->of[threadIdx.x / 32] = of_warp;
    __syncthreads();
    const uint32_t its =
        bale_warp::lane() < warps() ? (uint32_t)room->of[bale_warp::lane()] : UINT32_MAX;
    const uint32_t least = ~__reduce_max_sync(bale_warp::ALL, ~its);
    __syncthreads();
    return least;
}

/* Sixteen bytes of values. */
template <typename T> union vector {
    static constexpr unsigned VALUES = 16 / sizeof(T);
    uint4 all;
    T at[VALUES];
};

/* The elements [first, end) of this warp: count of them are shared out in tiles, which a warp takes
 * at once. */
struct span {
    uint32_t first, end;
};

__device__ inline span span_of(uint32_t count, uint32_t tile)
{
    const uint32_t tiles = (count + warps() * tile - 1) / (warps() * tile);
    const uint32_t first = min(threadIdx.x / 32 * tiles * tile, count);

    return {first, min(first + tiles * tile, count)};
}

/* By a block: copies bytes from shared memory, aligned to 4 bytes, to any address. Up to three
 * bytes behind the source are read. */
__device__ inline void copy_out(uint8_t *to, const uint8_t *from, uint32_t length)
{
    const uint32_t before = min(length, (uint32_t)(-(uintptr_t)to % 4));
    const uint32_t words = (length - before) / 4, after = before + 4 * words;
    const uint32_t *in = (const uint32_t *)from;

    if (((uintptr_t)to | (uintptr_t)from) % 16 == 0) {
        bale_bytes::copy_aligned(to, from, length);
        return;
    }
    if (threadIdx.x < before)
        to[threadIdx.x] = from[threadIdx.x];
    for (uint32_t k = threadIdx.x; k < words; k += blockDim.x)
        ((uint32_t *)(to + before))[k] =
            before != 0 ? __funnelshift_r(in[k], in[k + 1], 8 * before) : in[k];
    if (after + threadIdx.x < length)
        to[after + threadIdx.x] = from[after + threadIdx.x];
}
} // namespace bale_float

#endif
