/* cusz on the device: where everything lies in a chunk (spec.md, Chunk). */
#ifndef BALE_KERNELS_CUSZ_LAYOUT_CUH
#define BALE_KERNELS_CUSZ_LAYOUT_CUH

#include "kernels/cusz/book.cuh"

namespace bale_cusz
{
constexpr uint32_t SEGMENTS = CUSZ_CHUNK / 4 >> CUSZ_SEGMENT_MIN; /* of a chunk at most */

struct layout {
    uint32_t lead, elements, tail; /* raw bytes, and between them elements */
    uint32_t segment_log2, segments, listed;
    uint32_t lengths, bits; /* where they begin in the stored bytes */
    uint64_t list;          /* bytes of the list */

    /* Elements of a segment. */
    __device__ uint32_t elements_of(uint32_t segment) const
    {
        return min(elements - (segment << segment_log2), 1u << segment_log2);
    }
};

/* False: the chunk has no elements. */
__device__ inline bool lay_out(const head &h, uint32_t raw_length, uint32_t segment_log2,
                               uint32_t listed, layout *l)
{
    const uint32_t size = h.f64 ? 8 : 4;

    if (raw_length < h.lead + size)
        return false;
    l->lead = h.lead;
    l->elements = (raw_length - h.lead) / size;
    l->tail = raw_length - h.lead - l->elements * size;
    l->segment_log2 = segment_log2;
    l->segments = ((l->elements - 1) >> segment_log2) + 1;
    l->listed = listed;
    l->lengths = 1 + (listed ? 4 : 0) + l->lead + l->tail;
    l->bits = l->lengths + 2 * l->segments;
    l->list = (uint64_t)listed * (4 + size);
    return true;
}
} // namespace bale_cusz

#endif
