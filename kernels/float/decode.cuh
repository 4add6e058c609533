/* float on the device: decoding a chunk; the bytes are hostile. A block does it, in shared memory
 * if the chunk has one cell. Of several cells each has a block, or, of many chunks, one block
 * decodes all in the cells to which it decodes. */
#ifndef BALE_KERNELS_FLOAT_DECODE_CUH
#define BALE_KERNELS_FLOAT_DECODE_CUH

#include "kernels/codec/shared.cuh"
#include "kernels/float/interpolate.cuh"
#include "kernels/float/join.cuh"
#include "kernels/float/passes.cuh"
#include "kernels/float/tiles.cuh"

namespace bale_float
{
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

/* Whether the chunk becomes patterns tile by tile: of the integers before a tile, few are
 * needed. */
template <typename T>
__device__ inline bool is_done_by_tiles(const float_layout &l, const extents &its)
{
    const bool has_planes = l.orders[2] > 0 && l.strides[2] < its.count;
    const uint32_t rows = l.strides[1] < its.count ? l.orders[1] * l.strides[1] : 0;

    return (l.exponent & FLOAT_DECIMAL) == 0 && !l.interpolated && !has_planes &&
           rows <= ROWS_BYTES / sizeof(T);
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
        join_tile<T>(s, from, count, LONG && !l.interpolated ? l.orders[0] : 0, true, &turn);
        if (!LONG && !l.interpolated)
            add_all(l, values, count, &s->room);
        if (LONG && !l.interpolated && l.orders[1] > 0 && row < its.count)
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
    if (l.interpolated)
        undo_interpolation<T, !LONG>(rows_of_chunk(l, its.count), all);
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
    sections from = {in, 0, 0, 0, l.singles};

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
    sections from = {in, 0, 0, 0, l.singles};
    T *values = (T *)s->values;
    uint32_t turn = 0;

    if (!split(s, its, element<T>::BITS, length, t.first / FLOAT_BLOCK, t.elements / FLOAT_BLOCK,
               &from))
        return false;
    if (threadIdx.x < ORDER_MAX)
        s->room.carry[0][threadIdx.x] = 0;
    __syncthreads();
    join_tile<T>(s, from, t.count, l.interpolated ? 0 : l.orders[0], t.own == 0, &turn);
    if (!l.interpolated)
        add_tiles_along(t, values, l.orders[0], s->room.carry[turn % 2]);
    const uint32_t taken = l.interpolated
                               ? interpolate_tile(t, rows_of_chunk(l, its.count), values, raw)
                               : add_tile_across(t, l, its.count, values, raw, &s->room);
    const bool fine = unmap_tile(s, t, l, its, from, values);
    t.await(t.own + 1, t.tiles, taken);
    if (fine)
        copy_out(raw + its.lead + (size_t)t.first * sizeof(T), (const uint8_t *)values,
                 t.count * sizeof(T));
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

/* By a block: the layout of cell c's chunk. False, for all threads: there is no stream, or none
 * that can be decoded, which the block of the chunk's first cell says. */
__device__ inline bool decode_layout(const cuda_lists &lists, const cuda_chunk &chunk, uint32_t c,
                                     float_layout *l)
{
    const uint8_t *part = lists.parts + (size_t)chunk.frame * BALE_CUDA_PART;

    if (lists.decode_from_lengths[chunk.first] == 0)
        return false;
    if (chunk.whole <= FLOAT_CHUNK && read_part(part, lists.made[chunk.frame].length, l))
        return true;
    if (threadIdx.x == 0 && c == chunk.first) {
        lists.statuses[c] = 1;
        lists.decoded_lengths[c] = 0;
    }
    return false;
}

/* By a block: decodes the chunk of cell c to its cells. LONG: some chunks of the batch have
 * several. */
template <typename T, bool LONG>
__device__ inline void decode_any(decode_shared *s, const float_layout &l, const cuda_lists &lists,
                                  const cuda_chunk &chunk, uint32_t c, uint8_t *raw)
{
    const uint8_t *in = (const uint8_t *)lists.decode_from[c];
    const uint32_t length = (uint32_t)lists.decode_from_lengths[c], whole = chunk.whole;
    const bool fine = LONG && whole > BALE_CUDA_CELL
                          ? decode_chunk<T, true>(s, l, in, length, raw, whole)
                          : decode_chunk<T, false>(s, l, in, length, raw, whole);

    if (threadIdx.x == 0) {
        lists.statuses[c] = !fine;
        lists.decoded_lengths[c] = fine ? whole : 0;
    }
}

/* A block for each cell, of which those of chunks' first cells do all. */
template <bool LONG>
__global__ void __launch_bounds__(THREADS, 2)
    decode(const cuda_chunk *chunks, cuda_lists lists, void *const *to)
{
    decode_shared *s = (decode_shared *)bale_shared::memory;
    const uint32_t c = blockIdx.x;
    const cuda_chunk chunk = chunks[c];
    uint8_t *raw = (uint8_t *)to[c];
    float_layout l;

    if (c != chunk.first || !decode_layout(lists, chunk, c, &l))
        return;
    if (l.size_log2 == 1)
        decode_any<uint16_t, LONG>(s, l, lists, chunk, c, raw);
    else if (l.size_log2 == 2)
        decode_any<uint32_t, LONG>(s, l, lists, chunk, c, raw);
    else
        decode_any<uint64_t, LONG>(s, l, lists, chunk, c, raw);
}

/* A block for each cell, and blocks wait for each other. */
__global__ void __launch_bounds__(THREADS, 2)
    decode_tiles(const cuda_chunk *chunks, cuda_lists lists, void *const *to)
{
    decode_shared *s = (decode_shared *)bale_shared::memory;
    const uint32_t c = bale_tickets::take(&((tile_work *)lists.work)->next, &s->ticket);
    const cuda_chunk chunk = chunks[c];
    uint8_t *raw = (uint8_t *)to[chunk.first];
    float_layout l;

    if (!decode_layout(lists, chunk, c, &l))
        return;
    if (l.size_log2 == 1)
        decode_shared_chunk<uint16_t>(s, l, lists, chunk, c, raw);
    else if (l.size_log2 == 2)
        decode_shared_chunk<uint32_t>(s, l, lists, chunk, c, raw);
    else
        decode_shared_chunk<uint64_t>(s, l, lists, chunk, c, raw);
}
} // namespace bale_float

#endif
