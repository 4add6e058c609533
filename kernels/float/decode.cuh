/* float on the device: decoding a chunk. A block does it, in shared memory if the chunk has one cell,
 * else in the cells to which it decodes; the bytes are hostile. */
#ifndef BALE_KERNELS_FLOAT_DECODE_CUH
#define BALE_KERNELS_FLOAT_DECODE_CUH

#include "kernels/codec/lists.h"
#include "kernels/codec/shared.cuh"
#include "kernels/float/planes.cuh"
#include "kernels/float/sums.cuh"

namespace bale_float
{
constexpr uint32_t CELL_VECTORS = BALE_CUDA_CELL / sizeof(uint4);

/* Of all blocks of a chunk of at most so many. */
template <uint32_t BLOCKS> struct block_places {
    uint64_t widths[BLOCKS];
    uint32_t planes_at[BLOCKS];
};

struct sum_room {
    partial_sums sums;
    warp_values warps;
};

struct decode_shared {
    uint4 values[CELL_VECTORS + 1]; /* one more, which copies read */
    block_places<BLOCKS_MAX> places;
    sum_room room;
};

struct decode_cells_shared {
    block_places<FLOAT_CHUNK / sizeof(uint16_t) / FLOAT_BLOCK> places;
    sum_room room;
};

/* What a block decodes with: the chunk's values, and room for its blocks of elements. */
struct decoder {
    void *values;
    uint64_t *widths;
    uint32_t *planes_at;
    sum_room *room;
};

/* A chunk that is decoded: its sections begin at these bytes of its cell. */
struct sections {
    const uint8_t *cell;
    uint32_t planes, bits, bits_length;
};

/* By a block: reads the headers and deltas, and finds the sections. False, for all threads: a rule
 * is broken. */
__device__ inline bool split(const decoder &d, const extents &its, unsigned size_bits,
                             uint32_t length, sections *to)
{
    const uint32_t ends = its.lead + its.tail;
    const uint32_t blocks = (its.count + FLOAT_BLOCK - 1) / FLOAT_BLOCK;
    uint32_t deltas = ends + blocks, planes = 0, all;

    if (deltas > length)
        return false;
    for (uint32_t first = 0; first < blocks; first += THREADS) {
        const uint32_t b = first + threadIdx.x;
        const uint32_t header = b < blocks ? to->cell[ends + b] : 0;
        const uint32_t at = deltas + sum_before(header >> 6, &d.room->warps, &all);
        widths w = {};
        deltas += all;
        if (deltas > length)
            return false;
        const bool fine = b >= blocks || read_widths(header, to->cell + at,
                                                     groups_there(its.count, b), size_bits, &w);
        if (!__syncthreads_and(fine))
            return false;
        const uint32_t before = sum_before(sum_of_bytes(w.widths), &d.room->warps, &all);
        if (b < blocks) {
            d.widths[b] = w.widths;
            d.planes_at[b] = planes + before;
        }
        planes += all;
    }
    to->planes = deltas;
    to->bits = deltas + planes;
    to->bits_length = length - to->bits;
    return to->bits <= length;
}

/* By a block: the planes to the integers' differences. */
template <typename T>
__device__ inline void join_planes(const decoder &d, uint32_t count, const sections &from)
{
    for (uint32_t g = threadIdx.x; g * FLOAT_GROUP < count; g += THREADS) {
        const uint64_t all = d.widths[g / 8];
        const uint32_t at = from.planes + d.planes_at[g / 8] + sum_of_first(all, g % 8);
        store_group((T *)d.values, g,
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

/* The raw bits behind the first `there` of a vector's integers. */
template <typename T>
__device__ inline uint32_t raw_bits_of_vector(const float_map &map, const vector<T> &v,
                                              uint32_t there)
{
    uint32_t bits = 0;

#pragma unroll
    for (unsigned k = 0; k < vector<T>::VALUES; k++)
        if (k < there)
            bits += raw_bits_of(map, (T)(v.at[k] ^ sign_of(v.at[k])));
    return bits;
}

/* The patterns of the first `there` of a vector's integers, with the raw bits from bit `at` of the
 * cell on. */
template <typename T>
__device__ inline vector<T> join_bits(const float_map &map, vector<T> v, uint32_t there,
                                      const uint8_t *cell, uint32_t at)
{
#pragma unroll
    for (unsigned k = 0; k < vector<T>::VALUES; k++) {
        const T sign = sign_of(v.at[k]), a = (T)(v.at[k] ^ sign);
        const uint32_t its = k < there ? raw_bits_of(map, a) : 0;
        const uint64_t raw = its > 0 ? load_bits(cell, at, its) : 0;
        v.at[k] = join_sign(map, unfix(map, a, its, raw), sign);
        at += its;
    }
    return v;
}

/* By a block: integers of a fixed point to patterns. False, for all threads: the raw bits are not as
 * many, or those behind them are not zero. */
template <typename T>
__device__ inline bool take_bits(const decoder &d, const float_map &map, uint32_t count,
                                 const sections &from)
{
    constexpr uint32_t N = vector<T>::VALUES, TILE = 32 * N;
    const span mine = span_of(count, TILE);
    const uint32_t lane_at = N * bale_warp::lane();
    uint4 *vectors = (uint4 *)d.values;
    uint32_t bits = 0, total;

    for (uint32_t i = mine.first + lane_at; i < mine.end; i += TILE) {
        vector<T> v;
        v.all = vectors[i / N];
        bits += raw_bits_of_vector(map, v, mine.end - i);
    }
    bits = sum_of_warps_before(sum_of_lanes(bits), &d.room->warps, &total);
    if ((total + 7) / 8 != from.bits_length ||
        (total % 8 != 0 && from.cell[from.bits + total / 8] >> total % 8 != 0))
        return false;
    for (uint32_t tile = mine.first; tile < mine.end; tile += TILE) {
        const uint32_t i = tile + lane_at, there = i < mine.end ? mine.end - i : 0;
        vector<T> v = {};
        if (there > 0)
            v.all = vectors[i / N];
        const uint32_t its = raw_bits_of_vector(map, v, there), upto = sum_upto(its);
        if (there > 0)
            vectors[i / N] =
                join_bits(map, v, there, from.cell, 8 * from.bits + bits + upto - its).all;
        bits += __shfl_sync(bale_warp::ALL, upto, 31);
    }
    return true;
}

/* By a block: puts the exceptions of decimals into their places. False, for all threads: a rule is
 * broken. */
template <typename T>
__device__ inline bool take_exceptions(const decoder &d, uint32_t count, const sections &from)
{
    const uint32_t exceptions = from.bits_length / element<T>::EXCEPTION;
    bool fine = from.bits_length % element<T>::EXCEPTION == 0;

    for (uint32_t k = threadIdx.x; k < exceptions; k += THREADS) {
        const uint8_t *at = from.cell + from.bits + k * element<T>::EXCEPTION;
        const uint32_t i = load_element<uint32_t>(at, false);
        fine = fine && i < count &&
               (k == 0 || load_element<uint32_t>(at - element<T>::EXCEPTION, false) < i);
        if (fine)
            ((T *)d.values)[i] = load_element<T>(at + sizeof i, false);
    }
    return __syncthreads_and(fine);
}

/* By a block: integers to patterns. False, for all threads: a rule is broken. */
template <typename T>
__device__ inline bool unmap(const decoder &d, const float_layout &l, uint32_t count,
                             const sections &from)
{
    const float_map map = map_of<T>(l);
    T *values = (T *)d.values;
    bool fine = true;

    if (map.high > 0) {
        fine = take_bits<T>(d, map, count, from);
    } else {
        for (uint32_t i = threadIdx.x; i < count; i += THREADS)
            values[i] = unmap_element(map, values[i]);
        __syncthreads();
        fine = map.is_decimal ? take_exceptions<T>(d, count, from) : from.bits_length == 0;
    }
    __syncthreads();
    if (!fine || !l.big_endian)
        return fine;
    for (uint32_t i = threadIdx.x; i < count; i += THREADS)
        values[i] = swapped(values[i]);
    __syncthreads();
    return true;
}

/* By a block: moves bytes from the beginning of cells to `by` bytes behind it, less than 16. */
__device__ inline void move_behind(uint8_t *bytes, uint32_t length, uint32_t by)
{
    for (uint32_t first = (length + THREADS - 1) / THREADS * THREADS; first > 0 && by > 0;) {
        first -= THREADS;
        const uint32_t i = first + threadIdx.x;
        const uint8_t its = i < length ? bytes[i] : 0;
        __syncthreads();
        if (i < length)
            bytes[i + by] = its;
        __syncthreads();
    }
}

/* By a block: decodes a chunk to raw; values may be its beginning. False, for all threads: it breaks
 * a rule. */
template <typename T>
__device__ inline bool decode_chunk(const decoder &d, const float_layout &l, const uint8_t *in,
                                    uint32_t length, uint8_t *raw, uint32_t raw_length)
{
    const extents its = extents_of(l, raw_length);
    sections from = {in, 0, 0, 0};

    if (!split(d, its, element<T>::BITS, length, &from))
        return false;
    __syncthreads();
    join_planes<T>(d, its.count, from);
    __syncthreads();
    add_all(l, (T *)d.values, its.count, &d.room->warps, &d.room->sums);
    if (!unmap<T>(d, l, its.count, from))
        return false;
    if (d.values == raw)
        move_behind(raw, its.count * (uint32_t)sizeof(T), its.lead);
    else
        copy_out(raw + its.lead, (const uint8_t *)d.values, its.count * sizeof(T));
    if (threadIdx.x < its.lead)
        raw[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x < its.tail)
        raw[raw_length - its.tail + threadIdx.x] = in[its.lead + threadIdx.x];
    return true;
}

/* By a block: decodes chunk c, of at most so many bytes, if it has a stream. */
__device__ inline void decode_any(const cuda_lists &lists, const cuda_chunk &chunk, uint32_t c,
                                  const decoder &d, uint8_t *raw, uint32_t most)
{
    const uint8_t *in = (const uint8_t *)lists.decode_from[c];
    const uint32_t length = (uint32_t)lists.decode_from_lengths[c], whole = chunk.whole;
    const uint8_t *part = lists.parts + (size_t)chunk.frame * BALE_CUDA_PART;
    float_layout l;

    if (length == 0)
        return;
    bool fine = whole <= most && read_part(part, lists.made[chunk.frame].length, &l);
    if (fine)
        fine = l.size_log2 == 1   ? decode_chunk<uint16_t>(d, l, in, length, raw, whole)
               : l.size_log2 == 2 ? decode_chunk<uint32_t>(d, l, in, length, raw, whole)
                                  : decode_chunk<uint64_t>(d, l, in, length, raw, whole);
    if (threadIdx.x == 0) {
        lists.statuses[c] = !fine;
        lists.decoded_lengths[c] = fine ? whole : 0;
    }
}

/* To: the chunks' cells. Chunks of several cells are decode_cells()'s. */
__global__ void __launch_bounds__(THREADS, 2)
    decode(const cuda_chunk *chunks, cuda_lists lists, void *const *to)
{
    const uint32_t c = blockIdx.x;
    const cuda_chunk chunk = chunks[c];
    decode_shared *s = (decode_shared *)bale_shared::memory;
    const decoder d = {s->values, s->places.widths, s->places.planes_at, &s->room};

    if (chunk.whole <= BALE_CUDA_CELL)
        decode_any(lists, chunk, c, d, (uint8_t *)to[c], BALE_CUDA_CELL);
}

/* A block for each cell, which works if its chunk begins there, and has several. */
__global__ void __launch_bounds__(THREADS, 2)
    decode_cells(const cuda_chunk *chunks, cuda_lists lists, void *const *to)
{
    const uint32_t c = blockIdx.x;
    const cuda_chunk chunk = chunks[c];
    decode_cells_shared *s = (decode_cells_shared *)bale_shared::memory;
    const decoder d = {to[c], s->places.widths, s->places.planes_at, &s->room};

    if (chunk.whole > BALE_CUDA_CELL && chunk.first == c)
        decode_any(lists, chunk, c, d, (uint8_t *)to[c], FLOAT_CHUNK);
}
} // namespace bale_float

#endif
