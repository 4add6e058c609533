/* Copies between host memory and cells by the device's copy engines. */
#ifndef BALE_KERNELS_CUDA_BULK_CUH
#define BALE_KERNELS_CUDA_BULK_CUH

#include "kernels/cuda/device.cuh"

/* Whether the driver takes many copies in one call: otherwise a call takes longer than its copy. */
constexpr bool BALE_CUDA_HAS_BULK = CUDART_VERSION >= 13000;

/* Copies the slot's moves[0, count), in either direction. */
cudaError_t bale_cuda_bulk(const struct bale_cuda_slot *slot, uint32_t count, cudaStream_t stream);

#endif
