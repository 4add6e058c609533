/* float on the device: decoding a chunk. A block does it in shared memory; the bytes are hostile. */
#ifndef BALE_KERNELS_FLOAT_DECODE_CUH
#define BALE_KERNELS_FLOAT_DECODE_CUH

#include "kernels/codec/lists.h"
#include "kernels/codec/shared.cuh"
#include "kernels/float/planes.cuh"
#include "kernels/float/sums.cuh"

namespace bale_float
{
constexpr uint32_t CELL_VECTORS = BALE_CUDA_CELL / sizeof(uint4);

struct decode_shared {
    uint4 values[CELL_VECTORS + 1]; /* one more, which copies read */
    uint64_t widths[BLOCKS_MAX];
    uint32_t planes_at[BLOCKS_MAX];
    partial_sums sums;
    warp_values room;
};

/* A chunk that is decoded: its sections begin at these bytes of its cell. */
struct sections {
    const uint8_t *cell;
    uint32_t planes, bits, bits_length;
};

/* By a block: reads the headers and deltas, and finds the sections. False, for all threads: a rule
 * is broken. */
__device__ inline bool split(decode_shared *s, const extents &its, unsigned size_bits,
                             uint32_t length, sections *to)
{
    const uint32_t ends = its.lead + its.tail, b = threadIdx.x;
    const uint32_t blocks = (its.count + FLOAT_BLOCK - 1) / FLOAT_BLOCK;
    uint32_t deltas, all;
    widths w = {};

    if (ends + blocks > length)
        return false;
    const uint32_t header = b < blocks ? to->cell[ends + b] : 0;
    const uint32_t before = sum_before(header >> 6, &s->room, &deltas);
    if (ends + blocks + deltas > length)
        return false;
    const bool fine = b >= blocks || read_widths(header, to->cell + ends + blocks + before,
                                                 groups_there(its.count, b), size_bits, &w);
    if (!__syncthreads_and(fine))
        return false;
    const uint32_t at = sum_before(sum_of_bytes(w.widths), &s->room, &all);
    if (b < blocks) {
        s->widths[b] = w.widths;
        s->planes_at[b] = at;
    }
    to->planes = ends + blocks + deltas;
    to->bits = to->planes + all;
    to->bits_length = length - to->bits;
    return to->bits <= length;
}

/* By a block: the planes to the integers' differences. */
template <typename T>
__device__ inline void join_planes(decode_shared *s, uint32_t count, const sections &from)
{
    for (uint32_t g = threadIdx.x; g * FLOAT_GROUP < count; g += THREADS) {
        const uint64_t all = s->widths[g / 8];
        const uint32_t at = from.planes + s->planes_at[g / 8] + sum_of_first(all, g % 8);
        store_group((T *)s->values, g,
                    load_planes<T>(from.cell, at, (uint32_t)(all >> 8 * (g % 8) & 0xff)));
    }
}

/* `bits` bits, 1 or more and less than 64, from bit `at` of a cell on. Reads words that hold some of
 * them. */
__device__ inline uint64_t load_bits(const uint8_t *cell, uint32_t at, unsigned bits)
{
    const uint32_t *words = (const uint32_t *)cell;
    const uint32_t first = at / 32, last = (at + bits - 1) / 32;
    const uint32_t a = __ldg(words + first), b = __ldg(words + min(first + 1, last)),
                   c = __ldg(words + last);
    const uint64_t both =
        (uint64_t)__funnelshift_r(b, c, at % 32) << 32 | __funnelshift_r(a, b, at % 32);

    return both & ((UINT64_C(1) << bits) - 1);
}

/* By a block: integers of a fixed point to patterns. False, for all threads: the raw bits are not as
 * many, or those behind them are not zero. */
template <typename T>
__device__ inline bool take_bits(decode_shared *s, const float_map &map, uint32_t count,
                                 const sections &from)
{
    T *values = (T *)s->values;
    const span mine = span_of(count, 32);
    const uint32_t lane = bale_warp::lane();
    uint32_t bits = 0, total;

    for (uint32_t i = mine.first + lane; i < mine.end; i += 32)
        bits += raw_bits_of(map, (T)(values[i] ^ sign_of(values[i])));
    bits = sum_of_warps_before(sum_of_lanes(bits), &s->room, &total);
    if ((total + 7) / 8 != from.bits_length ||
        (total % 8 != 0 && from.cell[from.bits + total / 8] >> total % 8 != 0))
        return false;
    for (uint32_t tile = mine.first; tile < mine.end; tile += 32) {
        const uint32_t i = tile + lane;
        const T q = i < mine.end ? values[i] : 0, sign = sign_of(q), a = (T)(q ^ sign);
        const uint32_t its = raw_bits_of(map, a), upto = sum_upto(its);
        const uint64_t raw =
            its > 0 ? load_bits(from.cell, 8 * from.bits + bits + upto - its, its) : 0;
        if (i < mine.end)
            values[i] = join_sign(map, unfix(map, a, its, raw), sign);
        bits += __shfl_sync(bale_warp::ALL, upto, 31);
    }
    return true;
}

/* By a block: puts the exceptions of decimals into their places. False, for all threads: a rule is
 * broken. */
template <typename T>
__device__ inline bool take_exceptions(decode_shared *s, uint32_t count, const sections &from)
{
    const uint32_t exceptions = from.bits_length / element<T>::EXCEPTION;
    bool fine = from.bits_length % element<T>::EXCEPTION == 0;

    for (uint32_t k = threadIdx.x; k < exceptions; k += THREADS) {
        const uint8_t *at = from.cell + from.bits + k * element<T>::EXCEPTION;
        const uint32_t i = load_element<uint32_t>(at, false);
        fine = fine && i < count &&
               (k == 0 || load_element<uint32_t>(at - element<T>::EXCEPTION, false) < i);
        if (fine)
            ((T *)s->values)[i] = load_element<T>(at + sizeof i, false);
    }
    return __syncthreads_and(fine);
}

/* By a block: integers to patterns. False, for all threads: a rule is broken. */
template <typename T>
__device__ inline bool unmap(decode_shared *s, const float_layout &l, uint32_t count,
                             const sections &from)
{
    const float_map map = map_of<T>(l);
    T *values = (T *)s->values;
    bool fine = true;

    if (map.high > 0) {
        fine = take_bits<T>(s, map, count, from);
    } else {
        for (uint32_t i = threadIdx.x; i < count; i += THREADS)
            values[i] = unmap_element(map, values[i]);
        __syncthreads();
        fine = map.is_decimal ? take_exceptions<T>(s, count, from) : from.bits_length == 0;
    }
    __syncthreads();
    if (!fine || !l.big_endian)
        return fine;
    for (uint32_t i = threadIdx.x; i < count; i += THREADS)
        values[i] = swapped(values[i]);
    __syncthreads();
    return true;
}

/* By a block: decodes a chunk to the shared values, and the bytes before and behind its elements to
 * raw. False, for all threads: it breaks a rule. */
template <typename T>
__device__ inline bool decode_chunk(decode_shared *s, const float_layout &l, const uint8_t *in,
                                    uint32_t length, uint8_t *raw, uint32_t raw_length)
{
    const extents its = extents_of(l, raw_length);
    sections from = {in, 0, 0, 0};

    if (!split(s, its, element<T>::BITS, length, &from))
        return false;
    __syncthreads();
    join_planes<T>(s, its.count, from);
    __syncthreads();
    add_all(l, (T *)s->values, its.count, &s->room, &s->sums);
    if (!unmap<T>(s, l, its.count, from))
        return false;
    copy_out(raw + its.lead, (const uint8_t *)s->values, its.count * sizeof(T));
    if (threadIdx.x < its.lead)
        raw[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x < its.tail)
        raw[raw_length - its.tail + threadIdx.x] = in[its.lead + threadIdx.x];
    return true;
}

/* To: the chunks' cells. Chunks without a stream are skipped. */
__global__ void __launch_bounds__(THREADS, 2)
    decode(const cuda_chunk *chunks, cuda_lists lists, void *const *to)
{
    const uint32_t c = blockIdx.x, raw_length = chunks[c].raw_length, frame = chunks[c].frame;
    const uint8_t *in = (const uint8_t *)lists.decode_from[c];
    const uint32_t length = (uint32_t)lists.decode_from_lengths[c];
    decode_shared *s = (decode_shared *)bale_shared::memory;
    uint8_t *raw = (uint8_t *)to[c];
    float_layout l;

    if (length == 0)
        return;
    bool fine =
        chunks[c].chunk_size <= BALE_CUDA_CELL &&
        read_part(lists.parts + (size_t)frame * BALE_CUDA_PART, lists.made[frame].length, &l);
    if (fine)
        fine = l.size_log2 == 1   ? decode_chunk<uint16_t>(s, l, in, length, raw, raw_length)
               : l.size_log2 == 2 ? decode_chunk<uint32_t>(s, l, in, length, raw, raw_length)
                                  : decode_chunk<uint64_t>(s, l, in, length, raw, raw_length);
    if (threadIdx.x == 0) {
        lists.statuses[c] = !fine;
        lists.decoded_lengths[c] = fine ? raw_length : 0;
    }
}
} // namespace bale_float

#endif
