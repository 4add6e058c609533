/* A batch in parts, each of as many chunks as there is working memory for. */
#ifndef BALE_KERNELS_CODEC_PARTS_CUH
#define BALE_KERNELS_CODEC_PARTS_CUH

#include "kernels/codec/codec.cuh"

namespace bale_parts
{
/* The chunks [first, first + count) of a batch. */
inline cuda_batch part_of(const cuda_batch *b, uint32_t first, uint32_t count)
{
    cuda_batch part = *b;
    cuda_lists *l = &part.lists;

    part.host += first;
    part.chunks += first;
    part.count = count;
    part.to += first;
    l->raw += (size_t)first * BALE_CUDA_CELL;
    l->packed += first * l->packed_cell;
    if (l->back)
        l->back += (size_t)first * BALE_CUDA_CELL;
    l->raw_addresses += first;
    l->packed_addresses += first;
    l->back_addresses += first;
    l->lengths += first;
    l->packed_lengths += first;
    l->decode_from += first;
    l->decode_from_lengths += first;
    l->decode_room += first;
    l->decoded_lengths += first;
    l->statuses += first;
    return part;
}

/* Calls step(const cuda_batch *) for one part after the other, which are of about the same size, so
 * that none leaves most of the device idle. room: the codec's. */
template <typename STEP> cudaError_t in_parts(const cuda_batch *b, size_t room, STEP step)
{
    const uint32_t most = (uint32_t)(b->temp_bytes / room);
    const uint32_t parts = (b->count + most - 1) / most, each = (b->count + parts - 1) / parts;
    cudaError_t error = cudaSuccess;

    for (uint32_t first = 0; first < b->count && !error; first += each) {
        const uint32_t left = b->count - first;
        const cuda_batch part = part_of(b, first, left < each ? left : each);
        error = step(&part);
    }
    return error;
}
} // namespace bale_parts

#endif
