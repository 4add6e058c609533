/* float on the device: decoding a chunk; the bytes are hostile. A block does it, in shared memory if
 * the chunk has one cell. Of several cells each has a block, or, where much is needed of the integers
 * before a cell, one block decodes all in the cells to which it decodes. */
#ifndef BALE_KERNELS_FLOAT_DECODE_CUH
#define BALE_KERNELS_FLOAT_DECODE_CUH

#include "kernels/codec/lists.h"
#include "kernels/codec/shared.cuh"
#include "kernels/float/integers.cuh"
#include "kernels/float/passes.cuh"
#include "kernels/float/sections.cuh"
#include "kernels/float/tiles.cuh"

namespace bale_float
{
/* Of rows before a tile, at most: two blocks share a multiprocessor. */
constexpr uint32_t ROWS_BYTES = 24 << 10;

struct decode_shared {
    uint4 values[BALE_CUDA_CELL / sizeof(uint4) + 1]; /* one more, which copies read */
    uint64_t widths[BLOCKS_MAX];
    uint32_t planes_at[BLOCKS_MAX];
    block_places next; /* of the first block behind the first tile */
    uint32_t turn;
    sum_room room;
    uint4 rows[ROWS_BYTES / sizeof(uint4)]; /* only where chunks have several cells */
};

/* Of block b of a tile, if it has so many. */
__device__ inline void keep_widths(decode_shared *s, uint32_t b, const widths &w,
                                   const block_places &at)
{
    if (b < BLOCKS_MAX) {
        s->widths[b] = w.widths;
        s->planes_at[b] = at.planes;
    }
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

/* By a block: the planes of a tile to integers with all differences but those along x. `turn`
 * counts the rounds of the chunk, or of the tile; is_first: with the first of them the chunk begins.
 */
template <typename T>
__device__ inline void join_tile(decode_shared *s, const sections &from, uint32_t count,
                                 uint32_t order, bool is_first, uint32_t *turn)
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

/* By a block: how many raw bits there are behind integers: of those of the warps before, and of all.
 */
template <typename T>
__device__ inline bits_behind count_bits(decode_shared *s, const T *values, const float_map &map,
                                         uint32_t count)
{
    constexpr uint32_t N = vector<T>::VALUES, TILE = 32 * N;
    const span mine = span_of(count, TILE);
    uint32_t bits = 0, total;

    for (uint32_t i = mine.first + N * bale_warp::lane(); i < mine.end; i += TILE) {
        vector<T> v;
        v.all = ((const uint4 *)values)[i / N];
        bits += raw_bits_of_vector(map, v, mine.end - i);
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
            keep_widths(s, threadIdx.x, w, at);
            if (threadIdx.x == 0)
                s->next = next;
        } else if (threadIdx.x < ORDER_MAX) {
            s->room.carry[0][threadIdx.x] = 0;
        }
        __syncthreads();
        join_tile<T>(s, from, count, LONG ? l.orders[0] : 0, true, &turn);
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
        !((l.exponent & FLOAT_DECIMAL) != 0
              ? take_exceptions(all, 0, its.count, its.count, l.big_endian, from)
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

    if (!split(s, its, element<T>::BITS, length, 0, BALE_CUDA_CELL / sizeof(T) / FLOAT_BLOCK,
               &from) ||
        !join_all<T, LONG>(s, l, its, from, length, raw))
        return false;
    if (threadIdx.x < its.lead)
        raw[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x < its.tail)
        raw[raw_length - its.tail + threadIdx.x] = in[its.lead + threadIdx.x];
    return true;
}

/* ---- A block for each tile ---- */

/* Whether tiles can have blocks of their own: what is needed of those before them can be told. */
template <typename T> __device__ inline bool can_share(const float_layout &l, const extents &its)
{
    const uint32_t row = l.strides[1], plane = l.strides[2];
    const bool has_planes = l.orders[2] > 0 && plane < its.count;

    return (row >= its.count || l.orders[1] * row <= (BALE_CUDA_CELL - COLUMNS_AT) / sizeof(T)) &&
           (!has_planes || ((l.exponent & FLOAT_DECIMAL) == 0 && plane >= THREADS));
}

/* By a block: a tile's integers to patterns. False, for all threads: a rule is broken. */
template <typename T>
__device__ inline bool unmap_tile(decode_shared *s, const tile &t, const float_layout &l,
                                  const extents &its, const sections &from, T *values)
{
    const float_map map = map_of<T>(l);
    uint32_t taken = 0;

    if (map.high > 0) {
        const bits_behind bits = count_bits(s, values, map, t.count);
        if (threadIdx.x == 0)
            t.at(t.own)->bits = bits.all;
        t.tell(TILE_BITS);
        t.await(0, t.own, TILE_BITS);
        for (uint32_t k = 0; k < t.own; k++)
            taken += __ldcg(&t.at(k)->bits);
        const uint32_t before = taken + bits.before;
        taken += bits.all;
        if (taken > 8 * from.bits_length)
            return false;
        take_bits(values, map, t.count, from, before);
    } else {
        unmap_all(map, values, t.count);
    }
    order_bytes(l, values, t.count);
    if (map.is_decimal)
        return take_exceptions(values, t.first, t.first + t.count, its.count, l.big_endian, from);
    return t.own + 1 < t.tiles || ends_right(from, taken);
}

/* By a block: decodes a tile. False, for all threads: it breaks a rule, or the chunk does. */
template <typename T>
__device__ inline bool decode_tile(decode_shared *s, const tile &t, const float_layout &l,
                                   const uint8_t *in, uint32_t length, uint8_t *raw,
                                   uint32_t raw_length)
{
    const extents its = extents_of(l, raw_length);
    const bool has_rows = l.orders[1] > 0 && l.strides[1] < its.count;
    const bool has_planes = l.orders[2] > 0 && l.strides[2] < its.count;
    sections from = {in, 0, 0, 0};
    T *values = (T *)s->values;
    uint32_t turn = 0;

    if (!split(s, its, element<T>::BITS, length, t.first / FLOAT_BLOCK, t.elements / FLOAT_BLOCK,
               &from))
        return false;
    if (threadIdx.x < ORDER_MAX)
        s->room.carry[0][threadIdx.x] = 0;
    __syncthreads();
    join_tile<T>(s, from, t.count, l.orders[0], t.own == 0, &turn);
    add_tiles_along(t, values, l.orders[0], s->room.carry[turn % 2]);
    if (has_rows)
        add_tiles_rows(t, tile_columns(l.strides[1], l.orders[1], t.count), values, raw, &s->room);
    if (has_planes)
        add_tiles_planes(t, l, values, raw);
    const bool fine = unmap_tile(s, t, l, its, from, values);
    if (has_rows)
        t.await(t.own + 1, t.tiles, TILE_TAKEN);
    if (fine)
        copy_out(raw + its.lead + (size_t)t.first * sizeof(T), (const uint8_t *)values,
                 t.count * sizeof(T));
    if (has_planes)
        t.tell(TILE_DONE);
    if (t.own == 0 && threadIdx.x < its.lead)
        raw[threadIdx.x] = in[threadIdx.x];
    if (t.own + 1 == t.tiles && threadIdx.x < its.tail)
        raw[raw_length - its.tail + threadIdx.x] = in[its.lead + threadIdx.x];
    return fine;
}

/* By a block: decodes tile c of a chunk of several, if it has a stream. The first tile's block says
 * that it went well before others may say that it did not. */
template <typename T>
__device__ inline void decode_shared_chunk(decode_shared *s, const float_layout &l,
                                           const cuda_lists &lists, const cuda_chunk &chunk,
                                           uint32_t c, uint8_t *raw)
{
    constexpr uint32_t ELEMENTS = BALE_CUDA_CELL / sizeof(T);
    const uint32_t own = c - chunk.first, count = extents_of(l, chunk.whole).count;
    const uint32_t first = min(own * ELEMENTS, count);
    const tile t = {(tile_work *)(lists.work + (size_t)chunk.first * BALE_CUDA_WORK),
                    own,
                    (chunk.whole - 1) / BALE_CUDA_CELL + 1,
                    first,
                    min(count - first, ELEMENTS),
                    ELEMENTS};

    if (own == 0 && threadIdx.x == 0) {
        lists.statuses[c] = 0;
        lists.decoded_lengths[c] = chunk.whole;
    }
    if (!decode_tile<T>(s, t, l, (const uint8_t *)lists.decode_from[chunk.first],
                        (uint32_t)lists.decode_from_lengths[chunk.first], raw, chunk.whole) &&
        threadIdx.x == 0) {
        lists.statuses[chunk.first] = 1;
        lists.decoded_lengths[chunk.first] = 0;
    }
}

/* ---- Chunks ---- */

/* By a block: decodes the chunk of cell c, or a tile of it, if it has a stream, to its cells. LONG:
 * some chunks of the batch have several. */
template <typename T, bool LONG>
__device__ inline void decode_any(decode_shared *s, const float_layout &l, const cuda_lists &lists,
                                  const cuda_chunk &chunk, uint32_t c, uint8_t *raw)
{
    const uint8_t *in = (const uint8_t *)lists.decode_from[chunk.first];
    const uint32_t length = (uint32_t)lists.decode_from_lengths[chunk.first], whole = chunk.whole;
    const bool is_long = LONG && whole > BALE_CUDA_CELL;

    if (is_long && can_share<T>(l, extents_of(l, whole))) {
        decode_shared_chunk<T>(s, l, lists, chunk, c, raw);
        return;
    }
    if (c != chunk.first)
        return;
    const bool fine = is_long ? decode_chunk<T, true>(s, l, in, length, raw, whole)
                              : decode_chunk<T, false>(s, l, in, length, raw, whole);
    if (threadIdx.x == 0) {
        lists.statuses[c] = !fine;
        lists.decoded_lengths[c] = fine ? whole : 0;
    }
}

/* A block for each cell. LONG: some chunks have several, and blocks wait for each other. */
template <bool LONG>
__global__ void __launch_bounds__(THREADS, 2)
    decode(const cuda_chunk *chunks, cuda_lists lists, void *const *to)
{
    decode_shared *s = (decode_shared *)bale_shared::memory;
    const uint32_t c =
        LONG ? bale_turns::take(&((tile_work *)lists.work)->next, &s->turn) : blockIdx.x;
    const cuda_chunk chunk = chunks[c];
    const uint8_t *part = lists.parts + (size_t)chunk.frame * BALE_CUDA_PART;
    uint8_t *raw = (uint8_t *)to[chunk.first];
    float_layout l;

    if (lists.decode_from_lengths[chunk.first] == 0)
        return;
    if (chunk.whole > FLOAT_CHUNK || !read_part(part, lists.made[chunk.frame].length, &l)) {
        if (threadIdx.x == 0 && c == chunk.first) {
            lists.statuses[c] = 1;
            lists.decoded_lengths[c] = 0;
        }
        return;
    }
    if (l.size_log2 == 1)
        decode_any<uint16_t, LONG>(s, l, lists, chunk, c, raw);
    else if (l.size_log2 == 2)
        decode_any<uint32_t, LONG>(s, l, lists, chunk, c, raw);
    else
        decode_any<uint64_t, LONG>(s, l, lists, chunk, c, raw);
}
} // namespace bale_float

#endif
