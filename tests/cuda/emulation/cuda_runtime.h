/* What the sources of the CUDA engine use of CUDA, on a core (block.h), so that tests run them
 * without a GPU. The plug-in's sources are compiled as C++ with this directory before CUDA's. All
 * memory is the host's; what is given to a stream is done at once. */
#ifndef BALE_TESTS_CUDA_EMULATION_CUDA_RUNTIME_H
#define BALE_TESTS_CUDA_EMULATION_CUDA_RUNTIME_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <tuple>

#include "tests/cuda/emulation/block.h"

#define CUDART_VERSION 13000

#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)
/* A block runs on one thread of the system, and blocks on several at a time. */
#define __shared__ thread_local

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned width = 1) : x(width), y(1), z(1)
    {
    }
};
struct alignas(16) uint4 {
    uint32_t x, y, z, w;
};
inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w)
{
    return uint4{x, y, z, w};
}

/* What a multiprocessor has for a block. */
constexpr size_t EMULATED_SHARED = 227 << 10;
namespace bale_shared
{
inline thread_local uint4 memory[EMULATED_SHARED / sizeof(uint4)]; /* kernels/codec/shared.cuh */
}

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(from, length)
#define ASAN_UNPOISON_MEMORY_REGION(from, length)
#endif

/* ---- The device's functions ---- */

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
}
inline void __nanosleep(unsigned)
{
    emulated_yield();
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

/* ---- The runtime ---- */

enum cudaError_t {
    cudaSuccess,
    cudaErrorInvalidValue,
    cudaErrorMemoryAllocation,
    cudaErrorLaunchOutOfResources,
    cudaErrorInvalidResourceHandle,
    cudaErrorNotSupported,
    cudaErrorUnknown
};
typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;

enum { cudaStreamNonBlocking = 1, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2 };
enum { cudaDeviceScheduleBlockingSync = 1, cudaInitDeviceFlagsAreValid = 1 };
enum { cudaHostAllocPortable = 1, cudaHostAllocMapped = 2 };
enum { cudaHostRegisterPortable = 1, cudaHostRegisterMapped = 2 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDefault };
enum cudaMemoryType { cudaMemoryTypeHost, cudaMemoryTypeDevice };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
enum { cudaMemcpySrcAccessOrderStream = 1 };

struct cudaPointerAttributes {
    cudaMemoryType type;
    int device;
};
struct cudaMemcpyAttributes {
    int srcAccessOrder;
};
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
};

inline const char *cudaGetErrorString(cudaError_t)
{
    return "an error of the emulation";
}
inline cudaError_t cudaGetLastError()
{
    return cudaSuccess;
}
inline cudaError_t cudaInitDevice(int, unsigned, unsigned)
{
    return cudaSuccess;
}
inline cudaError_t cudaSetDevice(int)
{
    return cudaSuccess;
}
inline cudaError_t cudaDeviceReset()
{
    return cudaSuccess;
}
inline cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = *greatest = 0;
    return cudaSuccess;
}
inline cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    *free_bytes = *total = 0;
    return cudaSuccess;
}
/* BALE_EMULATED_SHARED in the environment: bytes that a block may have instead. */
inline cudaError_t cudaFuncSetAttribute(const void *, cudaFuncAttribute, int bytes)
{
    const char *most = getenv("BALE_EMULATED_SHARED");

    return (size_t)bytes > (most ? strtoul(most, NULL, 10) : EMULATED_SHARED)
               ? cudaErrorInvalidValue
               : cudaSuccess;
}
inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned, int)
{
    *stream = (cudaStream_t)malloc(1);
    return *stream ? cudaSuccess : cudaErrorMemoryAllocation;
}
inline cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    free(stream);
    return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t)
{
    return cudaSuccess;
}
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned)
{
    return cudaSuccess;
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned)
{
    *event = (cudaEvent_t)malloc(1);
    return *event ? cudaSuccess : cudaErrorMemoryAllocation;
}
inline cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, 0);
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    free(event);
    return cudaSuccess;
}
inline cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t)
{
    return cudaSuccess;
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t)
{
    return cudaSuccess;
}
inline cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t, cudaEvent_t)
{
    *milliseconds = 1;
    return cudaSuccess;
}
inline cudaError_t cudaMalloc(void **memory, size_t size)
{
    *memory = aligned_alloc(256, (size + 255) / 256 * 256);
    return *memory ? cudaSuccess : cudaErrorMemoryAllocation;
}
inline cudaError_t cudaFree(void *memory)
{
    free(memory);
    return cudaSuccess;
}
inline cudaError_t cudaHostAlloc(void **memory, size_t size, unsigned)
{
    return cudaMalloc(memory, size);
}
inline cudaError_t cudaFreeHost(void *memory)
{
    return cudaFree(memory);
}
inline cudaError_t cudaHostRegister(void *, size_t, unsigned)
{
    return cudaSuccess;
}
inline cudaError_t cudaHostUnregister(void *)
{
    return cudaSuccess;
}
inline cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *)
{
    *attributes = cudaPointerAttributes{cudaMemoryTypeHost, 0};
    return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void *to, const void *from, size_t size, cudaMemcpyKind)
{
    memcpy(to, from, size);
    return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, cudaMemcpyKind,
                                   cudaStream_t)
{
    return cudaMemcpy(to, from, size, cudaMemcpyDefault);
}
inline cudaError_t cudaMemcpyBatchAsync(void **to, const void **from, size_t *sizes, size_t count,
                                        cudaMemcpyAttributes *, size_t *, size_t, cudaStream_t)
{
    for (size_t i = 0; i < count; i++)
        memcpy(to[i], from[i], sizes[i]);
    return cudaSuccess;
}
inline cudaError_t cudaMemset(void *to, int value, size_t size)
{
    memset(to, value, size);
    return cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void *to, int value, size_t size, cudaStream_t)
{
    return cudaMemset(to, value, size);
}

/* Runs the blocks one after the other. */
template <typename... PARAMETERS, typename... ARGUMENTS>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(PARAMETERS...),
                               ARGUMENTS &&...arguments)
{
    struct call {
        void (*kernel)(PARAMETERS...);
        std::tuple<PARAMETERS...> parameters;
    } one = {kernel, {arguments...}};

    if (config->dynamicSmemBytes > EMULATED_SHARED)
        abort();
    blockDim = config->blockDim;
    gridDim = config->gridDim;
    /* AddressSanitizer finds accesses behind what the launch has asked for. */
    ASAN_UNPOISON_MEMORY_REGION(bale_shared::memory, EMULATED_SHARED);
    ASAN_POISON_MEMORY_REGION((uint8_t *)bale_shared::memory + config->dynamicSmemBytes,
                              EMULATED_SHARED - config->dynamicSmemBytes);
    for (unsigned b = 0; b < config->gridDim.x; b++) {
        memset(bale_shared::memory, 0x5a, config->dynamicSmemBytes);
        blockIdx.x = b;
        emulated_run(
            config->blockDim.x,
            [](void *arg) {
                const call *c = (const call *)arg;
                std::apply(c->kernel, c->parameters);
            },
            &one);
    }
    return cudaSuccess;
}

#endif
