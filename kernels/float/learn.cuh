/* float on the device: what is known of an extent before its layout is tried (spec.md, What an
 * encoder chooses). The CPU's learn.c and choose.inc say the same. */
#ifndef BALE_KERNELS_FLOAT_LEARN_CUH
#define BALE_KERNELS_FLOAT_LEARN_CUH

#include "kernels/codec/lists.h"
#include "kernels/codec/shared.cuh"
#include "kernels/float/rows.cuh"
#include "kernels/float/share.cuh"
#include "kernels/float/steps.cuh"
#include "kernels/float/type.cuh"

namespace bale_float
{
constexpr unsigned ALONG_THREADS = 32 * WINDOW_PAIRS; /* a warp for two windows */
static_assert(ALONG_THREADS / 32 == FLOAT_DIGITS + 1, "a warp for each number of digits");

/* Where a frame's exponents are found and tried along x. */
struct along_shared {
    uint64_t probed[FLOAT_PROBED];
    uint32_t exponent; /* the greatest */
    uint32_t digits;   /* bit d: elements are decimals with d digits */
    attempt_costs costs[FLOAT_EXPONENTS];
    warp_values room;
};

/* By a block, with four elements in each lane: the greatest exponent that is not all ones, and how
 * many digits decimals have. */
template <typename T>
__device__ inline void look_at_windows(along_shared *s, const lane_values<T> &x, bool big_endian)
{
    constexpr uint32_t ONES = (1u << (element<T>::BITS - 1 - element<T>::MANTISSA)) - 1;
    const uint32_t warp = threadIdx.x / 32, v = threadIdx.x / WINDOW_LANES;
    uint32_t most = 0;

#pragma unroll
    for (uint32_t k = 0; k < LANE_ELEMENTS; k++) {
        const T p = big_endian ? swapped(x.at[k]) : x.at[k];
        const uint32_t its = (uint32_t)(magnitude(p, 0) >> element<T>::MANTISSA);
        if (LANE_ELEMENTS * lane_of_window() + k == FLOAT_PROBE_STEP * v % FLOAT_BLOCK)
            s->probed[v] = p;
        most = max(most, its < ONES ? its : 0);
    }
    most = __reduce_max_sync(bale_warp::ALL, most);
    if (bale_warp::lane() == 0)
        atomicMax(&s->exponent, most);
    __syncthreads();
    if (sizeof(T) > 2 && are_decimals(probe<T>((T)s->probed[bale_warp::lane()]), warp) &&
        bale_warp::lane() == 0)
        atomicOr(&s->digits, 1u << warp);
    __syncthreads();
}

/* What is tried: none, then those below the greatest of the windows, then decimals. */
__device__ inline exponents list_exponents(const along_shared *s, const float_layout &l)
{
    exponents list = {};

    list.count = 1;
    for (uint32_t below = 0; below <= 6 && l.is_float; below += below < 4 ? 1 : 2)
        if (s->exponent > below && map_has(l, s->exponent - below))
            list.add(s->exponent - below);
    if (s->digits != 0)
        list.add(decimals_of(s->digits));
    return list;
}

/* By a block, with four elements in each lane: tries a frame's exponents, one in so many. */
template <typename T>
__device__ inline void try_along_all(along_shared *s, const plan &p, const lane_values<T> &x,
                                     uint32_t rank, uint32_t each)
{
    for (uint32_t k = rank; k < p.list.count; k += each) {
        const float_map map = map_of<T>(layout_with(p, p.list.at(k)));
        uint32_t bits, cost = 0;
        const lane_values<T> q = map_lane<T>(map, x, p.chosen.layout.big_endian, true, &bits);
        try_along(q, p.at(k).range, 0, &cost);
        bits = __reduce_add_sync(bale_warp::ALL, bits);
        if (bale_warp::lane() < FLOAT_ORDERS)
            atomicAdd(&s->costs[k].groups[0][bale_warp::lane()], cost);
        if (bale_warp::lane() == 0)
            atomicAdd(&s->costs[k].bits, bits);
    }
}

/* By a block: what is known of a frame with such elements; tries its exponents. */
template <typename T>
__device__ inline void try_frame(along_shared *s, plan *p, uint32_t rank, uint32_t each)
{
    float_layout *l = &p->chosen.layout;
    const window_place at = window_at(p->its, *l, threadIdx.x / WINDOW_LANES);
    /* They come while the shift is found. */
    const lane_values<T> x =
        load_lane<T>(at.chunk + (size_t)(at.first + LANE_ELEMENTS * lane_of_window()) * sizeof(T));

    l->shift = find_shift<T>(*l, p->its, &s->room);
    if (l->is_float)
        look_at_windows(s, x, l->big_endian);
    p->list = list_exponents(s, *l);
    p->elements = min(p->its.chunk, p->its.length) / (uint32_t)sizeof(T);
    p->chosen.least = UINT32_MAX;
    try_along_all(s, *p, x, rank, each);
}

/* Type and place of the elements that a field names. False: it names none. */
__device__ inline bool take_type(const cuda_frame &frame, float_layout *l)
{
    const uint8_t type = frame.field.type;

    *l = float_layout{};
    l->size_log2 = type == BALE_FIELD_I16                             ? 1
                   : type == BALE_FIELD_F32 || type == BALE_FIELD_I32 ? 2
                                                                      : 3;
    l->is_float = type == BALE_FIELD_F32 || type == BALE_FIELD_F64;
    l->big_endian = frame.field.big_endian;
    l->lead = (uint8_t)((frame.field.offset - frame.offset) & ((1u << l->size_log2) - 1));
    return type >= BALE_FIELD_F32 && type <= BALE_FIELD_I64;
}

/* Of a frame and its first chunk: where it lies. */
__device__ inline extent extent_of(const cuda_frame &frame, const cuda_chunk &chunk,
                                   const cuda_lists &lists)
{
    const uint32_t length = frame.raw_length, last = length % chunk.chunk_size;

    return {lists.raw + (size_t)frame.first * BALE_CUDA_CELL, length,
            last >= FLOAT_LEAST ? length : length - last, chunk.chunk_size};
}

/* Whether the codec has such extents and chunks. */
__device__ inline bool is_fine(const cuda_frame &frame, const cuda_chunk &chunk)
{
    return frame.raw_length >= FLOAT_LEAST && chunk.chunk_size >= BALE_CUDA_CELL &&
           chunk.chunk_size <= FLOAT_CHUNK &&
           (chunk.whole == frame.raw_length || chunk.whole == chunk.chunk_size);
}

/* A block for each frame and size of elements: what types cost where the field names none. */
__global__ void __launch_bounds__(THREADS, 2)
    learn_type(const cuda_chunk *chunks, const cuda_frame *frames, cuda_lists lists)
{
    bale_turn::await();
    __shared__ type_shared s;
    const uint32_t f = blockIdx.x / FLOAT_SIZES, size_log2 = blockIdx.x % FLOAT_SIZES + 1;
    const cuda_frame frame = frames[f];
    const uint8_t *raw = lists.raw + (size_t)frame.first * BALE_CUDA_CELL;
    uint32_t *keys = lesson_of(lists, f)->type_keys;
    float_layout unused;

    if (take_type(frame, &unused) || !is_fine(frame, chunks[frame.first]))
        return;
    if (size_log2 == 1)
        try_types<uint16_t>(&s, raw, frame.raw_length, keys);
    else if (size_log2 == 2)
        try_types<uint32_t>(&s, raw, frame.raw_length, keys);
    else
        try_types<uint64_t>(&s, raw, frame.raw_length, keys);
}

/* By a block: clears what later kernels add to, and what the blocks of encode() tell each other. */
__device__ inline void clear_frame(lesson *to, const cuda_lists &lists, uint32_t first,
                                   uint32_t cells)
{
    for (uint32_t k = threadIdx.x; k < (TRIES - TRY_ROWS) * sizeof *to->costs / 4; k += blockDim.x)
        ((uint32_t *)(to->costs + TRY_ROWS))[k] = 0;
    for (uint32_t k = threadIdx.x; k < cells; k += blockDim.x)
        *work_of(lists, first + k) = cell_work{};
}

/* `each` blocks for each frame, of `frame_count` frames with `count` cells in all: shift and
 * exponents, which are tried along x. A frame with chunks that the codec has not gets no part. */
__global__ void __launch_bounds__(ALONG_THREADS, 2)
    learn_along(const cuda_chunk *chunks, const cuda_frame *frames, cuda_lists lists,
                uint32_t frame_count, uint32_t count, uint32_t each)
{
    __shared__ along_shared s;
    const uint32_t f = blockIdx.x / each, rank = blockIdx.x % each;
    lesson *to = lesson_of(lists, f);
    plan p = {};

    bale_turn::await();
    for (uint32_t k = threadIdx.x; k < sizeof s.costs / 4; k += ALONG_THREADS)
        ((uint32_t *)s.costs)[k] = 0;
    if (threadIdx.x == 0)
        s.exponent = s.digits = 0;
    const cuda_frame frame = frames[f];
    const cuda_chunk chunk = chunks[frame.first];
    const uint64_t *dims = frame.field.dims;
    p.its = extent_of(frame, chunk, lists);
    p.is_ahead = frame_count <= AHEAD_FRAMES;
    if (!take_type(frame, &p.chosen.layout))
        p.chosen.layout = least_type(to->type_keys);
    if (dims[1] > 1 && dims[0] <= FLOAT_STRIDE_MAX)
        p.row = (uint32_t)dims[0];
    if (p.row > 0 && dims[2] > 1 && dims[1] <= FLOAT_STRIDE_MAX / dims[0])
        p.plane = (uint32_t)(dims[0] * dims[1]);
    __syncthreads();
    if (!is_fine(frame, chunk))
        p.row = p.plane = 0;
    else if (p.chosen.layout.size_log2 == 1)
        try_frame<uint16_t>(&s, &p, rank, each);
    else if (p.chosen.layout.size_log2 == 2)
        try_frame<uint32_t>(&s, &p, rank, each);
    else
        try_frame<uint64_t>(&s, &p, rank, each);
    __syncthreads();
    for (uint32_t k = rank + threadIdx.x / 32 * each; k < FLOAT_EXPONENTS; k += each * warps())
        for (uint32_t n = bale_warp::lane(); n < sizeof *s.costs / 4; n += 32)
            ((uint32_t *)&to->costs[k])[n] = ((const uint32_t *)&s.costs[k])[n];
    if (rank != 0)
        return;
    clear_frame(to, lists, frame.first,
                (f + 1 < frame_count ? frames[f + 1].first : count) - frame.first);
    if (threadIdx.x == 0)
        to->known = p;
}

/* Where rows are looked for. */
struct learn_rows_shared {
    knowledge k;
    row_shared rows;
};

/* A block for each frame, of THREADS or THREADS_MAX threads: rows and planes of those of which
 * nothing is known. */
__global__ void __launch_bounds__(THREADS_MAX, 1)
    learn_rows(const cuda_frame *frames, cuda_lists lists)
{
    bale_turn::await();
    learn_rows_shared *s = (learn_rows_shared *)bale_shared::memory;
    lesson *to = lesson_of(lists, blockIdx.x);
    const plan &p = s->k.known;
    uint32_t row = 0, plane = 0;

    if (frames[blockIdx.x].field.dims[0] > 0 || to->known.list.count == 0)
        return;
    learn_before(&s->k, to, STEP_ROWS);
    if (p.chosen.layout.size_log2 == 1)
        find_rows<uint16_t>(&s->rows, p.its, p.chosen.layout, &row, &plane);
    else if (p.chosen.layout.size_log2 == 2)
        find_rows<uint32_t>(&s->rows, p.its, p.chosen.layout, &row, &plane);
    else
        find_rows<uint64_t>(&s->rows, p.its, p.chosen.layout, &row, &plane);
    if (threadIdx.x == 0) {
        to->known.row = row;
        to->known.plane = plane;
    }
}
} // namespace bale_float

#endif
