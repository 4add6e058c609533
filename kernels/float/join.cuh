/* float on the device: the sections of a chunk that is decoded to integers' differences, and
 * integers with raw bits and exceptions to patterns; the bytes are hostile. */
#ifndef BALE_KERNELS_FLOAT_JOIN_CUH
#define BALE_KERNELS_FLOAT_JOIN_CUH

#include "kernels/float/integers.cuh"
#include "kernels/float/sections.cuh"
#include "kernels/float/sums.cuh"

namespace bale_float
{
/* Of rows before a tile, at most: two blocks share a multiprocessor. */
constexpr uint32_t ROWS_BYTES = 24 << 10;

struct decode_shared {
    uint4 values[BALE_CUDA_CELL / sizeof(uint4) + 1]; /* one more, which copies read */
    uint64_t widths[BLOCKS_MAX];
    uint32_t planes_at[BLOCKS_MAX];
    block_places next; /* of the first block behind the first tile */
    uint32_t ticket;
    sum_room room;
    uint4 rows[ROWS_BYTES / sizeof(uint4)]; /* only where a block decodes several cells */
};

/* Of block b of a tile, if it has so many. The classes of singles take the room that sums over rows
 * need later. */
__device__ inline void keep_widths(decode_shared *s, uint32_t b, const widths &w,
                                   const block_places &at)
{
    if (b >= BLOCKS_MAX)
        return;
    s->widths[b] = w.widths;
    s->planes_at[b] = at.planes;
    if (is_of_singles(w.widths))
        for (uint32_t i = 0; i < CLASS_BITS; i++)
            s->room.of[i][b] = w.singles.bit[i];
}

/* By a block: finds the sections, and the widths of a tile, which begins with block `begin` and has
 * so many at most. False, for all threads: a rule is broken. */
__device__ inline bool split(decode_shared *s, const extents &its, unsigned size_bits,
                             uint32_t length, uint32_t begin, uint32_t of_tile, sections *to)
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
        keep_widths(s, b - begin, w, at);
        if (b == begin + of_tile)
            s->next = at;
    }
    to->planes = next.deltas;
    to->bits = next.deltas + next.planes;
    to->bits_length = length - to->bits;
    return to->bits <= length;
}

/* By a warp: the numbers of group g of a tile, in each lane whose block is one of singles; else
 * zeros. planes: the byte of the cell at which the section begins; all: the block's widths. It is
 * called, since its registers would not be left to tiles that only have planes. */
template <typename T>
__device__ __noinline__ group<T> load_singles(const decode_shared *s, const uint8_t *cell,
                                              uint32_t planes, uint32_t g, uint64_t all)
{
    const bool are_singles = is_of_singles(all);
    classes<uint32_t> c = {};
    uint32_t bits = 0;

    if (are_singles) {
#pragma unroll
        for (uint32_t i = 0; i < CLASS_BITS; i++)
            c.bit[i] = ((const uint8_t *)s->room.of[i])[g];
        bits = low_bits_of(c, FLOAT_GROUP, longest_of(all));
    }
    const uint32_t before = sum_before_of_eight(bits, g % 8);
    if (!are_singles)
        return {};
    bale_bytes::unaligned_words<2 * sizeof(T)> words;
    words.load((const uint32_t *)cell, planes + s->planes_at[g / 8] + before / 8,
               (before % 8 + bits + 7) / 8);
    return numbers_of_singles<T>(words, before % 8, c, longest_of(all));
}

/* By a warp: the integers of group g of a tile, in each lane, if it is there; else zeros. */
template <typename T>
__device__ inline group<T> load_group_of(const decode_shared *s, const sections &from, uint32_t g,
                                         bool is_there)
{
    const uint64_t all = is_there ? s->widths[g / 8] : 0;
    const bool are_singles = HAS_SINGLES<T> && is_of_singles(all);
    group<T> x = {};

    if (HAS_SINGLES<T> && __any_sync(bale_warp::ALL, are_singles))
        x = load_singles<T>(s, from.cell, from.planes, g, all);
    if (is_there && !are_singles) {
        const uint32_t width = (uint32_t)(all >> 8 * (g % 8) & 0xff);
        bale_bytes::unaligned_words<2 * sizeof(T)> words;
        words.load((const uint32_t *)from.cell,
                   from.planes + s->planes_at[g / 8] + sum_of_first(all, g % 8), width);
        x = numbers_of_planes<T>(words, width);
    }
    undo_zigzag(&x);
    return x;
}

/* By a block: the planes of a tile to integers with all differences but those along x. `turn`
 * counts the rounds of the chunk, or of the tile; is_first: with the first of them the chunk
 * begins. */
template <typename T>
__device__ inline void join_tile(decode_shared *s, const sections &from, uint32_t count,
                                 uint32_t order, bool is_first, uint32_t *turn)
{
    using S = typename wide<T>::type;

    for (uint32_t g = threadIdx.x; g / THREADS * THREADS * FLOAT_GROUP < count; g += THREADS) {
        const bool is_there = g * FLOAT_GROUP < count;
        group<T> x = load_group_of<T>(s, from, g, is_there);
        if (order > 0) {
            const levels<S> own =
                add_in_warp(&x, order, is_first && *turn == 0 && threadIdx.x == 0);
            const levels<S> before = levels_before(own, order, &s->room, (*turn)++);
            add_levels(&x, behind(before, weights<S>(FLOAT_GROUP * bale_warp::lane()), order),
                       order);
        }
        if (is_there)
            store_group((T *)s->values, g, x);
    }
    __syncthreads();
}

/* `bits` bits, 1 or more and less than those of an element, from bit `at` of a cell on. Reads words
 * that hold some of them. */
template <typename T> __device__ inline T load_bits(const uint8_t *cell, uint32_t at, unsigned bits)
{
    const uint32_t *words = (const uint32_t *)cell;
    const uint32_t first = at / 32, last = (at + bits - 1) / 32;
    const uint32_t a = __ldg(words + first), c = __ldg(words + last);
    T x = (T)__funnelshift_r(a, c, at % 32);

    if (sizeof(T) == 8) {
        const uint32_t b = __ldg(words + min(first + 1, last));
        x = (T)((uint64_t)__funnelshift_r(b, c, at % 32) << 32 | __funnelshift_r(a, b, at % 32));
    }
    return (T)(x & (T)(((T)1 << bits) - 1));
}

/* How many raw bits there are behind each of a vector's integers, and behind all. */
template <typename T> struct raw_lengths {
    uint32_t at[vector<T>::VALUES], all;
};

/* Of the first `there` of them. */
template <typename T>
__device__ inline raw_lengths<T> raw_lengths_of(const float_map &map, const vector<T> &v,
                                                uint32_t there)
{
    raw_lengths<T> its;

    its.all = 0;
#pragma unroll
    for (unsigned k = 0; k < vector<T>::VALUES; k++) {
        its.at[k] = k < there ? raw_bits_of(map, (T)(v.at[k] ^ sign_of(v.at[k]))) : 0;
        its.all += its.at[k];
    }
    return its;
}

/* The patterns of a vector's integers, with the raw bits from bit `at` of the cell on. */
template <typename T>
__device__ inline vector<T> join_bits(const float_map &map, vector<T> v, const raw_lengths<T> &its,
                                      const uint8_t *cell, uint32_t at)
{
#pragma unroll
    for (unsigned k = 0; k < vector<T>::VALUES; k++) {
        const T sign = sign_of(v.at[k]), a = (T)(v.at[k] ^ sign);
        const T raw = its.at[k] > 0 ? load_bits<T>(cell, at, its.at[k]) : (T)0;
        v.at[k] = join_sign(map, unfix(map, a, its.at[k], raw), sign);
        at += its.at[k];
    }
    return v;
}

/* By a block: how many raw bits there are behind integers: of those of the warps before, and of
 * all. */
template <typename T>
__device__ inline bits_behind count_bits(decode_shared *s, const T *values, const float_map &map,
                                         uint32_t count)
{
    constexpr uint32_t N = vector<T>::VALUES, TILE = 32 * N;
    const span mine = span_of(count, TILE);
    uint32_t bits = 0, total;

#pragma unroll 4 /* so that some loads are under way: the values may lie in device memory */
    for (uint32_t i = mine.first + N * bale_warp::lane(); i < mine.end; i += TILE) {
        vector<T> v;
        v.all = ((const uint4 *)values)[i / N];
        bits += raw_lengths_of(map, v, mine.end - i).all;
    }
    const uint32_t before = sum_of_warps_before(sum_of_lanes(bits), &s->room.warps, &total);
    return {total, before};
}

/* By a block: raw bits to integers, which become patterns. `bits`: before those of the warp. */
template <typename T>
__device__ inline void take_bits(T *values, const float_map &map, uint32_t count,
                                 const sections &from, uint32_t bits)
{
    constexpr uint32_t N = vector<T>::VALUES, TILE = 32 * N;
    const span mine = span_of(count, TILE);
    const uint32_t lane_at = N * bale_warp::lane();
    uint4 *vectors = (uint4 *)values;
    vector<T> next = {};

    if (mine.first + lane_at < mine.end)
        next.all = vectors[(mine.first + lane_at) / N];
    for (uint32_t tile = mine.first; tile < mine.end; tile += TILE) {
        const uint32_t i = tile + lane_at, there = i < mine.end ? mine.end - i : 0;
        const vector<T> v = next;
        if (i + TILE < mine.end)
            next.all = vectors[(i + TILE) / N];
        const raw_lengths<T> its = raw_lengths_of(map, v, there);
        const uint32_t upto = sum_upto(its.all);
        if (there > 0)
            vectors[i / N] =
                join_bits(map, v, its, from.cell, 8 * from.bits + bits + upto - its.all).all;
        bits += __shfl_sync(bale_warp::ALL, upto, 31);
    }
}

/* By a block: puts the exceptions of decimals into their places among the elements [first, end).
 * False, for all threads: a rule is broken. */
template <typename T>
__device__ inline bool take_exceptions(T *values, uint32_t first, uint32_t end, uint32_t count,
                                       bool big_endian, const sections &from)
{
    const uint32_t exceptions = from.bits_length / element<T>::EXCEPTION;
    bool fine = from.bits_length % element<T>::EXCEPTION == 0;

    for (uint32_t k = threadIdx.x; k < exceptions; k += THREADS) {
        const uint8_t *at = from.cell + from.bits + k * element<T>::EXCEPTION;
        const uint32_t i = load_element<uint32_t>(at, false);
        fine = fine && i < count &&
               (k == 0 || load_element<uint32_t>(at - element<T>::EXCEPTION, false) < i);
        if (fine && i >= first && i < end)
            values[i - first] = load_element<T>(at + sizeof i, big_endian);
    }
    return __syncthreads_and(fine);
}

/* By a block: integers without raw bits to patterns, but for exceptions. */
template <typename T>
__device__ inline void unmap_all(const float_map &map, T *values, uint32_t count)
{
    for (uint32_t i = threadIdx.x; i < count; i += THREADS)
        values[i] = unmap_element(map, values[i]);
}

/* By a block: patterns in the byte order of the machine to that of the elements. */
template <typename T>
__device__ inline void order_bytes(const float_layout &l, T *values, uint32_t count)
{
    __syncthreads();
    if (!l.big_endian)
        return;
    for (uint32_t i = threadIdx.x; i < count; i += THREADS)
        values[i] = swapped(values[i]);
    __syncthreads();
}

/* By a block: integers to patterns, but for exceptions; *taken counts raw bits. False, for all
 * threads: there are not so many. */
template <typename T>
__device__ inline bool unmap(decode_shared *s, const float_layout &l, T *values, uint32_t count,
                             const sections &from, uint32_t *taken)
{
    const float_map map = map_of<T>(l);

    if (map.high > 0) {
        const bits_behind bits = count_bits(s, values, map, count);
        const uint32_t before = *taken + bits.before;
        *taken += bits.all;
        if (*taken > 8 * from.bits_length)
            return false;
        take_bits(values, map, count, from, before);
    } else {
        unmap_all(map, values, count);
    }
    order_bytes(l, values, count);
    return true;
}

/* Whether so many bits are what the section has. */
__device__ inline bool ends_right(const sections &from, uint32_t taken)
{
    return (taken + 7) / 8 == from.bits_length &&
           (taken % 8 == 0 || from.cell[from.bits + taken / 8] >> taken % 8 == 0);
}
} // namespace bale_float

#endif
