/* Launching a codec's kernels. */
#ifndef BALE_KERNELS_CODEC_LAUNCH_CUH
#define BALE_KERNELS_CODEC_LAUNCH_CUH

#include <cuda_runtime.h>
#include <stddef.h>

#include "kernels/codec/tickets.cuh"

namespace bale_launch
{
inline cudaLaunchConfig_t config_of(unsigned blocks, unsigned threads, size_t shared,
                                    cudaStream_t stream)
{
    cudaLaunchConfig_t config = {};

    config.gridDim = dim3(blocks);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    return config;
}

/* Launches a kernel with so many blocks, threads in each, and bytes of dynamic shared memory. */
template <typename... PARAMETERS, typename... ARGUMENTS>
cudaError_t start(void (*kernel)(PARAMETERS...), unsigned blocks, unsigned threads, size_t shared,
                  cudaStream_t stream, ARGUMENTS... arguments)
{
    const cudaLaunchConfig_t config = config_of(blocks, threads, shared, stream);

    (void)cudaLaunchKernelEx(&config, kernel, arguments...);
    return cudaGetLastError();
}

/* As start, for a kernel whose blocks wait for each other (tickets.cuh). */
template <typename... PARAMETERS, typename... ARGUMENTS>
cudaError_t start_by_ticket(void (*kernel)(PARAMETERS...), unsigned blocks, unsigned threads,
                            size_t shared, cudaStream_t stream, ARGUMENTS... arguments)
{
    cudaLaunchConfig_t config = config_of(blocks, threads, shared, stream);

#ifndef __CUDACC__ /* emulated: tests/cuda/emulation */
    config.together = bale_tickets::TOGETHER;
#endif
    (void)cudaLaunchKernelEx(&config, kernel, arguments...);
    return cudaGetLastError();
}

#ifdef __CUDACC__
/* Whether the current device can begin a kernel while the one before it ends (turn.cuh). */
inline bool overlaps_kernels()
{
    int device = 0, major = 0;

    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) ==
               cudaSuccess &&
           major >= 9;
}
#endif

/* As start_by_ticket, for a kernel that waits for its turn (turn.cuh): it may begin while the
 * kernel before it in the stream ends. */
template <typename... PARAMETERS, typename... ARGUMENTS>
cudaError_t start_in_turn(void (*kernel)(PARAMETERS...), unsigned blocks, unsigned threads,
                          size_t shared, cudaStream_t stream, ARGUMENTS... arguments)
{
    cudaLaunchConfig_t config = config_of(blocks, threads, shared, stream);

#ifdef __CUDACC__
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &attribute;
    config.numAttrs = overlaps_kernels() ? 1 : 0;
#else /* emulated: tests/cuda/emulation */
    config.together = bale_tickets::TOGETHER;
#endif
    (void)cudaLaunchKernelEx(&config, kernel, arguments...);
    return cudaGetLastError();
}

/* Makes the calls one after the other up to the first that fails, and returns its error. A call
 * launches a kernel, or does nothing and returns cudaSuccess. */
template <typename... CALLS> cudaError_t in_order(CALLS... calls)
{
    cudaError_t error = cudaSuccess;

    ((error = error ? error : calls()), ...);
    return error;
}

/* Lets blocks of the kernel have so many bytes of dynamic shared memory. Without this a launch
 * with more than 48 KiB fails. Once for each context. */
inline cudaError_t allow_shared_memory(const void *kernel, size_t bytes)
{
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
}
} // namespace bale_launch

#endif
