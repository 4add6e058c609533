/* Blocks of a kernel that wait for each other. Each works on the cell of the ticket that it takes
 * instead of that of its index, so the blocks of all earlier tickets have begun. A block may wait for
 * them, and for up to TOGETHER - 1 later ones: these begin as soon as others end, if the device
 * runs more blocks at a time than may wait for later ones. Of all kernels that run at a time so many
 * may wait: TOGETHER - 1 for each batch that an engine computes (kernels/cuda/waiting.cu). */
#ifndef BALE_KERNELS_CODEC_TICKETS_CUH
#define BALE_KERNELS_CODEC_TICKETS_CUH

#include <cuda_runtime.h>
#include <stdint.h>

namespace bale_tickets
{
constexpr unsigned TOGETHER = 4;
constexpr unsigned WAIT_NS = 64;

/* By a block: its ticket. next: zero before the kernel; room: in shared memory. */
__device__ inline uint32_t take(uint32_t *next, uint32_t *room)
{
    if (threadIdx.x == 0)
        *room = atomicAdd(next, 1u);
    __syncthreads();
    return *room;
}

/* By a block: publishes that it has come to a stage, and has written all that belongs to it. */
__device__ inline void publish(uint32_t *stage, uint32_t value)
{
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        atomicExch(stage, value);
}

/* By a thread: waits until a block has come to a stage. What that has written is read by __ldcg,
 * also by threads that meet this one at a barrier. */
__device__ inline void await(const uint32_t *stage, uint32_t value)
{
    while (*(const volatile uint32_t *)stage < value)
        __nanosleep(WAIT_NS);
    __threadfence();
}
} // namespace bale_tickets

#endif
