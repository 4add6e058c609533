/* float on the device: what the blocks of a chunk's cells tell each other when they encode. */
#ifndef BALE_KERNELS_FLOAT_SHARE_CUH
#define BALE_KERNELS_FLOAT_SHARE_CUH

#include "kernels/codec/lists.h"
#include "kernels/codec/tickets.cuh"
#include "kernels/float/float.h"

namespace bale_float
{
/* What a cell adds to its chunk, in the cell's working memory: bytes of deltas and planes, and bits
 * behind the planes; the first eight of these. */
struct share {
    uint32_t deltas, planes, bits, first_bits;
};

/* In each cell's working memory; zeros at first. */
struct cell_work {
    uint32_t next;      /* of the first cell: the next block's turn */
    uint32_t published; /* 1: what the cell adds is there */
    share its;
};
static_assert(sizeof(cell_work) <= BALE_CUDA_WORK, "in each cell's working memory");
static_assert(FLOAT_CHUNK / BALE_CUDA_CELL <= bale_tickets::TOGETHER, "a chunk's cells");

__device__ inline cell_work *work_of(const cuda_lists &lists, uint32_t c)
{
    return (cell_work *)(lists.work + (size_t)c * BALE_CUDA_WORK);
}
} // namespace bale_float

#endif
