/* Working memory of resident blocks: a block takes a room of the device's pool when it begins, and
 * gives it back at its end. If all are taken, it waits; the blocks that have them run, so it gets
 * one. */
#ifndef BALE_KERNELS_CODEC_ROOMS_CUH
#define BALE_KERNELS_CODEC_ROOMS_CUH

#include <stddef.h>
#include <stdint.h>

/* In device memory, for all batches of a device together. taken: zeros at first. */
struct cuda_rooms {
    uint8_t *memory; /* count rooms of `each` bytes */
    uint32_t *taken; /* 1 for each that a block has */
    uint32_t count;
    size_t each;
};

namespace bale_rooms
{
constexpr unsigned WAIT_NS = 1000;

/* By a thread: takes one and returns its index. */
__device__ inline uint32_t take(const cuda_rooms &rooms)
{
    uint32_t i = blockIdx.x % rooms.count;

    for (uint32_t tries = 1; atomicCAS(&rooms.taken[i], 0u, 1u) != 0; tries++) {
        i = i + 1 < rooms.count ? i + 1 : 0;
        if (tries % rooms.count == 0)
            __nanosleep(WAIT_NS);
    }
    __threadfence();
    return i;
}

/* By a thread, when no thread of its block uses the room any more. */
__device__ inline void give_back(const cuda_rooms &rooms, uint32_t i)
{
    __threadfence();
    atomicExch(&rooms.taken[i], 0u);
}
} // namespace bale_rooms

#endif
