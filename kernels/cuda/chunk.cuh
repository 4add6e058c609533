/* What is decided for each chunk on the device, by the rules of kernels/frame/frame.c. A warp for a
 * chunk, or for each cell of a longer one. */
#ifndef BALE_KERNELS_CUDA_CHUNK_CUH
#define BALE_KERNELS_CUDA_CHUNK_CUH

#include <stdint.h>

#include "kernels/codec/codec.cuh"
#include "kernels/codec/lists.h"
#include "kernels/codec/tables.h"
#include "kernels/cuda/hash.cuh"

namespace bale_chunk_rules
{
constexpr unsigned ALL = 0xffffffffu;
constexpr unsigned THREADS = 256;

__device__ inline uint32_t warp_of_grid()
{
    return (blockIdx.x * THREADS + threadIdx.x) / 32;
}

__device__ inline bool is_first_lane()
{
    return threadIdx.x % 32 == 0;
}

/* Where the stored bytes of an entry's cell are, and how many, if its chunk has stored bytes. */
struct piece {
    const uint8_t *bytes;
    uint32_t length;
};

__device__ inline piece packed_piece(const cuda_lists &lists, const cuda_chunk &chunk, uint32_t c,
                                     uint32_t stored)
{
    const uint32_t at = (c - chunk.first) * BALE_CUDA_CELL;

    return {lists.packed + chunk.first * lists.packed_cell + at,
            stored > at ? min(stored - at, BALE_CUDA_CELL) : 0};
}

/* Sets what the codec decodes for chunk c: its packed cell if wanted, else the stub. */
__device__ inline void set_decode(const cuda_lists &lists, uint32_t c, bool wanted, uint32_t length,
                                  uint32_t raw_length, cuda_stub stub)
{
    lists.decode_from[c] = wanted ? lists.packed + c * lists.packed_cell : stub.address;
    lists.decode_from_lengths[c] = wanted ? length : stub.length;
    lists.decode_room[c] = raw_length;
    lists.decoded_lengths[c] = 0;
}

/* Encode, first step, and the only one of codec store: takes each chunk as stored raw. */
__global__ void __launch_bounds__(THREADS)
    keep_raw(const cuda_chunk *chunks, uint32_t count, cuda_lists lists, cuda_result *results)
{
    const uint32_t c = warp_of_grid();

    if (c >= count)
        return;
    const uint32_t raw_length = chunks[c].raw_length;
    uint64_t hash = bale_xxh3::of(lists.raw + (size_t)c * BALE_CUDA_CELL, raw_length);
    if (is_first_lane()) {
        results[c].raw_hash = results[c].stored_hash = hash;
        results[c].stored = chunks[c].whole;
    }
}

/* Encode: hashes the extent parts that the codec made. A warp for a frame. */
__global__ void __launch_bounds__(THREADS) hash_parts(uint32_t count, cuda_lists lists)
{
    const uint32_t f = warp_of_grid();

    if (f >= count)
        return;
    const uint64_t hash =
        bale_xxh3::of(lists.parts + (size_t)f * BALE_CUDA_PART, lists.made[f].length);
    if (is_first_lane())
        lists.made[f].hash = hash;
}

/* Encode, after keep_raw() and compression: takes the compressed bytes of a chunk if they are
 * within its limit. */
__global__ void __launch_bounds__(THREADS)
    choose(const cuda_chunk *chunks, uint32_t count, cuda_lists lists, cuda_stub stub,
           cuda_result *results)
{
    const uint32_t c = warp_of_grid();

    if (c >= count)
        return;
    const cuda_chunk chunk = chunks[c];
    const size_t length = lists.packed_lengths[chunk.first];
    const bool shrunk = lists.statuses[chunk.first] == 0 && length > 0 && length <= chunk.limit;
    const piece packed = packed_piece(lists, chunk, c, shrunk ? (uint32_t)length : 0);
    uint64_t hash = shrunk ? bale_xxh3::of(packed.bytes, packed.length) : 0;

    if (!is_first_lane())
        return;
    if (shrunk) {
        results[c].stored = (uint32_t)length;
        results[c].stored_hash = hash;
    }
    set_decode(lists, c, shrunk && c == chunk.first, (uint32_t)length, chunk.whole, stub);
}

/* Verification, after choose() and decoding to back: compares with the raw bytes. A block for a
 * chunk. */
__global__ void __launch_bounds__(THREADS)
    compare(const cuda_chunk *chunks, uint32_t count, cuda_lists lists, cuda_result *results)
{
    for (uint32_t c = blockIdx.x; c < count; c += gridDim.x) {
        const uint32_t length = chunks[c].raw_length, words = length / 16;
        const uint8_t *raw = lists.raw + (size_t)c * BALE_CUDA_CELL;
        const uint8_t *back = lists.back + (size_t)c * BALE_CUDA_CELL;
        const uint32_t first = chunks[c].first, whole = chunks[c].whole;
        bool same = lists.statuses[first] == 0 && lists.decoded_lengths[first] == whole;

        if (results[c].stored == whole)
            continue; /* stored raw: nothing was decoded */
        for (uint32_t k = threadIdx.x; same && k < words; k += THREADS) {
            uint4 a = ((const uint4 *)raw)[k], b = ((const uint4 *)back)[k];
            same = a.x == b.x && a.y == b.y && a.z == b.z && a.w == b.w;
        }
        if (same && threadIdx.x < length % 16)
            same = raw[words * 16 + threadIdx.x] == back[words * 16 + threadIdx.x];
        same = __syncthreads_and(same);
        if (!same && threadIdx.x == 0)
            results[c].flags |= CUDA_MISMATCH;
    }
}

/* Decode, first step: checks the stored bytes. A chunk that does not match its checksum is not
 * decoded; one of several cells is decoded before the host checks it. */
__global__ void __launch_bounds__(THREADS)
    check(const cuda_chunk *chunks, uint32_t count, cuda_lists lists, cuda_stub stub,
          cuda_result *results)
{
    const uint32_t c = warp_of_grid();

    if (c >= count)
        return;
    const cuda_chunk chunk = chunks[c];
    const piece packed = packed_piece(lists, chunk, c, chunk.stored);
    const uint64_t hash = bale_xxh3::of(packed.bytes, packed.length);
    const bool shrunk = chunk.stored < chunk.whole;
    const bool fine = chunk.whole > BALE_CUDA_CELL || hash == chunk.checksum;

    if (!is_first_lane())
        return;
    results[c].stored_hash = results[c].raw_hash = hash;
    results[c].stored = chunk.stored;
    results[c].flags = fine ? 0 : CUDA_BAD;
    set_decode(lists, c, fine && shrunk && c == chunk.first, chunk.stored, chunk.whole, stub);
}

/* Decode, after check(): checks the extent parts. A warp for a frame. */
__global__ void __launch_bounds__(THREADS)
    check_parts(const cuda_frame *frames, uint32_t count, cuda_lists lists, cuda_result *results)
{
    const uint32_t f = warp_of_grid();

    if (f >= count)
        return;
    const uint64_t hash = bale_xxh3::of(lists.parts + (size_t)f * BALE_CUDA_PART, frames[f].length);
    if (!is_first_lane())
        return;
    lists.made[f].hash = hash;
    if (hash != frames[f].checksum)
        results[frames[f].first].flags |= CUDA_BAD;
}

/* Decode, after decoding to raw: hashes the decoded bytes. */
__global__ void __launch_bounds__(THREADS)
    finish_decode(const cuda_chunk *chunks, uint32_t count, cuda_lists lists, cuda_result *results)
{
    const uint32_t c = warp_of_grid();

    if (c >= count)
        return;
    const cuda_chunk chunk = chunks[c];
    if (chunk.stored == chunk.whole || results[c].flags != 0)
        return;
    const bool fine =
        lists.statuses[chunk.first] == 0 && lists.decoded_lengths[chunk.first] == chunk.whole;
    uint64_t hash =
        fine ? bale_xxh3::of(lists.raw + (size_t)c * BALE_CUDA_CELL, chunk.raw_length) : 0;
    if (!is_first_lane())
        return;
    results[c].raw_hash = hash;
    if (!fine)
        results[c].flags = CUDA_BAD;
}
} // namespace bale_chunk_rules

#endif
