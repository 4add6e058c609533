#include "kernels/cuda/test_faults.cuh"

#ifdef BALE_CUDA_FAULTS
#include "kernels/codec/launch.cuh"

#include <atomic>
#include <string.h>

static std::atomic<const char *> fault;

extern "C" __attribute__((visibility("default"))) void bale_cuda_fault_set(const char *name);
void bale_cuda_fault_set(const char *name)
{
    fault = name;
}

namespace
{
constexpr uint64_t HANG_NS = 2000000000;
constexpr uint64_t ALLOCATION_MAX = 2048u << 20;

bool is_on(const char *name)
{
    const char *set = fault;

    return set && strcmp(set, name) == 0;
}

__global__ void hang()
{
    uint64_t begin, now;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do {
        __nanosleep(1000000);
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - begin < HANG_NS);
}

__global__ void stray(int *nowhere)
{
    *nowhere = 1;
}

/* Changes the last byte, so that the stream's headers stay valid. */
__global__ void flip(cuda_lists lists)
{
    if (lists.packed_lengths[0] > 0)
        lists.packed[lists.packed_lengths[0] - 1] ^= 0x40;
}
} // namespace

cudaError_t bale_cuda_fault_batch(struct bale_cuda_slot *slot)
{
    if (is_on("nomem"))
        return cudaErrorMemoryAllocation;
    if (is_on("launch"))
        return cudaErrorLaunchOutOfResources;
    if (is_on("hang"))
        (void)bale_launch::start(hang, 1, 1, 0, slot->stream);
    if (is_on("stray"))
        (void)bale_launch::start(stray, 1, 1, 0, slot->stream, (int *)64);
    return cudaSuccess;
}

void bale_cuda_fault_packed(struct bale_cuda_slot *slot)
{
    if (is_on("flip"))
        (void)bale_launch::start(flip, 1, 1, 0, slot->stream, slot->lists);
}

void bale_cuda_fault_scatter(cudaStream_t out)
{
    if (is_on("late"))
        (void)bale_launch::start(hang, 1, 1, 0, out);
}

cudaError_t bale_cuda_fault_allocation(uint64_t size)
{
    return is_on("alloc") && size > ALLOCATION_MAX ? cudaErrorMemoryAllocation : cudaSuccess;
}
#endif
