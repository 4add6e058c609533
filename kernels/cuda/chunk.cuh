/* What is decided for each chunk on the device, by the rules of kernels/frame/frame.c. A warp for a
 * chunk. */
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

/* The length of the header of a Zstandard frame (RFC 8878, 3.1.1.1), or 0 if kernels/zstd/spec.md
 * refuses the header. At least 18 bytes may be read. */
__device__ inline uint32_t zstd_header(const uint8_t *in, uint32_t raw_length, uint32_t chunk_size)
{
    const uint32_t descriptor = in[4], size_flag = descriptor >> 6;
    const bool single = descriptor & 0x20;
    uint64_t window = 0, content = 0;
    uint32_t at = 5, content_bytes = size_flag ? 1u << size_flag : single;

    if (bale_xxh3::read32(in) != 0xFD2FB528u || descriptor & 0x0b)
        return 0; /* another magic, the reserved bit, or a dictionary */
    if (!single) {
        window = (uint64_t)1 << (10 + (in[at] >> 3));
        window += window / 8 * (in[at] & 7);
        at++;
    }
    for (uint32_t i = 0; i < content_bytes; i++)
        content |= (uint64_t)in[at + i] << 8 * i;
    if (content_bytes == 2)
        content += 256;
    if (content_bytes > 0 && content != raw_length)
        return 0;
    if ((single ? content : window) > chunk_size)
        return 0;
    return at + content_bytes;
}

/* Whether the headers of the frame and its blocks say that the bytes are one frame as
 * kernels/zstd/spec.md has it. */
__device__ inline bool zstd_is_fine(const uint8_t *in, uint32_t length, uint32_t raw_length,
                                    uint32_t chunk_size)
{
    constexpr uint32_t HEADER_MAX = 18, BLOCK_HEADER = 3, BLOCK_MAX = 128u << 10;
    uint8_t head[HEADER_MAX];
    uint32_t at;

    for (uint32_t i = 0; i < HEADER_MAX; i++)
        head[i] = i < length ? in[i] : 0;
    at = zstd_header(head, raw_length, chunk_size);
    if (at == 0)
        return false;
    for (bool last = false; !last;) {
        if (length < at + BLOCK_HEADER)
            return false;
        uint32_t header = in[at] | (uint32_t)in[at + 1] << 8 | (uint32_t)in[at + 2] << 16;
        uint32_t type = header >> 1 & 3, size = header >> 3;
        last = header & 1;
        if (type == 3 || size > BLOCK_MAX || (type < 2 && size > raw_length))
            return false;
        at += BLOCK_HEADER + (type == 1 ? 1 : size);
        if (at > length)
            return false;
    }
    return at + (head[4] & 4) == length; /* the content checksum has four bytes */
}

/* nvCOMP declares a window of 1 MiB for every chunk, but kernels/zstd/spec.md allows no more than
 * the chunk size. No match reaches back beyond the chunk's start, so a window of the chunk size,
 * which is a power of two, is also true. The length of the header stays the same. */
__device__ inline void fit_window(uint8_t *in, uint32_t length, uint32_t chunk_size)
{
    const uint32_t least = (uint32_t)(31 - __clz((int)chunk_size) - 10) << 3;

    if (length > 5 && !(in[4] & 0x20) && in[5] > least)
        in[5] = (uint8_t)least;
}

/* Lane 0 checks; all lanes get its result. */
__device__ inline bool stream_is_fine(cuda_stream stream, const uint8_t *in, uint32_t length,
                                      uint32_t raw_length, uint32_t chunk_size)
{
    bool fine = true;

    if (stream == CUDA_STREAM_ZSTD && is_first_lane())
        fine = zstd_is_fine(in, length, raw_length, chunk_size);
    return __shfl_sync(ALL, fine, 0);
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
        results[c].stored = raw_length;
    }
}

/* Encode, after keep_raw() and compression: takes the compressed bytes of a chunk if they are valid
 * and within its limit. */
__global__ void __launch_bounds__(THREADS)
    choose(const cuda_chunk *chunks, uint32_t count, cuda_stream stream, cuda_lists lists,
           cuda_stub stub, cuda_result *results)
{
    const uint32_t c = warp_of_grid();

    if (c >= count)
        return;
    const cuda_chunk chunk = chunks[c];
    uint8_t *packed = lists.packed + c * lists.packed_cell;
    const size_t length = lists.packed_lengths[c];
    const bool small = lists.statuses[c] == 0 && length > 0 && length <= chunk.limit;

    if (stream == CUDA_STREAM_ZSTD && small && is_first_lane())
        fit_window(packed, (uint32_t)length, chunk.chunk_size);
    __syncwarp();
    const bool shrunk = small && stream_is_fine(stream, packed, (uint32_t)length, chunk.raw_length,
                                                chunk.chunk_size);
    uint64_t hash = shrunk ? bale_xxh3::of(packed, (uint32_t)length) : 0;

    if (!is_first_lane())
        return;
    if (shrunk) {
        results[c].stored = (uint32_t)length;
        results[c].stored_hash = hash;
    }
    set_decode(lists, c, shrunk, (uint32_t)length, chunk.raw_length, stub);
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
        bool same = lists.statuses[c] == 0 && lists.decoded_lengths[c] == length;

        if (results[c].stored == length)
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
 * decoded. */
__global__ void __launch_bounds__(THREADS)
    check(const cuda_chunk *chunks, uint32_t count, cuda_stream stream, cuda_lists lists,
          cuda_stub stub, cuda_result *results)
{
    const uint32_t c = warp_of_grid();

    if (c >= count)
        return;
    const cuda_chunk chunk = chunks[c];
    const uint8_t *packed = lists.packed + c * lists.packed_cell;
    const uint64_t hash = bale_xxh3::of(packed, chunk.length);
    const bool shrunk = chunk.length < chunk.raw_length;
    const bool fine =
        hash == chunk.checksum && (!shrunk || stream_is_fine(stream, packed, chunk.length,
                                                             chunk.raw_length, chunk.chunk_size));

    if (!is_first_lane())
        return;
    results[c].stored_hash = results[c].raw_hash = hash;
    results[c].stored = chunk.length;
    results[c].flags = fine ? 0 : CUDA_BAD;
    set_decode(lists, c, fine && shrunk, chunk.length, chunk.raw_length, stub);
}

/* Decode, after decoding to raw: hashes the decoded bytes. */
__global__ void __launch_bounds__(THREADS)
    finish_decode(const cuda_chunk *chunks, uint32_t count, cuda_lists lists, cuda_result *results)
{
    const uint32_t c = warp_of_grid();

    if (c >= count)
        return;
    const uint32_t raw_length = chunks[c].raw_length;
    if (chunks[c].length == raw_length || results[c].flags != 0)
        return;
    const bool fine = lists.statuses[c] == 0 && lists.decoded_lengths[c] == raw_length;
    uint64_t hash = fine ? bale_xxh3::of(lists.raw + (size_t)c * BALE_CUDA_CELL, raw_length) : 0;
    if (!is_first_lane())
        return;
    results[c].raw_hash = hash;
    if (!fine)
        results[c].flags = CUDA_BAD;
}

/* Run once for a slot: writes the addresses of its cells. */
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
} // namespace bale_chunk_rules

#endif
