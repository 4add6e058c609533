/* Tickets for kernels whose blocks wait for each other. A block takes a ticket, and works on the
 * cell of that number instead of that of its index. So the blocks with earlier tickets have begun,
 * and it may wait for them.
 *
 * It may also wait for the next TOGETHER - 1 tickets. Their blocks begin once other blocks end, so
 * the device must run more blocks at a time than wait for later tickets. Of each batch at most
 * TOGETHER - 1 do, and kernels/cuda/waiting.cu limits how many engines compute such batches at a
 * time. */
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
