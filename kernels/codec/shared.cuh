/* The dynamic shared memory of a block. bale_launch::start says how much it is. */
#ifndef BALE_KERNELS_CODEC_SHARED_CUH
#define BALE_KERNELS_CODEC_SHARED_CUH

#include <cuda_runtime.h>

namespace bale_shared
{
extern __shared__ uint4 memory[];
} // namespace bale_shared

#endif
