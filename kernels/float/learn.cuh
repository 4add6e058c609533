/* float on the device: choosing an extent's layout (spec.md, What an encoder chooses), by a block.
 * The CPU's learn.c and choose.inc say the same. */
#ifndef BALE_KERNELS_FLOAT_LEARN_CUH
#define BALE_KERNELS_FLOAT_LEARN_CUH

#include "kernels/codec/lists.h"
#include "kernels/codec/shared.cuh"
#include "kernels/float/rows.cuh"
#include "kernels/float/type.cuh"

namespace bale_float
{
struct learn_shared {
    union {
        type_shared type;
        row_shared rows;
    };
    window_shared windows;
    warp_values room;
};

/* Exponents that are tried; the last may be decimals. */
struct exponents {
    uint16_t at[FLOAT_EXPONENTS];
    uint32_t count;
};

/* By a block: the greatest exponent of the windows that is not all ones, and the probed elements. */
template <typename T>
__device__ inline void look_at_windows(window_shared *s, const extent &e, const float_layout &l)
{
    const unsigned mantissa = element<T>::MANTISSA - l.shift;
    const uint32_t ones = (1u << (element<T>::BITS - 1 - element<T>::MANTISSA)) - 1;

    if (threadIdx.x == 0)
        s->exponent = 0;
    __syncthreads();
    for (uint32_t v = threadIdx.x / 32; v < FLOAT_WINDOWS; v += warps()) {
        const window_place at = window_at(e, l, v);
        for (uint32_t i = bale_warp::lane(); i < FLOAT_BLOCK; i += 32) {
            const T p =
                load_element<T>(at.chunk + (size_t)(at.first + i) * sizeof(T), l.big_endian);
            const uint32_t its = (uint32_t)(magnitude(p, l.shift) >> mantissa);
            if (i == 5 * v % FLOAT_BLOCK)
                s->probed[v] = p;
            if (its < ones)
                atomicMax(&s->exponent, its);
        }
    }
    __syncthreads();
}

/* By a block: none, then those below the greatest of the windows, then decimals. */
template <typename T>
__device__ inline exponents list_exponents(window_shared *s, const extent &e, const float_layout &l)
{
    exponents list = {};

    list.count = 1;
    if (!l.is_float)
        return list;
    look_at_windows<T>(s, e, l);
    for (uint32_t below = 0; below <= 6; below += below < 4 ? 1 : 2)
        if (s->exponent > below && map_has(l, s->exponent - below))
            list.at[list.count++] = (uint16_t)(s->exponent - below);
    const uint32_t decimals = sizeof(T) > 2 ? find_decimals<T>((T)s->probed[bale_warp::lane()]) : 0;
    if (decimals > 0)
        list.at[list.count++] = (uint16_t)decimals;
    return list;
}

/* What is tried of an extent, step by step; the attempts of a step do not depend on each other. */
enum {
    STEP_FIRST,       /* the first two exponents, with all orders along x */
    STEP_EXPONENTS,   /* the others, with the best of these orders; decimals with all */
    STEP_ROWS,        /* two exponents, with orders between rows and along them */
    STEP_PLANES,      /* orders of planes */
    STEP_ROWS_AGAIN,  /* orders between rows and along them, with that of planes */
    STEP_PLANES_ONLY, /* what was found as planes as rows */
    STEP_LAST,        /* each exponent with what was chosen */
    STEPS,
};

struct plan {
    exponents list;
    uint32_t row, plane;
    float_layout chosen; /* before the step */

    /* How many attempts the step has. */
    __device__ uint32_t count(uint32_t step) const
    {
        const bool is_across = chosen.orders[1] != 0 || chosen.orders[2] != 0;

        if (step == STEP_FIRST)
            return min(list.count, 2u);
        if (step == STEP_EXPONENTS)
            return list.count - min(list.count, 2u);
        if (step == STEP_LAST)
            return is_across ? list.count : 0;
        if (row == 0 || (step > STEP_ROWS && plane == 0))
            return 0;
        if (step == STEP_ROWS)
            return list.at[list.count > 1] != chosen.exponent ? 2 : 1;
        return step != STEP_ROWS_AGAIN || chosen.orders[2] > 0;
    }

    __device__ attempt along(uint32_t step, uint32_t k) const
    {
        const uint32_t exponent = list.at[step == STEP_FIRST ? k : k + 2];
        const bool is_free = step == STEP_FIRST || (exponent & FLOAT_DECIMAL) != 0;
        const uint8_t x = chosen.orders[0];

        if (is_free)
            return {exponent, 0, 0, {{0, 0, 0}, {4, 0, 0}}};
        return {exponent, 0, 0, {{x, 0, 0}, {x, 0, 0}}};
    }

    __device__ attempt at(uint32_t step, uint32_t k) const
    {
        const uint8_t x = chosen.orders[0], y = chosen.orders[1], z = chosen.orders[2];

        if (step <= STEP_EXPONENTS)
            return along(step, k);
        if (step == STEP_LAST)
            return {list.at[k], chosen.strides[1], chosen.strides[2], {{x, y, z}, {x, y, z}}};
        if (step == STEP_PLANES)
            return {chosen.exponent, row, plane, {{x, y, 1}, {x, y, 3}}};
        if (step == STEP_ROWS_AGAIN)
            return {chosen.exponent, row, plane, {{0, 0, z}, {4, 4, z}}};
        return {k == 0 ? chosen.exponent : list.at[list.count > 1],
                step == STEP_ROWS ? row : plane,
                0,
                {{0, 1, 0}, {4, 4, 0}}};
    }
};

/* By a block: the whole layout but for the type. False, for all threads: there is none. */
template <typename T>
__device__ inline bool choose(learn_shared *s, const extent &e, uint32_t row, uint32_t plane,
                              bool flat, float_layout *layout)
{
    const uint32_t all = FLOAT_WINDOWS * (FLOAT_BLOCK - FLOAT_HISTORY) * element<T>::BITS;
    choice c = {*layout, UINT32_MAX};

    c.layout.shift = find_shift<T>(c.layout, e, &s->room);
    plan p = {list_exponents<T>(&s->windows, e, c.layout), row, plane, {}};
    for (uint32_t step = 0; step < STEPS; step++) { /* one place calls improve, which is long */
        if (step == STEP_ROWS && row == 0 && !flat)
            find_rows<T>(&s->rows, e, c.layout, &p.row, &p.plane, &s->room);
        p.chosen = c.layout;
        if (p.count(step) > 0)
            improve<T>(&s->windows, e, &c, p, step, &s->room);
    }
    if ((c.layout.exponent & FLOAT_DECIMAL) != 0)
        c.layout.shift = 0;
    *layout = c.layout;
    return c.least + FLOAT_WINDOWS * 2 * (FLOAT_BLOCK - FLOAT_HISTORY) / FLOAT_GROUP <
           all - all / 64;
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

/* By a block: the layout of a frame. False, for all threads: there is none. */
__device__ inline bool learn_layout(learn_shared *s, const cuda_frame &frame, const uint8_t *raw,
                                    uint32_t chunk, float_layout *l)
{
    const uint64_t *dims = frame.field.dims;
    const uint32_t last = frame.raw_length % chunk;
    const extent e = {raw, frame.raw_length,
                      last >= FLOAT_LEAST ? frame.raw_length : frame.raw_length - last, chunk};
    uint32_t row = 0, plane = 0;

    if (frame.raw_length < FLOAT_LEAST)
        return false;
    if (!take_type(frame, l))
        *l = find_type(&s->type, raw, frame.raw_length, &s->room);
    if (dims[1] > 1 && dims[0] <= FLOAT_STRIDE_MAX)
        row = (uint32_t)dims[0];
    if (row > 0 && dims[2] > 1 && dims[1] <= FLOAT_STRIDE_MAX / dims[0])
        plane = (uint32_t)(dims[0] * dims[1]);
    return l->size_log2 == 1   ? choose<uint16_t>(s, e, row, plane, dims[0] > 0, l)
           : l->size_log2 == 2 ? choose<uint32_t>(s, e, row, plane, dims[0] > 0, l)
                               : choose<uint64_t>(s, e, row, plane, dims[0] > 0, l);
}

/* A block for each frame, of THREADS or THREADS_MAX threads. One with chunks that the codec has not
 * gets no part. */
__global__ void __launch_bounds__(THREADS_MAX, 1)
    learn(const cuda_chunk *chunks, const cuda_frame *frames, cuda_lists lists)
{
    const cuda_frame frame = frames[blockIdx.x];
    const cuda_chunk chunk = chunks[frame.first];
    float_layout l;

    const bool fine =
        chunk.chunk_size >= BALE_CUDA_CELL && chunk.chunk_size <= FLOAT_CHUNK &&
        (chunk.whole == frame.raw_length || chunk.whole == chunk.chunk_size) &&
        learn_layout((learn_shared *)bale_shared::memory, frame,
                     lists.raw + (size_t)frame.first * BALE_CUDA_CELL, chunk.chunk_size, &l);
    if (fine && threadIdx.x < FLOAT_PART)
        lists.parts[(size_t)blockIdx.x * BALE_CUDA_PART + threadIdx.x] = part_byte(l, threadIdx.x);
    if (threadIdx.x == 0)
        lists.made[blockIdx.x].length = fine ? FLOAT_PART : 0;
}
} // namespace bale_float

#endif
