/* Bytes between host memory and cells by the device's copy engines. */
#ifndef BALE_KERNELS_CUDA_BULK_CUH
#define BALE_KERNELS_CUDA_BULK_CUH

#include "kernels/cuda/device.cuh"

/* Many copies in one call: without it a call takes longer than its copy. */
constexpr bool BALE_CUDA_HAS_BULK = CUDART_VERSION >= 13000;

/* The slot's moves[0, count), either way. */
cudaError_t bale_cuda_bulk(const struct bale_cuda_slot *slot, uint32_t count, cudaStream_t stream);

#endif
