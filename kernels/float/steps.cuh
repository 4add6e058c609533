/* float on the device: what is tried to choose an extent's layout, step by step (spec.md, What an
 * encoder chooses). Several blocks try a frame's attempts of a step; the last of them that ends
 * takes the best. */
#ifndef BALE_KERNELS_FLOAT_STEPS_CUH
#define BALE_KERNELS_FLOAT_STEPS_CUH

#include "kernels/codec/lists.h"
#include "kernels/codec/turn.cuh"
#include "kernels/float/windows.cuh"

namespace bale_float
{
/* Exponents that are tried; the last may be decimals. In words, so that they stay in registers. */
struct exponents {
    uint64_t words[FLOAT_EXPONENTS / 4];
    uint32_t count; /* 0: the frame has no layout */

    __device__ uint32_t at(uint32_t k) const
    {
        return (uint32_t)((k < 4 ? words[0] : words[1]) >> 16 * (k % 4)) & 0xffff;
    }

    __device__ void add(uint32_t exponent)
    {
        words[0] |= count < 4 ? (uint64_t)exponent << 16 * count : 0;
        words[1] |= count >= 4 ? (uint64_t)exponent << 16 * (count - 4) : 0;
        count++;
    }
};

/* The attempts of a step do not depend on each other. */
enum {
    STEP_ALONG,       /* all exponents, with all orders along x */
    STEP_ROWS,        /* two exponents, with orders between rows and along them */
    STEP_PLANES,      /* orders of planes */
    STEP_ROWS_AGAIN,  /* orders between rows and along them, with that of planes */
    STEP_PLANES_ONLY, /* what was found as planes as rows */
    STEP_LAST,        /* each exponent with what was chosen */
    STEPS,
};

/* Attempts of a step, at most. */
__host__ __device__ constexpr uint32_t attempts_most(uint32_t step)
{
    return step == STEP_ALONG || step == STEP_LAST ? FLOAT_EXPONENTS
           : step == STEP_ROWS                     ? 2
           : step == STEP_PLANES                   ? FLOAT_PLANES - 1
                                                   : 1;
}

/* What is known before a step. */
struct plan {
    exponents list;
    uint32_t row, plane; /* elements; 0: there are none */
    uint32_t elements;   /* of a chunk, at most */
    choice chosen;

    /* Whether an exponent was tried with all orders along x. */
    __device__ bool is_free(uint32_t k) const
    {
        return k < 2 || (list.at(k) & FLOAT_DECIMAL) != 0;
    }

    /* Whether orders at a stride may cost less than what was tried. If no chunk has an element so
     * far before another, they cost what the orders along x cost. */
    __device__ bool may_gain(uint32_t stride) const
    {
        bool was_free = false;

        for (uint32_t k = 0; k < list.count; k++)
            was_free = was_free || (list.at(k) == chosen.layout.exponent && is_free(k));
        return stride != 0 && (stride < elements || !was_free);
    }

    /* How many attempts the step has. */
    __device__ uint32_t count(uint32_t step) const
    {
        const uint8_t *orders = chosen.layout.orders;
        const uint32_t two = list.at(list.count > 1) != chosen.layout.exponent ? 2 : 1;

        if (step == STEP_ALONG || list.count == 0)
            return list.count;
        if (step == STEP_LAST)
            return orders[1] != 0 || orders[2] != 0 ? list.count : 0;
        if (step == STEP_ROWS)
            return may_gain(row) ? two : 0;
        if (row == 0 || plane == 0)
            return 0;
        if (step == STEP_PLANES_ONLY)
            return may_gain(plane);
        return step == STEP_PLANES ? (plane < elements ? FLOAT_PLANES - 1 : 0) : orders[2] > 0;
    }

    /* Attempt k of the step. STEP_ALONG: whether it counts before the others' order is known. */
    __device__ attempt at(uint32_t step, uint32_t k) const
    {
        const uint8_t *orders = chosen.layout.orders;
        const uint8_t x = orders[0], y = orders[1], z = orders[2];
        const uint32_t exponent = chosen.layout.exponent;

        if (step == STEP_ALONG)
            return {list.at(k), 0, 0, {{0, 0, 0}, {4, 0, 0}}};
        if (step == STEP_LAST && list.at(k) == exponent)
            return {exponent, 0, 0, {{1, 1, 1}, {0, 0, 0}}}; /* it was tried */
        if (step == STEP_LAST)
            return {list.at(k),
                    chosen.layout.strides[1],
                    chosen.layout.strides[2],
                    {{x, y, z}, {x, y, z}}};
        if (step == STEP_PLANES) {
            const uint8_t planes = (uint8_t)(k + 1);
            return {exponent, row, plane, {{x, y, planes}, {x, y, planes}}};
        }
        if (step == STEP_ROWS_AGAIN)
            return {exponent, row, plane, {{0, 0, z}, {4, 4, z}}};
        return {k == 0 ? exponent : list.at(list.count > 1),
                step == STEP_ROWS ? row : plane,
                0,
                {{0, 1, 0}, {4, 4, 0}}};
    }
};

/* A frame whose layout is chosen, in the cell of its part. */
struct lesson {
    uint8_t part[16];
    plan known;
    uint32_t ended; /* blocks, of this step */
    attempt_costs costs[FLOAT_EXPONENTS];
};
static_assert(sizeof(lesson) <= BALE_CUDA_PART, "in the cell of a frame's part");

__device__ inline lesson *lesson_of(const cuda_lists &lists, uint32_t frame)
{
    return (lesson *)(lists.parts + (size_t)frame * BALE_CUDA_PART);
}

__device__ inline extent extent_of(uint32_t length, uint32_t chunk, const uint8_t *raw)
{
    const uint32_t last = length % chunk;

    return {raw, length, last >= FLOAT_LEAST ? length : length - last, chunk};
}

/* ---- Taking the best ---- */

/* What an attempt costs with the orders n, if it tries them. Other blocks have added the costs. */
__device__ inline uint32_t cost_of_orders(const attempt_costs *costs, const float_range &range,
                                          uint32_t n)
{
    const volatile uint32_t *all = &costs->groups[0][0][0], *raw = &costs->bits;
    const uint32_t x = n % FLOAT_ORDERS, y = n / FLOAT_ORDERS % FLOAT_ORDERS,
                   z = n / FLOAT_ORDERS / FLOAT_ORDERS;
    const bool is_tried = x >= range.least[0] && x <= range.most[0] && y >= range.least[1] &&
                          y <= range.most[1] && z >= range.least[2] && z <= range.most[2];

    if (!is_tried)
        return UINT32_MAX;
    const uint32_t bits = *raw;
    return FLOAT_GROUP * all[n] + bits - bits / (FLOAT_BLOCK / FLOAT_HISTORY);
}

/* By a block: of the attempts from `from` to `end` takes the E, orders, row and plane that cost
 * least, the first of them, if this is less than the choice. An attempt along x that is not free
 * counts with the order that was chosen. */
__device__ inline void take_least(const lesson *s, plan *p, uint32_t step, uint32_t from,
                                  uint32_t end, warp_values *room)
{
    constexpr uint32_t ORDERS = FLOAT_PLANES * FLOAT_ORDERS * FLOAT_ORDERS;
    static_assert(ORDERS <= 128 && FLOAT_EXPONENTS <= 8, "ten bits of a key");
    choice *c = &p->chosen;
    uint32_t key = UINT32_MAX;

    for (uint32_t n = 128 * from + threadIdx.x; n < 128 * end; n += blockDim.x) {
        float_range range = p->at(step, n / 128).range;
        if (step == STEP_ALONG && !p->is_free(n / 128))
            range.least[0] = range.most[0] = c->layout.orders[0];
        const uint32_t cost =
            n % 128 < ORDERS ? cost_of_orders(&s->costs[n / 128], range, n % 128) : UINT32_MAX;
        key = min(key, cost == UINT32_MAX ? cost : cost << 10 | n);
    }
    key = least_of_all(key, room);
    if (key >> 10 >= c->least || key == UINT32_MAX)
        return;
    const attempt best = p->at(step, key >> 7 & 7);
    const uint32_t n = key & 127;
    c->least = key >> 10;
    c->layout.exponent = (uint16_t)best.exponent;
    c->layout.orders[0] = (uint8_t)(n % FLOAT_ORDERS);
    c->layout.orders[1] = (uint8_t)(n / FLOAT_ORDERS % FLOAT_ORDERS);
    c->layout.orders[2] = (uint8_t)(n / FLOAT_ORDERS / FLOAT_ORDERS);
    c->layout.strides[0] = c->layout.orders[0] > 0;
    c->layout.strides[1] = c->layout.orders[1] > 0 ? best.row : 0;
    c->layout.strides[2] = c->layout.orders[2] > 0 ? best.plane : 0;
}

/* By a block: the part of a frame, if there is one. */
__device__ inline void write_part(lesson *s, plan *p, cuda_part *made)
{
    float_layout *l = &p->chosen.layout;
    const uint32_t all = FLOAT_WINDOWS * (FLOAT_BLOCK - FLOAT_HISTORY) * (8u << l->size_log2);
    const bool fine =
        p->list.count > 0 &&
        p->chosen.least + FLOAT_WINDOWS * 2 * (FLOAT_BLOCK - FLOAT_HISTORY) / FLOAT_GROUP <
            all - all / 64;

    if ((l->exponent & FLOAT_DECIMAL) != 0)
        l->shift = 0;
    if (fine && threadIdx.x < FLOAT_PART)
        s->part[threadIdx.x] = part_byte(*l, threadIdx.x);
    if (threadIdx.x == 0)
        made->length = fine ? FLOAT_PART : 0;
}

/* ---- Trying ---- */

constexpr unsigned STEP_THREADS = 128;

/* Parts of an attempt, if these are tried by themselves: one for each order along rows. With planes
 * there is one, since a window has those behind all rows that are tried. */
__host__ __device__ constexpr uint32_t parts_of(uint32_t step)
{
    return step == STEP_ROWS || step == STEP_PLANES_ONLY ? FLOAT_ORDERS : 1;
}

/* By a warp: an attempt's costs in two windows, or those of a part of it. */
template <typename T>
__device__ inline void try_one(lesson *s, const extent &e, const plan &p, uint32_t step,
                               uint32_t parts, uint32_t task)
{
    const uint32_t windows = task % WINDOW_PAIRS, part = task / WINDOW_PAIRS % parts;
    const uint32_t k = task / WINDOW_PAIRS / parts;
    attempt its = p.at(step, k);
    float_layout with = p.chosen.layout;

    const bool is_first = parts == 1 || part == its.range.least[1];
    if (its.range.least[2] > its.range.most[2] || (parts > 1 && !its.take_part(part)))
        return;
    with.exponent = (uint16_t)its.exponent;
    with.shift = (its.exponent & FLOAT_DECIMAL) != 0 ? 0 : with.shift;
    try_windows<T>(&s->costs[k], e, with, map_of<T>(with), windows, its, is_first);
}

/* By a block, the last of its frame that ends: takes the best, and makes the next step ready. */
__device__ inline void end_step(lesson *s, plan *p, uint32_t step, warp_values *room)
{
    const uint32_t count = p->count(step), first = step == STEP_ALONG ? min(count, 2u) : count;

    take_least(s, p, step, 0, first, room);
    take_least(s, p, step, first, count, room);
    for (uint32_t k = threadIdx.x; k < sizeof s->costs / 4; k += blockDim.x)
        ((uint32_t *)s->costs)[k] = 0;
    if (threadIdx.x == 0) {
        s->known.chosen = p->chosen;
        s->ended = 0;
    }
}

/* By a block: its tasks of a step. */
__device__ inline void try_all(lesson *s, const extent &e, const plan &p, uint32_t step,
                               uint32_t parts, uint32_t rank, uint32_t each)
{
    const uint32_t tasks = p.count(step) * parts * WINDOW_PAIRS;

    for (uint32_t task = rank * warps() + threadIdx.x / 32; task < tasks; task += each * warps())
        if (p.chosen.layout.size_log2 == 1)
            try_one<uint16_t>(s, e, p, step, parts, task);
        else if (p.chosen.layout.size_log2 == 2)
            try_one<uint32_t>(s, e, p, step, parts, task);
        else
            try_one<uint64_t>(s, e, p, step, parts, task);
}

/* `each` blocks for each frame; parts: of an attempt. What is known lies in shared memory, to have
 * registers for tasks. */
__global__ void __launch_bounds__(STEP_THREADS, 5)
    try_step(const cuda_chunk *chunks, const cuda_frame *frames, cuda_lists lists, uint32_t step,
             uint32_t parts, uint32_t each)
{
    __shared__ warp_values room;
    __shared__ plan known;
    const uint32_t f = blockIdx.x / each, rank = blockIdx.x % each;
    lesson *s = lesson_of(lists, f);
    bool is_last = rank == 0;

    bale_turn::await();
    if (threadIdx.x == 0)
        known = s->known;
    __syncthreads();
    if (known.count(step) > 0) {
        const cuda_frame *frame = &frames[f];
        const extent e = extent_of(frame->raw_length, chunks[frame->first].chunk_size,
                                   lists.raw + (size_t)frame->first * BALE_CUDA_CELL);
        try_all(s, e, known, step, parts, rank, each);
        __threadfence();
        __syncthreads();
        is_last = __syncthreads_or(threadIdx.x == 0 && atomicAdd(&s->ended, 1u) == each - 1);
        __threadfence();
    }
    if (!is_last)
        return;
    plan p = known;
    if (known.count(step) > 0)
        end_step(s, &p, step, &room);
    if (step == STEP_LAST)
        write_part(s, &p, &lists.made[f]);
}
} // namespace bale_float

#endif
