#include "kernels/cuda/bulk.cuh"

extern "C" {
#include "kernels/cuda/pinned.h"
}

namespace
{
constexpr size_t MOST = 256; /* copies in one call of the driver */

/* Copies that are collected for one call. The last of them, next, may still grow. */
struct bulk {
    struct cuda_pinned *pinned;
    cudaStream_t stream;
    size_t count;
    void *to[MOST];
    const void *from[MOST];
    size_t length[MOST];
    cuda_move next; /* length 0: none */
};

cudaError_t submit_copies(bulk *b)
{
    cudaError_t error = cudaSuccess;

#if CUDART_VERSION >= 13000
    cudaMemcpyAttributes as = {};
    size_t first = 0;

    as.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    if (b->count > 0)
        error =
            cudaMemcpyBatchAsync(b->to, b->from, b->length, b->count, &as, &first, 1, b->stream);
#else
    error = cudaErrorNotSupported;
#endif
    b->count = 0;
    return error;
}

/* Adds the copy next to the list, in pieces that the driver can copy. */
cudaError_t split_move(bulk *b)
{
    cuda_move *m = &b->next;
    cudaError_t error = cudaSuccess;

    while (m->length > 0 && !error) {
        size_t length = m->length;
        if (b->pinned)
            length = bale_cuda_pinned_part(b->pinned, (void *)m->to, (void *)m->from, length);
        if (b->count == MOST)
            error = submit_copies(b);
        b->to[b->count] = (void *)m->to;
        b->from[b->count] = (const void *)m->from;
        b->length[b->count++] = length;
        *m = cuda_move{m->from + length, m->to + length, m->length - length};
    }
    return error;
}

/* Whether one move continues the other on both sides, in memory that is known to be one range:
 * the device's memory may belong to the process, in several allocations. */
bool continues(const bulk *b, cuda_move m, cuda_move next)
{
    return m.from + m.length == next.from && m.to + m.length == next.to && b->pinned &&
           (bale_cuda_pinned_has(b->pinned, (void *)next.from, next.length) ||
            bale_cuda_pinned_has(b->pinned, (void *)next.to, next.length));
}

cudaError_t add_move(bulk *b, cuda_move move)
{
    cudaError_t error = cudaSuccess;

    if (continues(b, b->next, move)) {
        b->next.length += move.length;
    } else {
        error = split_move(b);
        b->next = move;
    }
    return error;
}
} // namespace

cudaError_t bale_cuda_bulk(const struct bale_cuda_slot *slot, uint32_t count, cudaStream_t stream)
{
    bulk b = {};
    cudaError_t error = cudaSuccess;

    b.pinned = slot->device->settings.pinned;
    b.stream = stream;
    for (uint32_t m = 0; m < count && !error; m++)
        error = add_move(&b, slot->host.moves[m]);
    if (!error)
        error = split_move(&b);
    return error ? error : submit_copies(&b);
}
