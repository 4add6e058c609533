/* The functions of a thread on the device, as a core does them (block.h). cuda_runtime.h includes
 * this. */
#ifndef BALE_TESTS_CUDA_EMULATION_INTRINSICS_H
#define BALE_TESTS_CUDA_EMULATION_INTRINSICS_H

#include <stdint.h>
#include <stdlib.h>

#include <atomic>
#include <thread>

#include "tests/cuda/emulation/block.h"

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned width = 1) : x(width), y(1), z(1)
    {
    }
};
struct alignas(16) uint4 {
    uint32_t x, y, z, w;
};
struct alignas(16) ulonglong2 {
    unsigned long long x, y;
};
inline ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y)
{
    return ulonglong2{x, y};
}
inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w)
{
    return uint4{x, y, z, w};
}

inline thread_local dim3 blockIdx, blockDim, gridDim;
inline constexpr struct {
    struct {
        operator unsigned() const
        {
            return emulated_thread();
        }
    } x;
} threadIdx = {};

namespace emulation
{
inline uint64_t of_lane(uint64_t value, int lane)
{
    return emulated_exchange(EMULATED_EXCHANGE, value)[lane & 31];
}

template <typename F> uint32_t reduce(uint32_t value, F combine)
{
    const uint64_t *all = emulated_exchange(EMULATED_EXCHANGE, value);
    uint32_t result = (uint32_t)all[0];

    for (int i = 1; i < 32; i++)
        result = combine(result, (uint32_t)all[i]);
    return result;
}
} // namespace emulation

template <typename A, typename B> constexpr auto min(A a, B b)
{
    return b < a ? b : a;
}
template <typename A, typename B> constexpr auto max(A a, B b)
{
    return a < b ? b : a;
}

inline void __syncwarp()
{
    (void)emulated_exchange(EMULATED_SYNC_WARP, 0);
}
inline void __syncthreads()
{
    (void)emulated_sync(EMULATED_SYNC_BLOCK, 0);
}
inline int __syncthreads_or(int value)
{
    return emulated_sync(EMULATED_SYNC_OR, value) > 0;
}
inline int __syncthreads_and(int value)
{
    return emulated_sync(EMULATED_SYNC_AND, !value) == 0;
}
inline void __threadfence()
{
    std::atomic_thread_fence(std::memory_order_seq_cst);
}
inline void __nanosleep(unsigned)
{
    emulated_yield();
    std::this_thread::yield(); /* for a block that runs on another one */
}

/* All masks are those of whole warps. */
template <typename T> T __shfl_sync(unsigned, T value, int lane)
{
    return (T)emulation::of_lane((uint64_t)value, lane);
}
template <typename T> T __shfl_xor_sync(unsigned, T value, int mask)
{
    return (T)emulation::of_lane((uint64_t)value, (int)(threadIdx.x ^ mask));
}
template <typename T> T __shfl_up_sync(unsigned, T value, unsigned by)
{
    const unsigned lane = threadIdx.x % 32;

    return (T)emulation::of_lane((uint64_t)value, (int)(lane < by ? lane : lane - by));
}
template <typename T> T __shfl_down_sync(unsigned, T value, unsigned by)
{
    const unsigned lane = threadIdx.x % 32;

    return (T)emulation::of_lane((uint64_t)value, (int)(lane + by > 31 ? lane : lane + by));
}
inline uint32_t __reduce_add_sync(unsigned, uint32_t value)
{
    return emulation::reduce(
        value, [](uint32_t a, uint32_t b) { return a + b; });
}
inline uint32_t __reduce_or_sync(unsigned, uint32_t value)
{
    return emulation::reduce(
        value, [](uint32_t a, uint32_t b) { return a | b; });
}
inline uint32_t __reduce_max_sync(unsigned, uint32_t value)
{
    return emulation::reduce(
        value, [](uint32_t a, uint32_t b) { return a > b ? a : b; });
}
inline uint32_t __ballot_sync(unsigned, int value)
{
    return __reduce_or_sync(0, value ? 1u << threadIdx.x % 32 : 0);
}
inline uint32_t __match_any_sync(unsigned, uint32_t value)
{
    const uint64_t *all = emulated_exchange(EMULATED_EXCHANGE, value);
    uint32_t result = 0;

    for (unsigned i = 0; i < 32; i++)
        result |= (uint32_t)(all[i] == value) << i;
    return result;
}
inline int __any_sync(unsigned, int value)
{
    return __ballot_sync(0, value) != 0;
}

inline int __popc(uint32_t v)
{
    return __builtin_popcount(v);
}
inline int __popcll(uint64_t v)
{
    return __builtin_popcountll(v);
}
inline int __clz(int v)
{
    return v == 0 ? 32 : __builtin_clz((unsigned)v);
}
inline int __clzll(long long v)
{
    return v == 0 ? 64 : __builtin_clzll((unsigned long long)v);
}
inline int __ffs(int v)
{
    return __builtin_ffs(v);
}
inline uint32_t __funnelshift_r(uint32_t low, uint32_t high, uint32_t shift)
{
    return (uint32_t)(((uint64_t)high << 32 | low) >> (shift & 31));
}
inline uint32_t __funnelshift_l(uint32_t low, uint32_t high, uint32_t shift)
{
    return (uint32_t)(((uint64_t)high << 32 | low) << (shift & 31) >> 32);
}
inline uint32_t __funnelshift_lc(uint32_t low, uint32_t high, uint32_t shift)
{
    return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
inline uint32_t __byte_perm(uint32_t x, uint32_t y, uint32_t selector)
{
    const uint64_t both = (uint64_t)y << 32 | x;
    uint32_t result = 0;

    for (unsigned i = 0; i < 4; i++)
        result |= (uint32_t)(both >> 8 * (selector >> 4 * i & 7) & 255) << 8 * i;
    return result;
}
inline uint32_t __vsadu4(uint32_t x, uint32_t y)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < 32; i += 8)
        sum += (uint32_t)abs((int)(x >> i & 255) - (int)(y >> i & 255));
    return sum;
}
inline uint32_t __umulhi(uint32_t a, uint32_t b)
{
    return (uint32_t)((uint64_t)a * b >> 32);
}
inline uint64_t __umul64hi(uint64_t a, uint64_t b)
{
    return (uint64_t)((unsigned __int128)a * b >> 64);
}
inline double __dmul_rn(double x, double y)
{
    return x * y;
}
inline float __fadd_rn(float x, float y)
{
    return x + y;
}
inline double __dadd_rn(double x, double y)
{
    return x + y;
}
inline double __fma_rn(double x, double y, double z)
{
    return __builtin_fma(x, y, z);
}
inline float __fmaf_rn(float x, float y, float z)
{
    return __builtin_fmaf(x, y, z);
}
inline double __ddiv_rn(double x, double y)
{
    return x / y;
}
template <typename T> T __ldg(const T *p)
{
    return *p;
}
template <typename T> T __ldcs(const T *p)
{
    return *p;
}
template <typename T> T __ldcg(const T *p)
{
    return *p;
}
template <typename T> void __stcs(T *p, T value)
{
    *p = value;
}
template <typename T> T atomicAdd(T *p, T value)
{
    return __atomic_fetch_add(p, value, __ATOMIC_SEQ_CST);
}
template <typename T> T atomicOr(T *p, T value)
{
    return __atomic_fetch_or(p, value, __ATOMIC_SEQ_CST);
}
template <typename T> T atomicMax(T *p, T value)
{
    T before = __atomic_load_n(p, __ATOMIC_SEQ_CST);

    while (before < value && !__atomic_compare_exchange_n(p, &before, value, false,
                                                          __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    return before;
}
template <typename T> T atomicMin(T *p, T value)
{
    T before = __atomic_load_n(p, __ATOMIC_SEQ_CST);

    while (before > value && !__atomic_compare_exchange_n(p, &before, value, false,
                                                          __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    return before;
}
template <typename T> T atomicExch(T *p, T value)
{
    return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);
}
template <typename T> T atomicCAS(T *p, T expected, T value)
{
    __atomic_compare_exchange_n(p, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return expected;
}

#endif
