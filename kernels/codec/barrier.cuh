/* Barriers for some warps of a block, while others do something else. */
#ifndef BALE_KERNELS_CODEC_BARRIER_CUH
#define BALE_KERNELS_CODEC_BARRIER_CUH

#include <cuda_runtime.h>
#include <stdint.h>

namespace bale_barrier
{
/* Waits until so many threads, of whole warps, have come; true if one of them came with true. id:
 * of the barrier, 1 to 15 (__syncthreads is 0). */
#ifdef __CUDACC__
__device__ inline bool any(uint32_t id, uint32_t threads, bool value)
{
    uint32_t result;

    asm volatile("{\n"
                 "    .reg .pred in, out;\n"
                 "    setp.ne.u32 in, %1, 0;\n"
                 "    barrier.cta.red.or.pred out, %2, %3, in;\n"
                 "    selp.u32 %0, 1, 0, out;\n"
                 "}\n"
                 : "=r"(result)
                 : "r"((uint32_t)value), "r"(id), "r"(threads)
                 : "memory");
    return result != 0;
}
#else /* emulated: tests/cuda/emulation */
inline bool any(uint32_t id, uint32_t threads, bool value)
{
    return emulated_sync_some(id, threads, value) > 0;
}
#endif
} // namespace bale_barrier

#endif
