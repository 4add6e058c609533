/* Kernels that follow each other in a stream without a gap: on a device of compute capability 9.0
 * or later bale_launch::start_in_turn lets a kernel begin while the one before it ends. */
#ifndef BALE_KERNELS_CODEC_TURN_CUH
#define BALE_KERNELS_CODEC_TURN_CUH

#include <cuda_runtime.h>

namespace bale_turn
{
/* By a block, before all else: waits for the kernels before this one, whose writes it then sees.
 * Blocks of the next one may come, and wait, as soon as all of this one have begun. A kernel that
 * is started in turn calls it in all blocks, since the next one relies on it. */
__device__ inline void await()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 /* else a launch waits, as in the emulation */
    cudaTriggerProgrammaticLaunchCompletion();
    cudaGridDependencySynchronize();
#endif
}
} // namespace bale_turn

#endif
