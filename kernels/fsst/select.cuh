/* fsst on the device: the best of the candidates for symbols (learn.cuh). */
#ifndef BALE_KERNELS_FSST_SELECT_CUH
#define BALE_KERNELS_FSST_SELECT_CUH

#include "kernels/fsst/learn_shared.cuh"

namespace bale_fsst
{
/* By a block: the best candidate of each slot: the greatest rank, then the least bytes. */
__device__ inline void keep_best_of_slots(learn_shared *s, uint32_t count)
{
    const candidates *c = &s->c;
    const auto rank = [c](uint32_t i) { return c->gain[i] << LENGTH_BITS | c->length[i]; };

    for (uint32_t i = threadIdx.x; i < SLOTS; i += LEARN_THREADS) {
        s->slot_rank[i] = 0;
        s->slot_bytes[i] = ~0ull;
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < count; i += LEARN_THREADS)
        if (c->length[i] > 0)
            atomicMax(&s->slot_rank[slot_of(c->bytes[i], c->length[i])], rank(i));
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < count; i += LEARN_THREADS)
        if (c->length[i] > 0) {
            const uint32_t slot = slot_of(c->bytes[i], c->length[i]);
            if (s->slot_rank[slot] == rank(i))
                atomicMin(&s->slot_bytes[slot], c->bytes[i]);
        }
    __syncthreads();
}

/* The slots of a thread; the candidates in them are read once. */
struct own_slots {
    uint32_t rank[OF_THREAD];
    unsigned long long bytes[OF_THREAD];
};

__device__ inline own_slots take_slots(const learn_shared *s)
{
    own_slots own;

    for (uint32_t j = 0; j < OF_THREAD; j++) {
        const uint32_t slot = threadIdx.x + j * LEARN_THREADS;
        own.rank[j] = slot < SLOTS ? s->slot_rank[slot] : 0;
        own.bytes[j] = slot < SLOTS ? s->slot_bytes[slot] : 0;
    }
    return own;
}

/* The bin of a rank, 1 or more; better ones have greater numbers. */
__device__ inline uint32_t bin_of(uint32_t rank)
{
    const uint32_t down = 31 - (uint32_t)__clz((int)(rank | 1u << BIN_BITS)) - BIN_BITS;

    return (down << BIN_BITS) + (rank >> down);
}

/* What a candidate takes of the room: 1, or its length. */
__device__ inline uint32_t weight_of(uint32_t rank, bool by_length)
{
    return by_length ? rank & LENGTH_MASK : 1;
}

/* By a block: finds the bin of the first candidate for which there is no room. */
__device__ inline void find_border(learn_shared *s, const own_slots &own, bool by_length,
                                   uint32_t room)
{
    selection *best = &s->best;
    uint32_t all;

    __syncthreads(); /* a search before this one is over */
    for (uint32_t i = threadIdx.x; i < BINS; i += LEARN_THREADS)
        best->bin[i] = 0;
    if (threadIdx.x == 0) {
        best->count = 0;
        best->border = BINS;
    }
    __syncthreads();
    for (uint32_t j = 0; j < OF_THREAD; j++)
        if (own.rank[j] != 0)
            atomicAdd(&best->bin[bin_of(own.rank[j])], weight_of(own.rank[j], by_length));
    __syncthreads();
    const uint32_t bin = BINS - 1 - threadIdx.x; /* of threads from BINS on there is none */
    const uint32_t weight = threadIdx.x < BINS ? best->bin[bin] : 0;
    const uint32_t above = sum_before(weight, s->sums, &all);
    if (above <= room && above + weight > room) {
        best->border = bin;
        best->above = above;
    }
    __syncthreads();
}

/* By a thread: what the candidates of the border's bin weigh up to this one. */
__device__ inline uint32_t weigh_upto(const selection *best, uint32_t rank,
                                      unsigned long long bytes, bool by_length)
{
    uint32_t weight = 0;

    for (uint32_t i = 0; i < best->count; i++)
        if (best->rank[i] > rank || (best->rank[i] == rank && best->bytes[i] <= bytes))
            weight += weight_of(best->rank[i], by_length);
    return weight;
}

/* By a block: drops all but the best candidates, up to the first that has no room. Candidates of
 * the border's bin, of which there are few, are compared with each other. */
__device__ inline void keep_best(learn_shared *s, own_slots *own, bool by_length, uint32_t room)
{
    selection *best = &s->best;

    find_border(s, *own, by_length, room);
    if (best->border == BINS) /* for all threads */
        return;
    for (uint32_t j = 0; j < OF_THREAD; j++)
        if (own->rank[j] != 0 && bin_of(own->rank[j]) == best->border) {
            const uint32_t i = atomicAdd(&best->count, 1u);
            best->rank[i] = own->rank[j];
            best->bytes[i] = own->bytes[j];
        }
    __syncthreads();
    for (uint32_t j = 0; j < OF_THREAD; j++) {
        const uint32_t bin = own->rank[j] != 0 ? bin_of(own->rank[j]) : 0;
        if (bin < best->border ||
            (bin == best->border &&
             best->above + weigh_upto(best, own->rank[j], own->bytes[j], by_length) > room))
            own->rank[j] = 0;
    }
}
} // namespace bale_fsst

#endif
