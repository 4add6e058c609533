/* float on the device: decoding a chunk. A block does it, in shared memory if the chunk has one
 * cell, else in the cells to which it decodes; the bytes are hostile. */
#ifndef BALE_KERNELS_FLOAT_DECODE_CUH
#define BALE_KERNELS_FLOAT_DECODE_CUH

#include "kernels/codec/lists.h"
#include "kernels/codec/shared.cuh"
#include "kernels/float/passes.cuh"
#include "kernels/float/sections.cuh"

namespace bale_float
{
/* Of rows before a tile, at most: two blocks share a multiprocessor. */
constexpr uint32_t ROWS_BYTES = 24 << 10;

struct decode_shared {
    uint4 values[BALE_CUDA_CELL / sizeof(uint4) + 1]; /* one more, which copies read */
    uint64_t widths[BLOCKS_MAX];
    uint32_t planes_at[BLOCKS_MAX];
    block_places next; /* of the first block behind the first tile */
    sum_room room;
    uint4 rows[ROWS_BYTES / sizeof(uint4)]; /* only where chunks have several cells */
};

__device__ inline void keep_widths(decode_shared *s, const widths &w, const block_places &at)
{
    if (threadIdx.x < BLOCKS_MAX) {
        s->widths[threadIdx.x] = w.widths;
        s->planes_at[threadIdx.x] = at.planes;
    }
}

/* By a block: finds the sections, and the widths of the first tile, which has so many blocks at
 * most. False, for all threads: a rule is broken. */
__device__ inline bool split(decode_shared *s, const extents &its, unsigned size_bits,
                             uint32_t length, uint32_t of_tile, sections *to)
{
    const uint32_t blocks = (its.count + FLOAT_BLOCK - 1) / FLOAT_BLOCK;
    block_places next = {its.lead + its.tail + blocks, 0};

    if (next.deltas > length)
        return false;
    for (uint32_t first = 0; first < blocks; first += THREADS) {
        const uint32_t b = first + threadIdx.x;
        block_places at;
        widths w;
        if (!next_widths(its, *to, length, b, blocks, size_bits, &w, &at, &next, &s->room.warps))
            return false;
        if (first == 0)
            keep_widths(s, w, at);
        if (b == of_tile)
            s->next = at;
    }
    to->planes = next.deltas;
    to->bits = next.deltas + next.planes;
    to->bits_length = length - to->bits;
    return to->bits <= length;
}

/* By a block: the planes of a tile to integers with all differences but those along x. `turn`
 * counts the rounds of the chunk. */
template <typename T>
__device__ inline void join_tile(decode_shared *s, const sections &from, uint32_t count,
                                 uint32_t order, uint32_t *turn)
{
    using S = typename wide<T>::type;

    for (uint32_t g = threadIdx.x; g / THREADS * THREADS * FLOAT_GROUP < count; g += THREADS) {
        const bool is_there = g * FLOAT_GROUP < count;
        group<T> x = {};
        if (is_there) {
            const uint64_t all = s->widths[g / 8];
            const uint32_t at = from.planes + s->planes_at[g / 8] + sum_of_first(all, g % 8);
            x = load_planes<T>(from.cell, at, (uint32_t)(all >> 8 * (g % 8) & 0xff));
        }
        if (order > 0) {
            const levels<S> own = add_in_warp(&x, order, *turn == 0 && threadIdx.x == 0);
            add_before(&x, levels_before(own, order, &s->room, (*turn)++), order);
        }
        if (is_there)
            store_group((T *)s->values, g, x);
    }
    __syncthreads();
}

/* `bits` bits, 1 or more and less than 64, from bit `at` of a cell on. Reads words that hold some
 * of them. */
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

/* By a block: raw bits to integers, which become patterns; *taken counts them. False, for all
 * threads: there are not so many. */
template <typename T>
__device__ inline bool take_bits(decode_shared *s, T *values, const float_map &map, uint32_t count,
                                 const sections &from, uint32_t *taken)
{
    constexpr uint32_t N = vector<T>::VALUES, TILE = 32 * N;
    const span mine = span_of(count, TILE);
    const uint32_t lane_at = N * bale_warp::lane();
    uint4 *vectors = (uint4 *)values;
    uint32_t bits = 0, total;

    for (uint32_t i = mine.first + lane_at; i < mine.end; i += TILE) {
        vector<T> v;
        v.all = vectors[i / N];
        bits += raw_bits_of_vector(map, v, mine.end - i);
    }
    bits = *taken + sum_of_warps_before(sum_of_lanes(bits), &s->room.warps, &total);
    *taken += total;
    if (*taken > 8 * from.bits_length)
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
__device__ inline bool take_exceptions(T *values, uint32_t count, bool big_endian,
                                       const sections &from)
{
    const uint32_t exceptions = from.bits_length / element<T>::EXCEPTION;
    bool fine = from.bits_length % element<T>::EXCEPTION == 0;

    for (uint32_t k = threadIdx.x; k < exceptions; k += THREADS) {
        const uint8_t *at = from.cell + from.bits + k * element<T>::EXCEPTION;
        const uint32_t i = load_element<uint32_t>(at, false);
        fine = fine && i < count &&
               (k == 0 || load_element<uint32_t>(at - element<T>::EXCEPTION, false) < i);
        if (fine)
            values[i] = load_element<T>(at + sizeof i, big_endian);
    }
    return __syncthreads_and(fine);
}

/* By a block: integers to patterns, but for exceptions. False, for all threads: a rule is broken. */
template <typename T>
__device__ inline bool unmap(decode_shared *s, const float_layout &l, T *values, uint32_t count,
                             const sections &from, uint32_t *taken)
{
    const float_map map = map_of<T>(l);
    bool fine = true;

    if (map.high > 0)
        fine = take_bits(s, values, map, count, from, taken);
    else
        for (uint32_t i = threadIdx.x; i < count; i += THREADS)
            values[i] = unmap_element(map, values[i]);
    __syncthreads();
    if (!fine || !l.big_endian)
        return fine;
    for (uint32_t i = threadIdx.x; i < count; i += THREADS)
        values[i] = swapped(values[i]);
    __syncthreads();
    return true;
}

/* Whether so many bits are what the section has. */
__device__ inline bool ends_right(const sections &from, uint32_t taken)
{
    return (taken + 7) / 8 == from.bits_length &&
           (taken % 8 == 0 || from.cell[from.bits + taken / 8] >> taken % 8 == 0);
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

/* Whether the chunk becomes patterns tile by tile: of the integers before a tile, few are needed. */
template <typename T>
__device__ inline bool is_done_by_tiles(const float_layout &l, const extents &its)
{
    const bool has_planes = l.orders[2] > 0 && l.strides[2] < its.count;
    const uint32_t rows = l.strides[1] < its.count ? l.orders[1] * l.strides[1] : 0;

    return (l.exponent & FLOAT_DECIMAL) == 0 && !has_planes && rows <= ROWS_BYTES / sizeof(T);
}

/* By a block: a tile's patterns to raw, and its last integers to where those before the next tile
 * are. False, for all threads: a rule is broken. */
template <typename T>
__device__ inline bool finish_tile(decode_shared *s, const float_layout &l, uint32_t count,
                                   const sections &from, uint32_t *taken, bool is_last,
                                   uint8_t *raw)
{
    T *values = (T *)s->values;
    T *rows_end = (T *)(s->rows + ROWS_BYTES / sizeof(uint4));
    const uint32_t rows = is_last ? 0 : l.orders[1] * l.strides[1];

    for (uint32_t i = threadIdx.x; i < rows && rows <= ROWS_BYTES / sizeof(T); i += THREADS)
        rows_end[(int32_t)i - (int32_t)rows] = values[count - rows + i];
    __syncthreads();
    if (!unmap(s, l, values, count, from, taken))
        return false;
    copy_out(raw, (const uint8_t *)values, count * sizeof(T));
    __syncthreads();
    return true;
}

/* By a block: the patterns of a chunk's elements to raw; if not by tiles, the integers lie there
 * first. False, for all threads: a rule is broken. */
template <typename T, bool LONG>
__device__ inline bool join_all(decode_shared *s, const float_layout &l, const extents &its,
                                const sections &from, uint32_t length, uint8_t *raw)
{
    constexpr uint32_t TILE = BALE_CUDA_CELL / sizeof(T);
    const uint32_t blocks = (its.count + FLOAT_BLOCK - 1) / FLOAT_BLOCK;
    const uint32_t row = l.strides[1], plane = l.strides[2];
    uint32_t turn = 0;
    const bool by_tiles = is_done_by_tiles<T>(l, its), is_long = LONG;
    T *values = (T *)s->values, *all = is_long ? (T *)raw : values;
    uint32_t taken = 0;

    for (uint32_t first = 0; first < its.count; first += TILE) {
        const uint32_t count = min(its.count - first, TILE), b = first / FLOAT_BLOCK;
        const T *before =
            by_tiles ? (const T *)(s->rows + ROWS_BYTES / sizeof(uint4)) - first : all;
        if (first > 0) {
            block_places at, next = s->next;
            widths w;
            (void)next_widths(its, from, length, b + threadIdx.x,
                              min(b + TILE / FLOAT_BLOCK, blocks), element<T>::BITS, &w, &at, &next,
                              &s->room.warps);
            keep_widths(s, w, at);
            if (threadIdx.x == 0)
                s->next = next;
        } else if (threadIdx.x < ORDER_MAX) {
            s->room.carry[0][threadIdx.x] = 0;
        }
        __syncthreads();
        join_tile<T>(s, from, count, LONG ? l.orders[0] : 0, &turn);
        if (!LONG)
            add_all(l, values, count, &s->room);
        if (LONG && l.orders[1] > 0 && row < its.count)
            add_rows(values, count, row, l.orders[1], history<T>{before, first, l.orders[2], plane},
                     &s->room);
        if (LONG && l.orders[2] > 0 && plane < its.count)
            add_rows(values, count, plane, l.orders[2], history<T>{before, first, 0, 0}, &s->room);
        if (by_tiles && !finish_tile<T>(s, l, count, from, &taken, first + TILE >= its.count,
                                        raw + its.lead + (size_t)first * sizeof(T)))
            return false;
        if (!by_tiles && is_long)
            copy_out((uint8_t *)(all + first), (const uint8_t *)values, count * sizeof(T));
        __syncthreads();
    }
    if (by_tiles)
        return ends_right(from, taken);
    if (!unmap(s, l, all, its.count, from, &taken) ||
        !((l.exponent & FLOAT_DECIMAL) != 0 ? take_exceptions(all, its.count, l.big_endian, from)
                                            : ends_right(from, taken)))
        return false;
    if (is_long)
        move_behind(raw, its.count * (uint32_t)sizeof(T), its.lead);
    else
        copy_out(raw + its.lead, (const uint8_t *)values, its.count * sizeof(T));
    return true;
}

/* By a block: decodes a chunk to raw. False, for all threads: it breaks a rule. */
template <typename T, bool LONG>
__device__ inline bool decode_chunk(decode_shared *s, const float_layout &l, const uint8_t *in,
                                    uint32_t length, uint8_t *raw, uint32_t raw_length)
{
    const extents its = extents_of(l, raw_length);
    sections from = {in, 0, 0, 0};

    if (!split(s, its, element<T>::BITS, length, BALE_CUDA_CELL / sizeof(T) / FLOAT_BLOCK, &from) ||
        !join_all<T, LONG>(s, l, its, from, length, raw))
        return false;
    if (threadIdx.x < its.lead)
        raw[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x < its.tail)
        raw[raw_length - its.tail + threadIdx.x] = in[its.lead + threadIdx.x];
    return true;
}

/* By a block: decodes chunk c, if it has a stream, to its cells. LONG: it has several. */
template <bool LONG>
__device__ inline void decode_any(const cuda_lists &lists, const cuda_chunk &chunk, uint32_t c,
                                  uint8_t *raw)
{
    const uint8_t *in = (const uint8_t *)lists.decode_from[c];
    const uint32_t length = (uint32_t)lists.decode_from_lengths[c], whole = chunk.whole;
    const uint8_t *part = lists.parts + (size_t)chunk.frame * BALE_CUDA_PART;
    decode_shared *s = (decode_shared *)bale_shared::memory;
    float_layout l;

    if (length == 0)
        return;
    bool fine = whole <= FLOAT_CHUNK && read_part(part, lists.made[chunk.frame].length, &l);
    if (fine)
        fine = l.size_log2 == 1   ? decode_chunk<uint16_t, LONG>(s, l, in, length, raw, whole)
               : l.size_log2 == 2 ? decode_chunk<uint32_t, LONG>(s, l, in, length, raw, whole)
                                  : decode_chunk<uint64_t, LONG>(s, l, in, length, raw, whole);
    if (threadIdx.x == 0) {
        lists.statuses[c] = !fine;
        lists.decoded_lengths[c] = fine ? whole : 0;
    }
}

/* A block for each cell, which works if its chunk begins there, and has several cells or not. */
template <bool LONG>
__global__ void __launch_bounds__(THREADS, 2)
    decode(const cuda_chunk *chunks, cuda_lists lists, void *const *to)
{
    const uint32_t c = blockIdx.x;
    const cuda_chunk chunk = chunks[c];

    if (chunk.first == c && (chunk.whole > BALE_CUDA_CELL) == LONG)
        decode_any<LONG>(lists, chunk, c, (uint8_t *)to[c]);
}
} // namespace bale_float

#endif
