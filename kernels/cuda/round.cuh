/* Rounds the elements of an array that lie in cells: what bale_round_piece does on the CPU. */
#ifndef BALE_KERNELS_CUDA_ROUND_CUH
#define BALE_KERNELS_CUDA_ROUND_CUH

#include <stdint.h>
#include <string.h>

#include "kernels/codec/codec.cuh"
#include "kernels/codec/equality.cuh"
#include "kernels/codec/tables.h"
#include "kernels/round/piece.h"
#include "kernels/round/round.cuh"

namespace bale_round
{
using bale_equality::equality;

constexpr unsigned THREADS = 512;
constexpr uint32_t QUAD = 16, DEEP = 4; /* bytes of a word, and words that a thread has in flight */

/* The elements of 16 bytes; those before byte skip stay. */
template <typename WORD>
__device__ inline uint4 rounded_quad(const rounding &r, uint4 quad, uint32_t skip)
{
    WORD words[QUAD / sizeof(WORD)];

    memcpy(words, &quad, sizeof quad);
#pragma unroll
    for (uint32_t i = 0; i < QUAD / sizeof(WORD); i++)
        if (i * sizeof(WORD) >= skip)
            words[i] = rounded(r, words[i]);
    memcpy(&quad, words, sizeof quad);
    return quad;
}

/* By a block: rounds the elements of count quads, of which the first begins at byte first, a
 * multiple of an element. */
template <typename WORD>
__device__ inline void round_quads(const rounding &r, uint4 *quads, uint32_t count, uint32_t first,
                                   equality *e)
{
    for (uint32_t base = threadIdx.x; base < count; base += THREADS * DEEP) {
        uint4 v[DEEP];
#pragma unroll
        for (uint32_t u = 0; u < DEEP; u++)
            if (base + u * THREADS < count)
                v[u] = quads[base + u * THREADS];
#pragma unroll
        for (uint32_t u = 0; u < DEEP; u++) {
            const uint32_t k = base + u * THREADS;
            if (k >= count)
                break;
            v[u] = rounded_quad<WORD>(r, v[u], first > k * QUAD ? first - k * QUAD : 0);
            quads[k] = v[u];
            bale_equality::compare_bytes(e, v[u]);
        }
    }
}

/* By a block: rounds the elements from byte `at` on one by one, whatever their alignment. */
template <typename WORD>
__device__ inline void round_each(const rounding &r, uint8_t *bytes, uint32_t at, uint32_t length)
{
    for (at += threadIdx.x * sizeof(WORD); at + sizeof(WORD) <= length;
         at += THREADS * sizeof(WORD)) {
        WORD word = 0;
        if (at % BALE_ROUND_PAGE + sizeof(WORD) > BALE_ROUND_PAGE)
            continue;
        for (uint32_t k = 0; k < sizeof word; k++)
            word |= (WORD)bytes[at + k] << 8 * k;
        word = rounded(r, word);
        for (uint32_t k = 0; k < sizeof word; k++)
            bytes[at + k] = (uint8_t)(word >> 8 * k);
    }
}

/* By a block: rounds a cell, whose first byte is at offset of the file, a multiple of BALE_ROUND_PAGE. */
template <typename WORD>
__device__ inline equality round_cell(const bale_field &field, uint64_t offset, uint8_t *cell,
                                      uint32_t length)
{
    const rounding r = rounding_of(field);
    const uint64_t before =
        field.offset > offset ? field.offset - offset : (field.offset - offset) % sizeof(WORD);
    const uint32_t first = before < length ? (uint32_t)before : length;
    const uint32_t quads = first % sizeof(WORD) == 0 ? length / QUAD : 0, behind = quads * QUAD;
    equality e = {};

    round_quads<WORD>(r, (uint4 *)cell, quads, first, &e);
    round_each<WORD>(r, cell, max(first, behind), length);
    __syncthreads();
    for (uint32_t i = behind + threadIdx.x; i < length; i += THREADS) {
        const uint32_t four = cell[i] * 0x01010101u;
        bale_equality::compare_bytes(&e, make_uint4(four, four, four, four));
    }
    return e;
}

/* A block for each cell, after gather(): rounds it if its frame says so, and sets the
 * result's flags by the rounded bytes. aligned: also where elements are aligned, which a codec
 * rounds as it encodes. */
__global__ void __launch_bounds__(THREADS)
    round_cells(const cuda_chunk *chunks, const cuda_frame *frames, uint8_t *cells, bool aligned,
                cuda_result *results)
{
    const uint32_t c = blockIdx.x;
    const cuda_frame &frame = frames[chunks[c].frame];

    if (!frame.rounds || (!aligned && bale_cuda_has_aligned_elements(frame)))
        return;
    const uint64_t offset = frame.offset + (c - frame.first) * BALE_CUDA_CELL;
    uint8_t *cell = cells + (size_t)c * BALE_CUDA_CELL;
    const equality e = frame.field.type == BALE_FIELD_F64
                           ? round_cell<uint64_t>(frame.field, offset, cell, chunks[c].raw_length)
                           : round_cell<uint32_t>(frame.field, offset, cell, chunks[c].raw_length);
    const uint32_t flags = bale_equality::verdict_of_block(e);
    if (threadIdx.x == 0) /* measuring rounds again, and keeps what it has found */
        results[c].flags = (results[c].flags & CUDA_MISMATCH) | flags;
}
} // namespace bale_round

#endif
