/* What a slot has besides its part of the device's memory. */
#include "kernels/cuda/device.cuh"

#include <string.h>

#include "kernels/codec/launch.cuh"

namespace bale_slot_memory
{
constexpr unsigned THREADS = 256;

/* Writes the addresses of the slot's cells. */
__global__ void __launch_bounds__(THREADS) set_addresses(cuda_lists lists, uint32_t count)
{
    const uint32_t c = blockIdx.x * THREADS + threadIdx.x;

    if (c >= count)
        return;
    lists.raw_addresses[c] = lists.raw + (size_t)c * BALE_CUDA_CELL;
    lists.packed_addresses[c] = lists.packed + c * lists.packed_cell;
    if (lists.back)
        lists.back_addresses[c] = lists.back + (size_t)c * BALE_CUDA_CELL;
}
} // namespace bale_slot_memory

namespace
{
template <typename T> cudaError_t take_host(T **table, uint32_t cells)
{
    return cudaHostAlloc((void **)table, cells * sizeof **table, cudaHostAllocPortable);
}

cudaError_t open_host(bale_cuda_slot *slot, uint32_t cells)
{
    bale_cuda_host *host = &slot->host;
    cudaError_t error = take_host(&host->chunks, cells);

    if (!error)
        error = take_host(&host->frames, cells);
    if (!error)
        error = take_host((cuda_result **)&host->results, cells);
    if (!error)
        error = take_host((cuda_part **)&host->made, cells);
    if (!error)
        error = take_host(&host->moves, 2 * cells);
    host->cells = cells;
    host->raw = (uintptr_t)slot->lists.raw;
    host->packed = (uintptr_t)slot->lists.packed;
    host->parts = (uintptr_t)slot->lists.parts;
    host->raw_cell = BALE_CUDA_CELL;
    host->packed_cell = slot->lists.packed_cell;
    return error;
}

cudaError_t open_event(cudaEvent_t *event, unsigned flags)
{
    return cudaEventCreateWithFlags(event, flags | cudaEventDisableTiming);
}
} // namespace

int bale_cuda_slot_open(struct bale_cuda_slot *slot, struct bale_cuda_device *device,
                        uint32_t cells)
{
    cudaError_t error;

    slot->device = device;
    error = open_host(slot, cells);
    if (!error)
        error = bale_cuda_open_stream(&slot->stream);
    if (!error)
        error = open_event(&slot->listed, 0);
    if (!error)
        error = open_event(&slot->gathered, 0);
    if (!error)
        error = open_event(&slot->done, cudaEventBlockingSync);
    if (!error) {
        error =
            bale_launch::start(bale_slot_memory::set_addresses,
                               (cells + bale_slot_memory::THREADS - 1) / bale_slot_memory::THREADS,
                               bale_slot_memory::THREADS, 0, slot->stream, slot->lists, cells);
    }
    if (!error)
        error = cudaStreamSynchronize(slot->stream);
    return bale_cuda_error(error);
}

void bale_cuda_slot_close(struct bale_cuda_slot *slot)
{
    if (slot->stream)
        cudaStreamDestroy(slot->stream);
    if (slot->listed)
        cudaEventDestroy(slot->listed);
    if (slot->gathered)
        cudaEventDestroy(slot->gathered);
    if (slot->done)
        cudaEventDestroy(slot->done);
    cudaFreeHost(slot->host.chunks);
    cudaFreeHost(slot->host.frames);
    cudaFreeHost((void *)slot->host.results);
    cudaFreeHost((void *)slot->host.made);
    cudaFreeHost(slot->host.moves);
    memset(slot, 0, sizeof *slot);
}

const struct bale_cuda_host *bale_cuda_slot_host(const struct bale_cuda_slot *slot)
{
    return &slot->host;
}
