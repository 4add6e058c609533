/* cusz on the device: what counting keeps of the words of a group, for the kernels behind it, which
 * would have to predict them again. It lies behind what a chunk may become: at the end of its
 * packed cells. */
#ifndef BALE_KERNELS_CUSZ_KEPT_CUH
#define BALE_KERNELS_CUSZ_KEPT_CUH

#include "kernels/cusz/groups.cuh"

namespace bale_cusz
{
/* A group's words, folded: all of them; or, if they are few, those that are not zero, and 65536
 * times their places. */
constexpr uint32_t FEW = 96;
union alignas(16) kept_group {
    uint16_t words[GROUP];
    uint32_t few[FEW];
};
/* Of a group: how many are kept, if they are few; or one of these. And whether there are words
 * without tokens of their own. */
constexpr uint8_t ALL_KEPT = FEW + 1, NONE_KEPT = FEW + 2, CLASSES_KEPT = 128;
static_assert(NONE_KEPT < CLASSES_KEPT, "in seven bits");
constexpr size_t KEPT_OF_CELL = GROUPS_OF_CELL * sizeof(kept_group);
static_assert(KEPT_OF_CELL <= BALE_CUDA_CELL / 2, "half of a cell is left for what it becomes");

__device__ inline uint32_t cells_of(const cuda_chunk &chunk)
{
    return (chunk.whole - 1) / BALE_CUDA_CELL + 1;
}

/* A chunk's groups. */
__device__ inline kept_group *kept_groups(const cuda_lists &lists, const cuda_chunk &chunk)
{
    const uint32_t cells = cells_of(chunk);
    uint8_t *end = lists.packed + (size_t)(chunk.first + cells) * lists.packed_cell;

    return (kept_group *)(end - cells * KEPT_OF_CELL);
}

/* Bytes before them. */
__device__ inline size_t room_before_kept(const cuda_lists &lists, const cuda_chunk &chunk)
{
    return cells_of(chunk) * (lists.packed_cell - KEPT_OF_CELL);
}

/* By a lane: its words of a group that is kept as a whole. */
__device__ inline void load_words(const uint16_t *from, uint32_t words[EACH])
{
    const uint4 some = *(const uint4 *)(from + EACH * bale_warp::lane());
    const uint32_t pairs[EACH / 2] = {some.x, some.y, some.z, some.w};

#pragma unroll
    for (uint32_t k = 0; k < EACH; k++)
        words[k] = k % 2 ? pairs[k / 2] >> 16 : pairs[k / 2] & 0xffff;
}

template <typename WORD> __device__ inline void store_words(uint16_t *to, const WORD words[EACH])
{
    uint32_t pairs[EACH / 2];

#pragma unroll
    for (uint32_t k = 0; k < EACH; k += 2)
        pairs[k / 2] = (uint32_t)words[k] | (uint32_t)words[k + 1] << 16;
    *(uint4 *)(to + EACH * bale_warp::lane()) = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
}

/* By a warp: the words of a group of which only so many are kept. */
__device__ inline void load_few(const kept_group &from, uint32_t count, stage *st,
                                uint32_t words[EACH])
{
    uint16_t *const to = (uint16_t *)st->words;

    __syncwarp();
    ((uint4 *)to)[bale_warp::lane()] = uint4{0, 0, 0, 0};
    __syncwarp();
    for (uint32_t k = bale_warp::lane(); k < count; k += 32)
        to[from.few[k] >> 16] = (uint16_t)from.few[k];
    __syncwarp();
    load_words(to, words);
}
} // namespace bale_cusz

#endif
