/* float on the device: the sections of a chunk that is decoded, and the widths of its groups; the
 * bytes are hostile (spec.md, Chunk). */
#ifndef BALE_KERNELS_FLOAT_SECTIONS_CUH
#define BALE_KERNELS_FLOAT_SECTIONS_CUH

#include "kernels/float/block.cuh"
#include "kernels/float/singles.cuh"

namespace bale_float
{
/* A chunk that is decoded: its sections begin at these bytes of its cell. */
struct sections {
    const uint8_t *cell;
    uint32_t planes, bits, bits_length;
    bool has_singles;
};

/* Bytes before a block's deltas, in its chunk, and its planes, in their section. */
struct block_places {
    uint32_t deltas, planes;
};

/* Whether a block with that header is one of singles, where there are such. */
__device__ inline bool is_header_of_singles(uint32_t header)
{
    return header >> 6 == 0 && header > FLOAT_SINGLES_ABOVE;
}

/* By a block: the widths of a thread's block of elements, if it is below `end`, and its places;
 * *next: those of the first thread's, and then those behind all. False, for all threads: a rule is
 * broken. */
__device__ inline bool next_widths(const extents &its, const sections &from, uint32_t length,
                                   uint32_t b, uint32_t end, unsigned size_bits, widths *w,
                                   block_places *its_places, block_places *next, warp_values *room)
{
    const uint32_t header = b < end ? from.cell[its.lead + its.tail + b] : 0;
    const bool are_singles = from.has_singles && is_header_of_singles(header);
    uint32_t deltas, planes;

    its_places->deltas =
        next->deltas + sum_before(are_singles ? FLOAT_SINGLES_DELTAS : header >> 6, room, &deltas);
    next->deltas += deltas;
    *w = {};
    if (next->deltas > length)
        return false;
    const bool fine =
        b >= end || (are_singles ? read_singles(header, from.cell, its_places->deltas,
                                                its.count - b * FLOAT_BLOCK, size_bits, w)
                                 : read_widths(header, from.cell + its_places->deltas,
                                               groups_there(its.count, b), size_bits, w));
    if (!__syncthreads_and(fine))
        return false;
    its_places->planes = next->planes + sum_before(planes_length(w->widths), room, &planes);
    next->planes += planes;
    return true;
}
} // namespace bale_float

#endif
