/* float on the device: encoding. A block for each cell finds its differences in shared memory. Of a
 * chunk of several cells it tells the others how long its sections are, and writes them when it
 * knows how long theirs are. */
#ifndef BALE_KERNELS_FLOAT_ENCODE_CUH
#define BALE_KERNELS_FLOAT_ENCODE_CUH

#include "kernels/codec/lists.h"
#include "kernels/codec/shared.cuh"
#include "kernels/codec/turn.cuh"
#include "kernels/float/cells.cuh"
#include "kernels/float/leave.cuh"
#include "kernels/float/share.cuh"
#include "kernels/float/singles.cuh"
#include "kernels/float/steps.cuh"

namespace bale_float
{
/* Of a cell's groups. */
struct group_places {
    uint64_t widths[BLOCKS_MAX];    /* at first what each group needs, in bytes */
    uint32_t planes_at[BLOCKS_MAX]; /* at first the low bits of a block of singles */
};

struct encode_shared {
    group_places groups;
    uint32_t marks[2][MARKS_MAX];
    warp_values room;
    uint32_t first_bits, ticket;
    chosen_layout layout;
    share shares[FLOAT_CHUNK / BALE_CUDA_CELL]; /* of the chunk's cells */
    /* And a vector before them, and one behind, which are read; a halo only of chunks of
     * several. */
    uint4 values[BALE_CUDA_CELL / sizeof(uint4) + HALO_LEAST + 1 + HALO_BYTES / sizeof(uint4)];
};

/* A chunk that is encoded. */
struct target {
    const uint8_t *raw;
    uint32_t raw_length, limit;
    uint8_t *out;
};

/* By a block: differences along x, whose numbers take the integers' places, and what each group
 * needs. From the last ones to the first, since each needs those before it. */
template <typename T>
__device__ inline void find_needs(group_places *groups, T *values, const cell &at, uint32_t order)
{
    const uint32_t blocks = (at.count + FLOAT_BLOCK - 1) / FLOAT_BLOCK;
    uint8_t *needs = (uint8_t *)groups->widths;

    for (uint32_t round = (8 * blocks + blockDim.x - 1) / blockDim.x; round-- > 0;) {
        const uint32_t g = round * blockDim.x + threadIdx.x;
        group<T> x = {};
        if (g * FLOAT_GROUP < at.count)
            x = subtract_along(values, g, g == 0 && at.first == 0, order);
#pragma unroll
        for (uint32_t k = 0; k < FLOAT_GROUP; k++)
            x.at[k] = g * FLOAT_GROUP + k < at.count ? zigzag(x.at[k]) : (T)0;
        const uint32_t need = need_of(x);
        const uint32_t low_bits = HAS_SINGLES<T> ? low_bits_needed(x, need) : 0;
        if (g < 8 * blocks)
            needs[g] = (uint8_t)need;
        if (g < 8 * blocks && g % 8 == 0)
            groups->planes_at[g / 8] = low_bits;
        __syncthreads();
        if (g * FLOAT_GROUP < at.count)
            store_group(values, g, x);
    }
    __syncthreads();
}

/* By a block: the groups' planes to the beginning of the values. None of them reaches behind its
 * own group, nor those of a block of singles behind the block, so a round overwrites what it or an
 * earlier round has read. deltas: those of the cell, of which the classes of singles are written. */
template <typename T>
__device__ inline void pack_planes(const group_places *groups, T *values, uint32_t count,
                                   uint8_t *deltas)
{
    const uint32_t there = (count + FLOAT_GROUP - 1) / FLOAT_GROUP;
    const uint32_t blocks = (count + FLOAT_BLOCK - 1) / FLOAT_BLOCK;
    uint32_t *words = (uint32_t *)values;

    for (uint32_t first = 0; first < there; first += blockDim.x) {
        const uint32_t g = first + threadIdx.x;
        const uint64_t all = g < 8 * blocks ? groups->widths[g / 8] : 0;
        const uint32_t at = g < 8 * blocks ? groups->planes_at[g / 8] : 0;
        const bool are_singles = HAS_SINGLES<T> && is_of_singles(all);
        const uint32_t width = are_singles ? 0 : (uint32_t)(all >> 8 * (g % 8) & 0xff);
        const uint32_t most = __reduce_max_sync(bale_warp::ALL, width);
        group<T> x = {};
        if (g < there)
            x = load_group(values, g);
        const planes<T> p = are_singles ? kept(x) : planes_of(x, most);
        __syncthreads();
        if (width > 0)
            store_planes(p, width, most, (uint8_t *)values + at + sum_of_first(all, g % 8));
        if (are_singles)
            clear_low_bits(words, at, at + planes_length(all), g % 8);
        if (HAS_SINGLES<T>) {
            __syncthreads();
            if (__any_sync(bale_warp::ALL, are_singles))
                put_singles(kept(p), all, g % 8, at, words, deltas);
        }
    }
    __syncthreads();
}

/* By a thread: a block's header, and deltas but those of singles. */
__device__ inline void write_widths(const widths &w, uint8_t *header, uint8_t *deltas)
{
    *header = (uint8_t)w.header;
    for (uint32_t k = 0; k < w.header >> 6; k++)
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

/* By a block: the first eight of the cell's raw bits. */
template <typename T>
__device__ inline uint32_t find_first_bits(encode_shared *s, const integers<T> &q, const cell &at,
                                           uint32_t bits)
{
    const pattern_source from = own_patterns(q, at);
    const span mine = span_of(at.count, 32 * vector<T>::VALUES);

    if (threadIdx.x == 0)
        s->first_bits = 0;
    __syncthreads();
    for (uint32_t tile = mine.first; tile < mine.end && bits < 8; tile += 32) {
        const uint32_t i = tile + bale_warp::lane();
        const T m = i < mine.end ? magnitude(from.load<T>(i), q.map.shift) : (T)0;
        unsigned its;
        (void)fix(q.map, m, &its);
        const uint32_t upto = sum_upto((uint32_t)its), place = bits + upto - its;
        if (its > 0 && place < 8)
            atomicOr(&s->first_bits, (((uint32_t)m & ((1u << min(its, 8u)) - 1)) << place) & 0xff);
        bits += __shfl_sync(bale_warp::ALL, upto, 31);
    }
    __syncthreads();
    return s->first_bits;
}

/* What a thread knows of its block of elements, and what its cell adds to the chunk. */
struct cell_widths {
    widths w;
    uint32_t deltas_at, planes_at; /* bytes before those of the block, in the cell */
    uint32_t bits_before;          /* raw bits of the warps before */
    share all;
};

/* By a block: a cell's differences, and the widths of their groups. The numbers of the differences
 * lie at *values. */
template <typename T>
__device__ inline cell_widths find_widths(encode_shared *s, const float_layout &l,
                                          const integers<T> &q, const cell &at, T **values)
{
    const halo h = halo_of<T>(l, at);
    const uint32_t b = threadIdx.x;
    cell_widths found = {};

    *values = (T *)s->values + max(h.length, FLOAT_GROUP);
    if (q.map.is_decimal)
        mark_decimals<T>(q.map, q.from, at.its.count, q.m, &s->room);
    const bits_behind bits = load_cell(q, at, h, *values, &s->room);
    found.all.bits = bits.all;
    found.bits_before = bits.before;
    if (l.interpolated)
        leave_rows(s->layout.its, q.from.at, q.m, at, h.length, *values);
    else
        subtract_across(l, at, h, *values);
    find_needs(&s->groups, *values, at, h.orders[0]);
    if (b * FLOAT_BLOCK < at.count)
        found.w = choose_widths(s->groups.widths[b], groups_there(at.count, b), element<T>::BITS,
                                s->groups.planes_at[b]);
    found.deltas_at = sum_before(found.w.bits, &s->room, &found.all.deltas);
    found.planes_at = sum_before(planes_length(found.w.widths), &s->room, &found.all.planes);
    return found;
}

/* By a block: tells the other blocks of its chunk what its cell adds, and learns what theirs
 * add. */
template <typename T>
__device__ inline void share_cells(encode_shared *s, const integers<T> &q, const cell &at,
                                   const cell_widths &found, const cuda_lists &lists,
                                   const cuda_chunk &chunk, uint32_t c)
{
    const uint32_t cells = (chunk.whole - 1) / BALE_CUDA_CELL + 1;
    share own = found.all;

    if (cells > 1) {
        if (q.map.high > 0 && own.bits > 0)
            own.first_bits = find_first_bits(s, q, at, found.bits_before);
        cell_work *work = work_of(lists, c);
        if (threadIdx.x == 0)
            work->its = own;
        bale_tickets::publish(&work->published, 1);
        if (threadIdx.x < cells) {
            const cell_work *other = work_of(lists, chunk.first + threadIdx.x);
            bale_tickets::await(&other->published, 1);
            s->shares[threadIdx.x] = {__ldcg(&other->its.deltas), __ldcg(&other->its.planes),
                                      __ldcg(&other->its.bits), __ldcg(&other->its.first_bits)};
        }
    } else if (threadIdx.x == 0) {
        s->shares[0] = own;
    }
    __syncthreads();
}

/* By a block: a cell's raw bits. A byte of several cells is the first one's. */
template <typename T>
__device__ inline void write_raw_bits(encode_shared *s, const integers<T> &q, const cell &at,
                                      uint32_t k, uint32_t cells, uint32_t before,
                                      uint32_t of_warps, uint8_t *out)
{
    /* The bits of a byte that belongs to a cell before lie in front of the second word. */
    const uint32_t skipped = before % 8 != 0 ? 4 : 0;
    const uint32_t bits = s->shares[k].bits;
    const uint32_t begin = (skipped != 0 ? 24 : 0) + before % 8, end = begin + bits;
    uint8_t *bytes = (uint8_t *)s->values;

    __syncthreads();
    put_raw_bits<T>(q.map, own_patterns(q, at), at.count, bits, of_warps, begin,
                    (uint32_t *)s->values);
    if (threadIdx.x == 0 && end % 8 != 0)
        for (uint32_t place = end, n = k + 1; n < cells && place / 8 == end / 8; n++) {
            bytes[end / 8] |= (uint8_t)(s->shares[n].first_bits << place % 8);
            place += s->shares[n].bits;
        }
    __syncthreads();
    copy_out(out + (before + 7) / 8, bytes + skipped, (end + 7) / 8 - skipped);
}

/* By a block: a cell's exceptions. */
template <typename T>
__device__ inline void write_exceptions(encode_shared *s, const integers<T> &q, const cell &at,
                                        uint8_t *out)
{
    const uint32_t first = at.first + 32 * threadIdx.x, end = at.first + at.count;
    const uint32_t there = first >= end        ? 0
                           : end - first >= 32 ? UINT32_MAX
                                               : (1u << (end - first)) - 1;
    const uint32_t left = there != 0 ? there & ~q.m.word[first / 32] : 0;
    uint32_t unused;

    out += element<T>::EXCEPTION * sum_before(__popc(left), &s->room, &unused);
    for (uint32_t bits = left; bits != 0; bits &= bits - 1) {
        const uint32_t i = first + (uint32_t)__ffs((int)bits) - 1;
        const uint64_t pattern = q.from.template load<T>(i);
        for (unsigned k = 0; k < sizeof i; k++)
            out[k] = (uint8_t)(i >> 8 * k);
        for (unsigned k = 0; k < sizeof(T); k++)
            out[sizeof i + k] = (uint8_t)(pattern >> 8 * k);
        out += element<T>::EXCEPTION;
    }
}

/* By a block: writes what its cell adds to the chunk. Returns the chunk's length, or 0 if it is
 * more than the limit. */
template <typename T>
__device__ inline uint32_t encode_cell(encode_shared *s, const float_layout &l,
                                       const cuda_lists &lists, const cuda_chunk &chunk, uint32_t c,
                                       const target &to)
{
    const cell at = cell_of<T>(l, chunk, c);
    const integers<T> q = {
        map_of<T>(l), {to.raw + at.its.lead, l.big_endian}, {s->marks[0], s->marks[1]}};
    const uint32_t cells = (chunk.whole - 1) / BALE_CUDA_CELL + 1, k = c - chunk.first;
    const uint32_t blocks = (at.its.count + FLOAT_BLOCK - 1) / FLOAT_BLOCK, b = threadIdx.x;
    const uint32_t ends = at.its.lead + at.its.tail;
    T *values;
    const cell_widths found = find_widths(s, l, q, at, &values);
    share before = {}, all = {};

    share_cells(s, q, at, found, lists, chunk, c);
    for (uint32_t n = 0; n < cells; n++) {
        if (n == k)
            before = all;
        all.deltas += s->shares[n].deltas;
        all.planes += s->shares[n].planes;
        all.bits += s->shares[n].bits;
    }
    uint8_t *deltas = to.out + ends + blocks + before.deltas;
    uint8_t *planes = to.out + ends + blocks + all.deltas, *behind = planes + all.planes;
    const uint32_t length = ends + blocks + all.deltas + all.planes + (all.bits + 7) / 8;
    if (length > to.limit)
        return 0;
    if (b * FLOAT_BLOCK < at.count) {
        s->groups.widths[b] = with_deltas(found.w.widths, found.deltas_at);
        s->groups.planes_at[b] = found.planes_at;
        write_widths(found.w, to.out + ends + at.first / FLOAT_BLOCK + b, deltas + found.deltas_at);
    }
    if (k == 0)
        write_ends(at.its, to);
    __syncthreads();
    pack_planes(&s->groups, values, at.count, deltas);
    copy_out(planes + before.planes, (const uint8_t *)values, s->shares[k].planes);
    if (q.map.high > 0 && s->shares[k].bits > 0)
        write_raw_bits(s, q, at, k, cells, before.bits, found.bits_before, behind);
    else if (q.map.is_decimal)
        write_exceptions(s, q, at, behind + before.bits / 8);
    return length;
}

/* By a block: the layout of cell c's chunk. The block of the frame's first cell writes the part. */
__device__ inline const chosen_layout &find_layout(encode_shared *s, const cuda_lists &lists,
                                                   uint32_t frame, uint32_t c)
{
    lesson *from = lesson_of(lists, frame);
    last_step *last = (last_step *)s->values;

    load_last(last, from);
    if (threadIdx.x < 32) {
        const chosen_layout chosen = layout_of(last);
        if (bale_warp::lane() == 0)
            s->layout = chosen;
        if (last->known.its.raw == lists.raw + (size_t)c * BALE_CUDA_CELL)
            write_part(from, chosen, &lists.made[frame]);
    }
    __syncthreads();
    return s->layout;
}

/* A block for each cell, of THREADS or THREADS_MAX threads. by_ticket: there are chunks of
 * several. */
__global__ void __launch_bounds__(THREADS_MAX, 1)
    encode(const cuda_chunk *chunks, cuda_lists lists, bool by_ticket)
{
    bale_turn::await();
    encode_shared *s = (encode_shared *)bale_shared::memory;
    const uint32_t c =
        by_ticket ? bale_tickets::take(&work_of(lists, 0)->next, &s->ticket) : blockIdx.x;
    const cuda_chunk chunk = chunks[c];
    const target to = {lists.raw + (size_t)chunk.first * BALE_CUDA_CELL, chunk.whole, chunk.limit,
                       lists.packed + chunk.first * lists.packed_cell};
    const chosen_layout &chosen = find_layout(s, lists, chunk.frame, c);
    const float_layout l = chosen.its;
    uint32_t length = 0;

    if (chosen.has && chunk.whole <= FLOAT_CHUNK)
        length = l.size_log2 == 1   ? encode_cell<uint16_t>(s, l, lists, chunk, c, to)
                 : l.size_log2 == 2 ? encode_cell<uint32_t>(s, l, lists, chunk, c, to)
                                    : encode_cell<uint64_t>(s, l, lists, chunk, c, to);
    if (threadIdx.x == 0 && c == chunk.first)
        lists.packed_lengths[c] = length;
    if (threadIdx.x == 0)
        lists.statuses[c] = 0;
}
} // namespace bale_float

#endif
