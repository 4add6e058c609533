/* float on the device: encoding a chunk of several cells, a block for each. A block finds the
 * differences of its elements by what other cells have, too: first to know how long its sections
 * are, and when those of all cells are known, to write them. */
#ifndef BALE_KERNELS_FLOAT_CELLS_CUH
#define BALE_KERNELS_FLOAT_CELLS_CUH

#include "kernels/float/encode.cuh"

namespace bale_float
{
/* Elements before a cell's own that differences along x need; a whole group of each size. */
constexpr uint32_t HALO = FLOAT_GROUP;
constexpr uint32_t MARKS_MAX = FLOAT_CHUNK / sizeof(uint32_t) / 32;

/* Which elements of a chunk are decimals, and the number of the last one before each word, and 1;
 * 0 if there is none. */
struct chunk_marks {
    uint32_t word[MARKS_MAX], before[MARKS_MAX];
};

/* What a cell adds to its chunk, in the cell's working memory: bytes of deltas and planes, and bits
 * behind the planes; the first eight of these. */
struct share {
    uint32_t deltas, planes, bits, first_bits;
};
static_assert(sizeof(share) <= BALE_CUDA_WORK, "in each cell's working memory");

struct cell_shared {
    uint4 values[(BALE_CUDA_CELL + HALO * sizeof(uint64_t)) / sizeof(uint4) + 1];
    group_places groups;
    chunk_marks m;
    warp_values room;
    uint32_t first_bits;
    share shares[FLOAT_CHUNK / BALE_CUDA_CELL]; /* of the chunk's cells */
};

/* The integers of a chunk's elements, by their patterns. */
template <typename T> struct integers {
    float_map map;
    pattern_source from;
    const chunk_marks *m;

    __device__ T at(uint32_t i, unsigned *raw_bits) const
    {
        T q = 0;

        if (map.is_decimal && (m->word[i / 32] >> i % 32 & 1) == 0) {
            const uint32_t lower = m->word[i / 32] & ((1u << i % 32) - 1);
            const uint32_t last =
                lower != 0 ? i / 32 * 32 + 32 - (uint32_t)__clz((int)lower) : m->before[i / 32];
            *raw_bits = 0;
            if (last == 0)
                return 0;
            i = last - 1;
        }
        (void)map_element(map, from.load<T>(i), &q, raw_bits);
        return q;
    }
};

/* The elements of a cell, and those of its chunk. */
struct cell {
    extents its;
    uint32_t first, count;
};

template <typename T>
__device__ inline cell cell_of(const float_layout &l, const cuda_chunk &chunk, uint32_t c)
{
    const uint32_t most = BALE_CUDA_CELL / sizeof(T);
    const extents its = extents_of(l, chunk.whole);
    const uint32_t first = min((c - chunk.first) * most, its.count);

    return {its, first, min(its.count - first, most)};
}

/* The patterns of its own elements. */
template <typename T>
__device__ inline pattern_source own_patterns(const integers<T> &q, const cell &at)
{
    return {q.from.at + (size_t)at.first * sizeof(T), q.from.big_endian};
}

/* By a block: marks of all of the chunk's elements. */
template <typename T>
__device__ inline void mark_decimals(const float_map &map, const pattern_source &from,
                                     uint32_t count, chunk_marks *m, warp_values *room)
{
    const uint32_t words = (count + 31) / 32;
    uint32_t most = 0;

    for (uint32_t w = threadIdx.x / 32; w < words; w += warps()) {
        const uint32_t i = 32 * w + bale_warp::lane();
        T unused = 0;
        const bool is = i < count && decimal_of(map, from.load<T>(i), &unused);
        const uint32_t word = __ballot_sync(bale_warp::ALL, is);
        if (bale_warp::lane() == 0)
            m->word[w] = word;
    }
    __syncthreads();
    for (uint32_t first = 0; first < words; first += THREADS) {
        const uint32_t w = first + threadIdx.x, word = w < words ? m->word[w] : 0;
        const uint32_t last = word != 0 ? 32 * w + 32 - (uint32_t)__clz((int)word) : 0;
        const uint32_t before = max(most, most_before(last, room));
        if (w < words)
            m->before[w] = before;
        most = max(most, ~least_of_all(~last, room));
    }
    __syncthreads();
}

/* How many passes of an axis there are at an element. */
__device__ inline uint32_t passes_at(uint32_t i, uint32_t order, uint32_t stride)
{
    uint32_t passes = 0;

    while (passes < order && i >= (passes + 1) * stride)
        passes++;
    return passes;
}

/* Number k of row n of Pascal's triangle, up to 4; every other one negative. */
template <typename S> __device__ inline S coefficient(uint32_t n, uint32_t k)
{
    const uint32_t row = n == 4   ? 0x14641u
                         : n == 3 ? 0x1331u
                         : n == 2 ? 0x121u
                         : n == 1 ? 0x11u
                                  : 1u;
    const S its = row >> 4 * k & 15;

    return k % 2 != 0 ? 0 - its : its;
}

/* By a thread: an element's integer after the differences between planes and rows. */
template <typename T>
__device__ inline T difference_across(const float_layout &l, const integers<T> &q, uint32_t i,
                                      unsigned *raw_bits)
{
    using S = typename wide<T>::type;
    const uint32_t row = l.strides[1], plane = l.strides[2];
    const uint32_t rows = passes_at(i, l.orders[1], row);
    S sum = q.at(i, raw_bits);

    for (uint32_t y = 0; y <= rows; y++) {
        const uint32_t at = i - y * row, planes = passes_at(at, l.orders[2], plane);
        unsigned unused;
        for (uint32_t z = y == 0; z <= planes; z++)
            sum +=
                coefficient<S>(rows, y) * coefficient<S>(planes, z) * q.at(at - z * plane, &unused);
    }
    return (T)sum;
}

/* By a block: all differences of the cell's elements, from values[HALO] on. Returns the bits behind
 * the planes: raw bits, or those of exceptions. */
template <typename T>
__device__ inline uint32_t find_differences(cell_shared *s, const float_layout &l,
                                            const integers<T> &q, const cell &at)
{
    const uint32_t before = at.first > 0 ? HALO : 0;
    T *values = (T *)s->values + HALO - before;
    uint32_t bits = 0, total;

    if (q.map.is_decimal)
        mark_decimals<T>(q.map, q.from, at.its.count, &s->m, &s->room);
    for (uint32_t i = threadIdx.x; i < before + at.count; i += THREADS) {
        const uint32_t k = at.first + i - before;
        unsigned raw_bits;
        values[i] = difference_across(l, q, k, &raw_bits);
        if (q.map.is_decimal)
            raw_bits = (s->m.word[k / 32] >> k % 32 & 1) == 0 ? 8 * element<T>::EXCEPTION : 0;
        bits += i >= before ? raw_bits : 0;
    }
    (void)sum_of_warps_before(sum_of_lanes(bits), &s->room, &total);
    for (uint32_t pass = 1; pass <= l.orders[0]; pass++)
        if (pass < before + at.count)
            subtract(values, before + at.count, pass, 1);
    return total;
}

/* By a block: the first eight of the cell's raw bits. */
template <typename T>
__device__ inline uint32_t find_first_bits(cell_shared *s, const integers<T> &q, const cell &at)
{
    const pattern_source from = own_patterns(q, at);
    const span mine = span_of(at.count, 32 * LANE_ELEMENTS<T>);

    if (threadIdx.x == 0)
        s->first_bits = 0;
    uint32_t bits = raw_bits_before<T>(q.map, from, at.count, &s->room);
    for (uint32_t tile = mine.first; tile < mine.end && bits < 8; tile += 32) {
        const uint32_t i = tile + bale_warp::lane();
        const uint32_t its = i < mine.end ? raw_bits_at<T>(q.map, from, i) : 0,
                       upto = sum_upto(its);
        const uint32_t place = bits + upto - its;
        if (its > 0 && place < 8) {
            const T m = magnitude(from.load<T>(i), q.map.shift);
            const uint32_t low = (uint32_t)m & ((1u << min(its, 8u)) - 1);
            atomicOr(&s->first_bits, (low << place) & 0xff);
        }
        bits += __shfl_sync(bale_warp::ALL, upto, 31);
    }
    __syncthreads();
    return s->first_bits;
}

/* What a thread knows of its block of elements, and what its cell adds to the chunk. */
struct cell_widths {
    widths w;
    uint32_t deltas_at, planes_at; /* bytes before those of the block, in the cell */
    share all;
};

/* By a block: the differences, from values[HALO] on, and the widths of their groups. */
template <typename T>
__device__ inline cell_widths find_widths(cell_shared *s, const float_layout &l,
                                          const integers<T> &q, const cell &at)
{
    const uint32_t b = threadIdx.x;
    cell_widths found = {};

    found.all.bits = find_differences(s, l, q, at);
    find_needs(&s->groups, (T *)s->values + HALO, at.count);
    if (b * FLOAT_BLOCK < at.count)
        found.w = choose_widths(s->groups.widths[b], groups_there(at.count, b), element<T>::BITS);
    found.deltas_at = sum_before(found.w.bits, &s->room, &found.all.deltas);
    found.planes_at = sum_before(sum_of_bytes(found.w.widths), &s->room, &found.all.planes);
    return found;
}

/* By a block: what a cell adds to its chunk. */
template <typename T>
__device__ inline share measure_cell(cell_shared *s, const float_layout &l, const uint8_t *raw,
                                     const cuda_chunk &chunk, uint32_t c)
{
    const cell at = cell_of<T>(l, chunk, c);
    const integers<T> q = {map_of<T>(l), {raw + at.its.lead, l.big_endian}, &s->m};
    share all = find_widths(s, l, q, at).all;

    if (q.map.high > 0)
        all.first_bits = find_first_bits(s, q, at);
    return all;
}

/* By a block: a cell's raw bits. A byte of several cells is the first one's. */
template <typename T>
__device__ inline void write_cell_bits(cell_shared *s, const integers<T> &q, const cell &at,
                                       uint32_t k, uint32_t cells, uint32_t before, uint8_t *out)
{
    /* The bits of a byte that belongs to a cell before lie in front of the second word. */
    const uint32_t skipped = before % 8 != 0 ? 4 : 0;
    const uint32_t bits = s->shares[k].bits;
    const uint32_t begin = (skipped != 0 ? 24 : 0) + before % 8, end = begin + bits;
    const pattern_source from = own_patterns(q, at);
    const uint32_t of_warps = raw_bits_before<T>(q.map, from, at.count, &s->room);
    uint8_t *bytes = (uint8_t *)s->values;

    __syncthreads();
    put_raw_bits<T>(q.map, from, at.count, bits, of_warps, begin, (uint32_t *)s->values);
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
__device__ inline void write_exceptions(cell_shared *s, const integers<T> &q, const cell &at,
                                        uint8_t *out)
{
    const uint32_t first = at.first + 32 * threadIdx.x, end = at.first + at.count;
    const uint32_t there = first >= end        ? 0
                           : end - first >= 32 ? UINT32_MAX
                                               : (1u << (end - first)) - 1;
    const uint32_t left = there != 0 ? there & ~s->m.word[first / 32] : 0;
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

/* By a block: writes what its cell adds to the chunk. Returns the chunk's length, or 0 if it is more
 * than the limit. */
template <typename T>
__device__ inline uint32_t encode_cell(cell_shared *s, const float_layout &l,
                                       const cuda_chunk &chunk, uint32_t c, const target &to)
{
    const cell at = cell_of<T>(l, chunk, c);
    const integers<T> q = {map_of<T>(l), {to.raw + at.its.lead, l.big_endian}, &s->m};
    const uint32_t cells = (chunk.whole - 1) / BALE_CUDA_CELL + 1, k = c - chunk.first;
    const uint32_t blocks = (at.its.count + FLOAT_BLOCK - 1) / FLOAT_BLOCK, b = threadIdx.x;
    const uint32_t ends = at.its.lead + at.its.tail;
    share before = {}, all = {};

    for (uint32_t n = 0; n < cells; n++) {
        if (n == k)
            before = all;
        all.deltas += s->shares[n].deltas;
        all.planes += s->shares[n].planes;
        all.bits += s->shares[n].bits;
    }
    uint8_t *planes = to.out + ends + blocks + all.deltas, *behind = planes + all.planes;
    const uint32_t length = ends + blocks + all.deltas + all.planes + (all.bits + 7) / 8;
    if (length > to.limit)
        return 0;
    const cell_widths found = find_widths(s, l, q, at);
    if (b * FLOAT_BLOCK < at.count) {
        s->groups.widths[b] = found.w.widths;
        s->groups.planes_at[b] = found.planes_at;
        write_widths(found.w, to.out + ends + at.first / FLOAT_BLOCK + b,
                     to.out + ends + blocks + before.deltas + found.deltas_at);
    }
    if (k == 0)
        write_ends(at.its, to);
    __syncthreads();
    pack_planes(&s->groups, (T *)s->values + HALO, at.count);
    copy_out(planes + before.planes, (const uint8_t *)((T *)s->values + HALO), s->shares[k].planes);
    if (q.map.high > 0 && s->shares[k].bits > 0)
        write_cell_bits(s, q, at, k, cells, before.bits, behind);
    else if (q.map.is_decimal)
        write_exceptions(s, q, at, behind + before.bits / 8);
    return length;
}

/* By a block: the layout of the chunk of a cell. False: there is none, or the chunk is the other
 * kernel's. */
__device__ inline bool cell_layout(const cuda_chunk &chunk, const cuda_lists &lists,
                                   float_layout *l)
{
    return chunk.whole > BALE_CUDA_CELL && chunk.whole <= FLOAT_CHUNK &&
           read_part(lists.parts + (size_t)chunk.frame * BALE_CUDA_PART,
                     lists.made[chunk.frame].length, l);
}

__device__ inline share *share_of(const cuda_lists &lists, uint32_t c)
{
    return (share *)(lists.work + (size_t)c * BALE_CUDA_WORK);
}

/* A block for each cell. */
__global__ void __launch_bounds__(THREADS, 2) measure(const cuda_chunk *chunks, cuda_lists lists)
{
    const uint32_t c = blockIdx.x;
    const cuda_chunk chunk = chunks[c];
    const uint8_t *raw = lists.raw + (size_t)chunk.first * BALE_CUDA_CELL;
    cell_shared *s = (cell_shared *)bale_shared::memory;
    float_layout l;

    if (!cell_layout(chunk, lists, &l))
        return;
    const share all = l.size_log2 == 1   ? measure_cell<uint16_t>(s, l, raw, chunk, c)
                      : l.size_log2 == 2 ? measure_cell<uint32_t>(s, l, raw, chunk, c)
                                         : measure_cell<uint64_t>(s, l, raw, chunk, c);
    if (threadIdx.x == 0)
        *share_of(lists, c) = all;
}

/* A block for each cell, after measure() and encode(). */
__global__ void __launch_bounds__(THREADS, 2)
    encode_cells(const cuda_chunk *chunks, cuda_lists lists)
{
    const uint32_t c = blockIdx.x;
    const cuda_chunk chunk = chunks[c];
    const target to = {lists.raw + (size_t)chunk.first * BALE_CUDA_CELL, chunk.whole, chunk.limit,
                       lists.packed + chunk.first * lists.packed_cell};
    cell_shared *s = (cell_shared *)bale_shared::memory;
    const uint32_t cells = (chunk.whole - 1) / BALE_CUDA_CELL + 1;
    float_layout l;

    if (!cell_layout(chunk, lists, &l))
        return;
    if (threadIdx.x < cells)
        s->shares[threadIdx.x] = *share_of(lists, chunk.first + threadIdx.x);
    __syncthreads();
    const uint32_t length = l.size_log2 == 1   ? encode_cell<uint16_t>(s, l, chunk, c, to)
                            : l.size_log2 == 2 ? encode_cell<uint32_t>(s, l, chunk, c, to)
                                               : encode_cell<uint64_t>(s, l, chunk, c, to);
    if (threadIdx.x == 0 && c == chunk.first)
        lists.packed_lengths[c] = length;
}
} // namespace bale_float

#endif
