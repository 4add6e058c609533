/* float on the device: what is known of an extent before its layout is tried (spec.md, What an
 * encoder chooses). The CPU's learn.c and choose.inc say the same. */
#ifndef BALE_KERNELS_FLOAT_LEARN_CUH
#define BALE_KERNELS_FLOAT_LEARN_CUH

#include "kernels/codec/lists.h"
#include "kernels/codec/shared.cuh"
#include "kernels/float/rows.cuh"
#include "kernels/float/steps.cuh"
#include "kernels/float/type.cuh"

namespace bale_float
{
/* Where a frame's elements are looked at first. */
struct begin_shared {
    type_shared type;
    uint32_t exponent; /* the greatest */
    uint64_t probed[FLOAT_PROBED];
    uint32_t decimals; /* their E; 0: they are none */
    warp_values room;
};

/* By a block: the greatest exponent of the windows that is not all ones, and decimals' E. */
template <typename T>
__device__ inline void look_at_windows(begin_shared *s, const extent &e, const float_layout &l)
{
    const unsigned mantissa = element<T>::MANTISSA - l.shift;
    const uint32_t ones = (1u << (element<T>::BITS - 1 - element<T>::MANTISSA)) - 1;

    if (threadIdx.x == 0)
        s->exponent = s->decimals = 0;
    __syncthreads();
    for (uint32_t v = threadIdx.x / 32; v < FLOAT_WINDOWS; v += warps()) {
        const window_place at = window_at(e, l, v);
        uint32_t most = 0;
#pragma unroll
        for (uint32_t n = 0; n < FLOAT_BLOCK; n += 32) {
            const uint32_t i = n + bale_warp::lane();
            const T p =
                load_element<T>(at.chunk + (size_t)(at.first + i) * sizeof(T), l.big_endian);
            const uint32_t its = (uint32_t)(magnitude(p, l.shift) >> mantissa);
            if (i == FLOAT_PROBE_STEP * v % FLOAT_BLOCK)
                s->probed[v] = p;
            most = max(most, its < ones ? its : 0);
        }
        most = __reduce_max_sync(bale_warp::ALL, most);
        if (bale_warp::lane() == 0)
            atomicMax(&s->exponent, most);
    }
    __syncthreads();
    if (sizeof(T) > 2 && threadIdx.x < 32) {
        const uint32_t decimals = find_decimals<T>((T)s->probed[threadIdx.x]);
        if (threadIdx.x == 0)
            s->decimals = decimals;
    }
    __syncthreads();
}

/* By a block: none, then those below the greatest of the windows, then decimals. */
template <typename T>
__device__ inline exponents list_exponents(begin_shared *s, const extent &e, const float_layout &l)
{
    exponents list = {};

    list.count = 1;
    if (!l.is_float)
        return list;
    look_at_windows<T>(s, e, l);
    for (uint32_t below = 0; below <= 6; below += below < 4 ? 1 : 2)
        if (s->exponent > below && map_has(l, s->exponent - below))
            list.add(s->exponent - below);
    if (s->decimals > 0)
        list.add(s->decimals);
    return list;
}

/* By a block: what is tried of a frame whose type is known. */
template <typename T> __device__ inline void list_tries(begin_shared *s, const extent &e, plan *p)
{
    float_layout *l = &p->chosen.layout;

    l->shift = find_shift<T>(*l, e, &s->room);
    p->list = list_exponents<T>(s, e, *l);
    p->elements = min(e.chunk, e.length) / (uint32_t)sizeof(T);
    p->chosen.least = UINT32_MAX;
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

/* By a block: what is known of a frame before the first step. */
__device__ inline plan begin_frame(begin_shared *s, const cuda_frame &frame, const extent &e)
{
    const uint64_t *dims = frame.field.dims;
    plan p = {};
    float_layout *l = &p.chosen.layout;

    if (!take_type(frame, l))
        *l = find_type(&s->type, e.raw, e.length, &s->room);
    if (dims[1] > 1 && dims[0] <= FLOAT_STRIDE_MAX)
        p.row = (uint32_t)dims[0];
    if (p.row > 0 && dims[2] > 1 && dims[1] <= FLOAT_STRIDE_MAX / dims[0])
        p.plane = (uint32_t)(dims[0] * dims[1]);
    if (l->size_log2 == 1)
        list_tries<uint16_t>(s, e, &p);
    else if (l->size_log2 == 2)
        list_tries<uint32_t>(s, e, &p);
    else
        list_tries<uint64_t>(s, e, &p);
    return p;
}

/* A block for each frame, of THREADS or THREADS_MAX threads: its type, shift and exponents. One with
 * chunks that the codec has not gets no part. */
__global__ void __launch_bounds__(THREADS_MAX, 1)
    begin(const cuda_chunk *chunks, const cuda_frame *frames, cuda_lists lists)
{
    bale_turn::await();
    begin_shared *s = (begin_shared *)bale_shared::memory;
    lesson *to = lesson_of(lists, blockIdx.x);
    const cuda_frame frame = frames[blockIdx.x];
    const cuda_chunk chunk = chunks[frame.first];
    const bool fine = frame.raw_length >= FLOAT_LEAST && chunk.chunk_size >= BALE_CUDA_CELL &&
                      chunk.chunk_size <= FLOAT_CHUNK &&
                      (chunk.whole == frame.raw_length || chunk.whole == chunk.chunk_size);
    plan p = {};

    if (fine)
        p = begin_frame(s, frame,
                        extent_of(frame.raw_length, chunk.chunk_size,
                                  lists.raw + (size_t)frame.first * BALE_CUDA_CELL));
    for (uint32_t k = threadIdx.x; k < sizeof to->costs / 4; k += blockDim.x)
        ((uint32_t *)to->costs)[k] = 0;
    if (threadIdx.x == 0) {
        to->known = p;
        to->ended = 0;
    }
}

/* A block for each frame, as begin(): rows and planes of those of which nothing is known. */
__global__ void __launch_bounds__(THREADS_MAX, 1)
    learn_rows(const cuda_chunk *chunks, const cuda_frame *frames, cuda_lists lists)
{
    bale_turn::await();
    row_shared *s = (row_shared *)bale_shared::memory;
    lesson *to = lesson_of(lists, blockIdx.x);
    const cuda_frame frame = frames[blockIdx.x];
    const float_layout l = to->known.chosen.layout;
    const extent e = extent_of(frame.raw_length, chunks[frame.first].chunk_size,
                               lists.raw + (size_t)frame.first * BALE_CUDA_CELL);
    uint32_t row = 0, plane = 0;

    if (to->known.list.count == 0 || frame.field.dims[0] > 0)
        return;
    if (l.size_log2 == 1)
        find_rows<uint16_t>(s, e, l, &row, &plane);
    else if (l.size_log2 == 2)
        find_rows<uint32_t>(s, e, l, &row, &plane);
    else
        find_rows<uint64_t>(s, e, l, &row, &plane);
    if (threadIdx.x == 0) {
        to->known.row = row;
        to->known.plane = plane;
    }
}
} // namespace bale_float

#endif
