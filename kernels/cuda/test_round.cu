#include "kernels/cuda/test_round.h"

#include "kernels/codec/launch.cuh"
#include "kernels/cuda/round.cuh"

namespace
{
/* In the device's memory. */
struct {
    cuda_chunk *chunks;
    cuda_frame *frames;
    uint8_t *cells;
    cuda_result *results;
} device;

template <typename T> bool take(T **table, uint32_t count)
{
    return cudaMalloc((void **)table, count * sizeof **table) == cudaSuccess;
}

template <typename T> cudaError_t send(T *there, const T *table, uint32_t count)
{
    return cudaMemcpy(there, table, count * sizeof *table, cudaMemcpyHostToDevice);
}

template <typename T> cudaError_t fetch(T *table, const T *there, uint32_t count)
{
    return cudaMemcpy(table, there, count * sizeof *table, cudaMemcpyDeviceToHost);
}
} // namespace

bool bale_test_round_open(uint32_t cells)
{
    return take(&device.chunks, cells) && take(&device.frames, cells) &&
           take(&device.cells, cells * BALE_CUDA_CELL) && take(&device.results, cells);
}

bool bale_test_round_run(const cuda_chunk *chunks, uint32_t count, const cuda_frame *frames,
                         uint32_t frame_count, uint8_t *cells, cuda_result *results)
{
    const uint32_t bytes = count * BALE_CUDA_CELL;

    return bale_launch::in_order(
               [&] { return send(device.chunks, chunks, count); },
               [&] { return send(device.frames, frames, frame_count); },
               [&] { return send(device.cells, cells, bytes); },
               [&] { return send(device.results, results, count); },
               [&] {
                   return bale_launch::start(bale_round::round_cells, count, bale_round::THREADS, 0,
                                             nullptr, device.chunks, device.frames, device.cells,
                                             true, device.results);
               },
               [&] { return fetch(cells, device.cells, bytes); },
               [&] { return fetch(results, device.results, count); }) == cudaSuccess;
}
