/* float on the device: encoding a chunk. A block does it in shared memory. */
#ifndef BALE_KERNELS_FLOAT_ENCODE_CUH
#define BALE_KERNELS_FLOAT_ENCODE_CUH

#include "kernels/codec/lists.h"
#include "kernels/codec/shared.cuh"
#include "kernels/float/integers.cuh"
#include "kernels/float/planes.cuh"
#include "kernels/float/sums.cuh"

namespace bale_float
{
/* Of a cell's groups. */
struct group_places {
    uint64_t widths[BLOCKS_MAX]; /* at first what each group needs, in bytes */
    uint32_t planes_at[BLOCKS_MAX];
};

struct encode_shared {
    uint4 values[BALE_CUDA_CELL / sizeof(uint4) + 1]; /* one more, which copies read */
    group_places groups;
    marks m;
    warp_values room;
};

/* A chunk that is encoded. */
struct target {
    const uint8_t *raw;
    uint32_t raw_length, limit;
    uint8_t *out;
};

/* By a block: what each group needs. */
template <typename T>
__device__ inline void find_needs(group_places *groups, T *values, uint32_t count)
{
    const uint32_t blocks = (count + FLOAT_BLOCK - 1) / FLOAT_BLOCK;
    const uint32_t there = (count + FLOAT_GROUP - 1) / FLOAT_GROUP;
    uint8_t *needs = (uint8_t *)groups->widths;

    if (count + threadIdx.x < there * FLOAT_GROUP)
        values[count + threadIdx.x] = 0;
    __syncthreads();
    for (uint32_t g = threadIdx.x; g < 8 * blocks; g += THREADS)
        needs[g] = g < there ? (uint8_t)need_of(load_group(values, g)) : 0;
    __syncthreads();
}

/* By a block: the groups' planes to the beginning of the values. None of them reaches behind its own
 * group, so a round overwrites what it or an earlier round has read. */
template <typename T>
__device__ inline void pack_planes(const group_places *groups, T *values, uint32_t count)
{
    const uint32_t there = (count + FLOAT_GROUP - 1) / FLOAT_GROUP;

    for (uint32_t first = 0; first < there; first += THREADS) {
        const uint32_t g = first + threadIdx.x;
        planes<T> p = {};
        if (g < there)
            p = planes_of(load_group(values, g));
        __syncthreads();
        if (g < there) {
            const uint64_t all = groups->widths[g / 8];
            store_planes(p, (uint32_t)(all >> 8 * (g % 8) & 0xff),
                         (uint8_t *)values + groups->planes_at[g / 8] + sum_of_first(all, g % 8));
        }
        __syncthreads();
    }
}

/* By a thread: a block's header and deltas. */
__device__ inline void write_widths(const widths &w, uint8_t *header, uint8_t *deltas)
{
    *header = (uint8_t)w.header;
    for (uint32_t k = 0; k < w.bits; k++)
        deltas[k] = delta_byte(w.deltas, k);
}

/* By a block: the bytes before and behind the elements. */
__device__ inline void write_ends(const extents &its, const target &to)
{
    if (threadIdx.x < its.lead)
        to.out[threadIdx.x] = to.raw[threadIdx.x];
    if (threadIdx.x < its.tail)
        to.out[its.lead + threadIdx.x] = to.raw[to.raw_length - its.tail + threadIdx.x];
}

/* By a block: writes the bits behind the planes, `bits` of them. */
template <typename T>
__device__ inline void write_bits(encode_shared *s, const float_map &map,
                                  const pattern_source &from, uint32_t count,
                                  const bits_behind &bits, uint8_t *out)
{
    uint32_t *words = (uint32_t *)s->values;

    if (bits.all == 0)
        return;
    __syncthreads();
    if (map.high > 0)
        put_raw_bits<T>(map, from, count, bits.all, bits.before, 0, words);
    else
        put_exceptions<T>(from, count, &s->m, words);
    copy_out(out, (const uint8_t *)words, (bits.all + 7) / 8);
}

/* By a block: encodes a chunk. Returns the length, or 0 if it is more than the limit. */
template <typename T>
__device__ inline uint32_t encode_chunk(encode_shared *s, const float_layout &l, const target &to)
{
    const extents its = extents_of(l, to.raw_length);
    const float_map map = map_of<T>(l);
    const pattern_source from = {to.raw + its.lead, l.big_endian};
    const uint32_t blocks = (its.count + FLOAT_BLOCK - 1) / FLOAT_BLOCK;
    const uint32_t ends = its.lead + its.tail, b = threadIdx.x;
    const uint32_t groups = groups_there(its.count, b);
    uint32_t deltas = 0, planes = 0;
    T *values = (T *)s->values;

    const bits_behind bits = map_all(map, from, its.count, values, &s->m, &s->room);
    subtract_all(l, values, its.count);
    find_needs(&s->groups, values, its.count);
    widths w = {};
    if (b < blocks)
        w = choose_widths(s->groups.widths[b], groups, element<T>::BITS);
    const uint32_t deltas_at = sum_before(w.bits, &s->room, &deltas);
    const uint32_t planes_at = sum_before(sum_of_bytes(w.widths), &s->room, &planes);
    const uint32_t before_planes = ends + blocks + deltas;
    const uint32_t length = before_planes + planes + (bits.all + 7) / 8;
    if (length > to.limit)
        return 0;
    if (b < blocks) {
        s->groups.widths[b] = w.widths;
        s->groups.planes_at[b] = planes_at;
        write_widths(w, to.out + ends + b, to.out + ends + blocks + deltas_at);
    }
    write_ends(its, to);
    __syncthreads();
    pack_planes(&s->groups, values, its.count);
    copy_out(to.out + before_planes, (const uint8_t *)values, planes);
    write_bits<T>(s, map, from, its.count, bits, to.out + before_planes + planes);
    return length;
}

/* A block for each chunk. Of one of several cells (cells.cuh) it says that it does not fit. */
__global__ void __launch_bounds__(THREADS, 2) encode(const cuda_chunk *chunks, cuda_lists lists)
{
    const uint32_t c = blockIdx.x;
    const cuda_chunk chunk = chunks[c];
    const target to = {lists.raw + (size_t)c * BALE_CUDA_CELL, chunk.raw_length, chunk.limit,
                       lists.packed + c * lists.packed_cell};
    encode_shared *s = (encode_shared *)bale_shared::memory;
    uint32_t length = 0;
    float_layout l;

    if (chunk.whole <= BALE_CUDA_CELL &&
        read_part(lists.parts + (size_t)chunk.frame * BALE_CUDA_PART,
                  lists.made[chunk.frame].length, &l))
        length = l.size_log2 == 1   ? encode_chunk<uint16_t>(s, l, to)
                 : l.size_log2 == 2 ? encode_chunk<uint32_t>(s, l, to)
                                    : encode_chunk<uint64_t>(s, l, to);
    if (threadIdx.x == 0) {
        lists.packed_lengths[c] = length;
        lists.statuses[c] = 0;
    }
}
} // namespace bale_float

#endif
