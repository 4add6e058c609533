/* Chunks between host memory and cells by the device's copy engines. */
#ifndef BALE_KERNELS_CUDA_BULK_CUH
#define BALE_KERNELS_CUDA_BULK_CUH

#include "kernels/cuda/device.cuh"

/* Many copies in one call: without it a call takes longer than its copy. */
constexpr bool BALE_CUDA_HAS_BULK = CUDART_VERSION >= 13000;

/* chunks[0, count) to their cells. */
cudaError_t bale_cuda_bulk_in(const struct bale_cuda_slot *slot, uint8_t *cells, size_t cell,
                              uint32_t count, cudaStream_t stream);
/* moves[0, count). */
cudaError_t bale_cuda_bulk_out(const struct bale_cuda_slot *slot, uint32_t count,
                               cudaStream_t stream);

#endif
