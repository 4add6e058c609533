/* Faults for tests. Where BALE_CUDA_FAULTS is defined, the plug-in also exports
 *
 *     void bale_cuda_fault_set(const char *name);
 *
 * Any thread may call it at any time. From then on the fault of this name, a string literal,
 * happens; NULL: none.
 *
 *   nomem   a batch finds no memory            launch   a batch cannot be launched
 *   alloc   only 64 MiB can be allocated       stray    a kernel writes where it must not
 *   hang    a kernel takes two seconds         flip     what was compressed changes afterwards
 *   late    so does one before items are written */
#ifndef BALE_KERNELS_CUDA_TEST_FAULTS_CUH
#define BALE_KERNELS_CUDA_TEST_FAULTS_CUH

#include "kernels/cuda/device.cuh"

#ifdef BALE_CUDA_FAULTS
/* Called at the beginning of a batch, after compression, before items are written, and before an
 * allocation. */
cudaError_t bale_cuda_fault_batch(struct bale_cuda_slot *slot);
void bale_cuda_fault_packed(struct bale_cuda_slot *slot);
void bale_cuda_fault_scatter(cudaStream_t out);
cudaError_t bale_cuda_fault_allocation(uint64_t size);
#else
static inline cudaError_t bale_cuda_fault_batch(struct bale_cuda_slot *)
{
    return cudaSuccess;
}
static inline void bale_cuda_fault_packed(struct bale_cuda_slot *)
{
}
static inline void bale_cuda_fault_scatter(cudaStream_t)
{
}
static inline cudaError_t bale_cuda_fault_allocation(uint64_t)
{
    return cudaSuccess;
}
#endif

#endif
