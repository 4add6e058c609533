/* cusz on the device: what kernels tell each other of a cell, in its working memory. */
#ifndef BALE_KERNELS_CUSZ_CELL_WORK_CUH
#define BALE_KERNELS_CUSZ_CELL_WORK_CUH

#include "kernels/codec/lists.h"
#include "kernels/cusz/elements.cuh"

namespace bale_cusz
{
constexpr uint32_t EACH = 8, GROUP = 32 * EACH; /* words of a lane, side by side, and of a warp */
constexpr uint32_t GROUPS = CUSZ_CHUNK / 4 / GROUP, GROUPS_OF_CELL = BALE_CUDA_CELL / 4 / GROUP;
static_assert(GROUP == 1u << CUSZ_SEGMENT_MIN, "segments are groups");

/* Zeros of a stretch of words: those before the first other word, behind the last one, and how many
 * runs are between. If all are zeros, lead and trail are their count. */
struct zeros {
    uint32_t count, lead, trail, inside;
};

/* Its words' zeros; and of each group the bits of its codes, its listed elements, and the zeros
 * before it in its segment. */
struct cell_work {
    zeros z;
    uint32_t all;             /* zeros */
    uint16_t runs[CUSZ_RUNS]; /* of those that are inside */
    uint16_t bits[GROUPS_OF_CELL], listed[GROUPS_OF_CELL], open[GROUPS_OF_CELL];
    uint8_t kept[GROUPS_OF_CELL]; /* kept.cuh */
};
static_assert(sizeof(cell_work) <= BALE_CUDA_WORK, "in the working memory of a cell");

__device__ inline cell_work *work_of_cell(const cuda_lists &lists, uint32_t c)
{
    return (cell_work *)(lists.work + (size_t)c * BALE_CUDA_WORK);
}
} // namespace bale_cusz

#endif
