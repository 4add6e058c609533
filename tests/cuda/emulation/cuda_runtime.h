/* What the sources of the CUDA engine use of CUDA, on a core (block.h), so that tests run them
 * without a GPU. The plug-in's sources are compiled as C++ with this directory before CUDA's. All
 * memory is the host's; what is given to a stream is done at once. */
#ifndef BALE_TESTS_CUDA_EMULATION_CUDA_RUNTIME_H
#define BALE_TESTS_CUDA_EMULATION_CUDA_RUNTIME_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>
#include <thread>
#include <tuple>
#include <vector>

#include "tests/cuda/emulation/block.h"
#include "tests/cuda/emulation/intrinsics.h"

#define CUDART_VERSION 13000

#define __global__
#define __device__
#define __host__
#define __noinline__
#define __launch_bounds__(...)
/* A block runs on one thread of the system, and blocks on several at a time. */
#define __shared__ thread_local

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
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount };
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
    unsigned together; /* blocks that run at a time, each on a thread of the system; not CUDA's */
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
/* BALE_EMULATED_PROCESSORS in the environment: how many there are instead. */
inline cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr, int)
{
    const char *count = getenv("BALE_EMULATED_PROCESSORS");

    *value = count ? atoi(count) : 132;
    return cudaSuccess;
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

namespace emulation
{
/* Gives back what a thread has for blocks, when it ends. */
struct thread_end {
    ~thread_end()
    {
        emulated_end();
    }
};

/* Runs blocks on this thread, each the next one, until there are no more. */
template <typename F>
void run_blocks(const cudaLaunchConfig_t *config, std::atomic<unsigned> *next, F *one)
{
    static thread_local thread_end end;

    (void)end;
    blockDim = config->blockDim;
    gridDim = config->gridDim;
    /* AddressSanitizer finds accesses behind what the launch has asked for. */
    ASAN_UNPOISON_MEMORY_REGION(bale_shared::memory, EMULATED_SHARED);
    ASAN_POISON_MEMORY_REGION((uint8_t *)bale_shared::memory + config->dynamicSmemBytes,
                              EMULATED_SHARED - config->dynamicSmemBytes);
    for (unsigned b = (*next)++; b < config->gridDim.x; b = (*next)++) {
        memset(bale_shared::memory, 0x5a, config->dynamicSmemBytes);
        blockIdx.x = b;
        emulated_run(
            config->blockDim.x, [](void *arg) { (*(F *)arg)(); }, one);
    }
}
} // namespace emulation

/* Runs the blocks one after the other, or some at a time if they wait for each other. */
template <typename... PARAMETERS, typename... ARGUMENTS>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(PARAMETERS...),
                               ARGUMENTS &&...arguments)
{
    const std::tuple<PARAMETERS...> parameters = {arguments...};
    auto one = [&] { std::apply(kernel, parameters); };
    std::atomic<unsigned> next = 0;
    std::vector<std::thread> others;

    if (config->dynamicSmemBytes > EMULATED_SHARED)
        abort();
    for (unsigned i = 1; i < config->together && i < config->gridDim.x; i++)
        others.emplace_back([&] { emulation::run_blocks(config, &next, &one); });
    emulation::run_blocks(config, &next, &one);
    for (std::thread &other : others)
        other.join();
    return cudaSuccess;
}

#endif
