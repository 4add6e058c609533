/* float on the device: what is known of an extent while its layout is chosen, and what is tried to
 * choose it (spec.md, What an encoder chooses). Kernels add up what the attempts cost; each block
 * of a later kernel takes the best of them by itself, so no block waits for others. */
#ifndef BALE_KERNELS_FLOAT_PLAN_CUH
#define BALE_KERNELS_FLOAT_PLAN_CUH

#include "kernels/codec/lists.h"
#include "kernels/float/type.cuh"

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

/* Steps of the choice, in the order in which their attempts are taken. */
enum {
    STEP_ALONG,       /* the first two exponents, with all orders along x */
    STEP_ALONG_TOO,   /* the others with the best of these, and decimals with all */
    STEP_ROWS,        /* two exponents, with orders between rows and along them */
    STEP_PLANES,      /* orders of planes */
    STEP_ROWS_AGAIN,  /* orders between rows and along them, with that of planes */
    STEP_PLANES_ONLY, /* what was found as planes as rows */
    STEP_INTERPOLATED,
    STEP_LAST, /* exponents with what was chosen */
};

/* Numbers of attempts, one behind the other. */
enum {
    TRY_ALONG = 0, /* an exponent each */
    TRY_ROWS = TRY_ALONG + FLOAT_EXPONENTS,
    TRY_PLANES_ONLY = TRY_ROWS + 2,
    TRY_INTERPOLATED = TRY_PLANES_ONLY + 2,
    TRY_PLANES = TRY_INTERPOLATED + 2, /* an order each */
    TRY_ROWS_AGAIN = TRY_PLANES + FLOAT_PLANES - 1,
    TRY_LAST = TRY_ROWS_AGAIN + FLOAT_PLANES - 1,
    TRIES = TRY_LAST + FLOAT_EXPONENTS,
};
static_assert(TRIES <= 32 && FLOAT_ORDERS * FLOAT_ORDERS <= 32, "five bits of a key");
static_assert(TRY_ROWS % 2 == 0 && TRY_PLANES_ONLY % 2 == 0 && TRY_INTERPOLATED % 2 == 0,
              "two exponents");

/* So few frames that attempts are tried ahead of the step that says which of them count. */
constexpr uint32_t AHEAD_FRAMES = 16;

/* Attempts from `first` to `end`. */
struct tries {
    uint32_t first, end;
};

/* What is known after some steps. */
struct plan {
    extent its;
    exponents list;
    uint32_t row, plane; /* elements; 0: there are none */
    uint32_t elements;   /* of a chunk, at most */
    uint32_t along;      /* the exponent after the steps along x */
    /* Planes as rows, and interpolated rows, are tried with both exponents, and rows again with each
     * order of planes. */
    bool is_ahead;
    choice chosen;

    /* Whether an exponent was tried with all orders along x. */
    __device__ bool is_free(uint32_t k) const
    {
        return k < 2 || (list.at(k) & FLOAT_DECIMAL) != 0;
    }

    /* Whether orders at a stride may cost less than what was tried with an exponent. If no chunk has
     * an element so far before another, they cost what the orders along x cost. */
    __device__ bool may_gain(uint32_t stride, uint32_t exponent) const
    {
        bool was_free = false;

        for (uint32_t k = 0; k < list.count; k++)
            was_free = was_free || (list.at(k) == exponent && is_free(k));
        return stride != 0 && (stride < elements || !was_free);
    }

    /* Whether there are rows, and enough of them in each chunk, to be interpolated. */
    __device__ bool may_interpolate() const
    {
        if (row < FLOAT_INTERPOLATED_ROW)
            return false;
        const uint32_t last = its.used % its.chunk;
        const extents least = extents_of(chosen.layout, last != 0 ? last : its.chunk);

        return least.count >= FLOAT_INTERPOLATED_ROWS * row;
    }

    /* Of the two exponents with which rows are tried. */
    __device__ uint32_t exponent_of(uint32_t k) const
    {
        return k == 0 ? along : list.at(list.count > 1);
    }

    /* Whether an attempt counts, or may. */
    __device__ bool has(uint32_t n) const
    {
        const bool is_new = n % 2 == 0 || exponent_of(1) != along;
        const bool has_planes = row != 0 && plane != 0;
        const bool is_taken = is_ahead || exponent_of(n % 2) == chosen.layout.exponent;

        if (n < TRY_ROWS)
            return n < list.count;
        if (n < TRY_PLANES_ONLY)
            return is_new && may_gain(row, along);
        if (n < TRY_INTERPOLATED)
            return is_new && is_taken && has_planes && may_gain(plane, exponent_of(n % 2));
        if (n < TRY_PLANES)
            return is_new && is_taken && may_interpolate();
        if (n < TRY_ROWS_AGAIN)
            return has_planes && plane < elements;
        if (n < TRY_LAST)
            return has_planes && plane < elements &&
                   (is_ahead || n - TRY_ROWS_AGAIN + 1 == chosen.layout.orders[2]);
        return n - TRY_LAST < list.count && is_last(n - TRY_LAST);
    }

    /* Whether an exponent is tried with what was chosen, which takes more time where rows are
     * interpolated: there only those next to that of the choice. */
    __device__ bool is_last(uint32_t k) const
    {
        const uint32_t its = chosen.layout.exponent;
        const bool is_next =
            (k > 0 && list.at(k - 1) == its) || (k + 1 < list.count && list.at(k + 1) == its);

        if (chosen.layout.interpolated)
            return is_next;
        return (chosen.layout.strides[1] != 0 || chosen.layout.strides[2] != 0) &&
               list.at(k) != its;
    }

    __device__ attempt at(uint32_t n) const
    {
        const uint8_t x = chosen.layout.orders[0], y = chosen.layout.orders[1];
        const uint8_t z = chosen.layout.orders[2];
        const uint32_t exponent = chosen.layout.exponent;
        const uint32_t *strides = chosen.layout.strides;
        const uint8_t *details = chosen.layout.details;

        if (n < TRY_ROWS)
            return {list.at(n), 0, 0, {{0, 0, 0}, {4, 0, 0}}};
        if (n < TRY_INTERPOLATED)
            return {
                exponent_of(n % 2), n < TRY_PLANES_ONLY ? row : plane, 0, {{0, 1, 0}, {4, 4, 0}}};
        if (n < TRY_PLANES)
            return {exponent_of(n % 2),
                    row,
                    0,
                    {{0, 0, 0}, {4, FLOAT_COSTS_FOURTH - 1, 0}},
                    true,
                    {{0, 0}, {FLOAT_DETAILS - 1, FLOAT_DETAILS - 1}}};
        if (n < TRY_ROWS_AGAIN) {
            const uint8_t planes = (uint8_t)(n - TRY_PLANES + 1);
            return {exponent, row, plane, {{x, y, planes}, {x, y, planes}}};
        }
        if (n < TRY_LAST) {
            const uint8_t planes = (uint8_t)(n - TRY_ROWS_AGAIN + 1);
            return {exponent, row, plane, {{0, 0, planes}, {4, 4, planes}}};
        }
        return {list.at(n - TRY_LAST),
                strides[1],
                strides[2],
                {{x, y, z}, {x, y, z}},
                chosen.layout.interpolated,
                {{details[0], details[1]}, {details[0], details[1]}}};
    }

    /* What is taken at a step. */
    __device__ tries of_step(uint32_t step) const
    {
        const uint32_t z = chosen.layout.orders[2];
        const uint32_t its = chosen.layout.exponent != along;

        switch (step) {
        case STEP_ALONG:
            return {TRY_ALONG, TRY_ALONG + 2};
        case STEP_ALONG_TOO:
            return {TRY_ALONG + 2, TRY_ROWS};
        case STEP_ROWS:
            return {TRY_ROWS, TRY_PLANES_ONLY};
        case STEP_PLANES:
            return {TRY_PLANES, TRY_ROWS_AGAIN};
        case STEP_ROWS_AGAIN:
            return {TRY_ROWS_AGAIN + z - (z > 0), TRY_ROWS_AGAIN + z};
        case STEP_PLANES_ONLY:
            return {TRY_PLANES_ONLY + its, TRY_PLANES_ONLY + its + 1};
        case STEP_INTERPOLATED:
            return {TRY_INTERPOLATED + its, TRY_INTERPOLATED + its + 1};
        default:
            return {TRY_LAST, TRIES};
        }
    }
};

/* A frame whose layout is chosen, in the cell of its part. */
struct lesson {
    uint8_t part[16];
    uint32_t type_keys[2 * TYPES]; /* if it has to be found */
    choice before_last;
    plan known; /* before the first step */
    attempt_costs costs[TRIES];
};
static_assert(sizeof(lesson) <= BALE_CUDA_PART, "in the cell of a frame's part");

__device__ inline lesson *lesson_of(const cuda_lists &lists, uint32_t frame)
{
    return (lesson *)(lists.parts + (size_t)frame * BALE_CUDA_PART);
}

/* ---- Taking the best ---- */

/* By a warp. */
__device__ inline uint32_t least_of_lanes(uint32_t key)
{
    return ~__reduce_max_sync(bale_warp::ALL, ~key);
}

/* By a warp: what an attempt's groups take, of a lane's orders; 0: these were not tried. */
__device__ inline uint32_t groups_of_lane(const attempt_costs &costs)
{
    const uint32_t lane = bale_warp::lane();

    return lane < FLOAT_ORDERS * FLOAT_ORDERS ? (&costs.groups[0][0])[lane] : 0;
}

/* What windows take. */
__device__ inline uint32_t cost_of(uint32_t groups, uint32_t bits)
{
    return FLOAT_GROUP * groups + bits - bits / (FLOAT_BLOCK / FLOAT_HISTORY);
}

/* By a warp: take_least() of attempts of interpolated rows: the orders that cost least of each
 * kind of rows, of which a quarter are fourth rows, and half are odd ones. */
__device__ inline void take_interpolated(plan *p, const tries &its, const attempt_costs *costs,
                                         uint32_t from)
{
    const uint32_t lane = bale_warp::lane();
    choice *c = &p->chosen;

#pragma unroll 1
    for (uint32_t n = its.first; n < its.end; n++) {
        const uint32_t groups = groups_of_lane(costs[n - from]);
        const uint32_t key = groups != 0 ? groups % WAS_TRIED << 5 | lane : UINT32_MAX;
        const uint32_t kind = lane / FLOAT_ORDERS;
        const uint32_t fourth = least_of_lanes(kind < FLOAT_COSTS_FOURTH ? key : UINT32_MAX);
        const uint32_t odd = least_of_lanes(kind == FLOAT_COSTS_ODD ? key : UINT32_MAX);
        const uint32_t between = least_of_lanes(kind == FLOAT_COSTS_BETWEEN ? key : UINT32_MAX);
        const uint32_t cost =
            cost_of((2 * (odd >> 5) + (between >> 5) + (fourth >> 5)) / 4, costs[n - from].bits);
        if (fourth == UINT32_MAX)
            continue;
        const uint32_t rows = p->elements / p->row; /* of a chunk */
        const uint32_t edges = c->layout.interpolated ? 0 : cost / (rows / FLOAT_EDGES);
        if (cost + edges >= c->least)
            continue;
        const attempt best = p->at(n);
        c->least = cost;
        c->layout.exponent = (uint16_t)best.exponent;
        c->layout.orders[0] = (uint8_t)((fourth & 31) % FLOAT_ORDERS);
        c->layout.orders[1] = (uint8_t)((fourth & 31) / FLOAT_ORDERS);
        c->layout.orders[2] = 0;
        c->layout.strides[0] = c->layout.orders[0] > 0;
        c->layout.strides[1] = best.row;
        c->layout.strides[2] = 0;
        c->layout.interpolated = true;
        c->layout.details[0] = (uint8_t)((odd & 31) % FLOAT_ORDERS);
        c->layout.details[1] = (uint8_t)((between & 31) % FLOAT_ORDERS);
    }
}

/* By a warp: of a step's attempts takes the E, orders, row and plane that cost least, the first of
 * them, if this is less than the choice. costs: of all attempts from number `from` on. */
__device__ inline void take_least(plan *p, uint32_t step, const attempt_costs *costs, uint32_t from)
{
    const uint32_t lane = bale_warp::lane();
    const tries its = p->of_step(step);
    if (step == STEP_INTERPOLATED || p->chosen.layout.interpolated) {
        take_interpolated(p, its, costs, from);
        return;
    }
    choice *c = &p->chosen;
    const uint32_t fixed = c->layout.orders[1] * FLOAT_ORDERS + c->layout.orders[0];
    uint32_t key = UINT32_MAX;

#pragma unroll 1
    for (uint32_t n = its.first; n < its.end; n++) {
        const bool is_free = step != STEP_ALONG_TOO || p->is_free(n);
        const uint32_t groups = groups_of_lane(costs[n - from]);
        const uint32_t cost = cost_of(groups % WAS_TRIED, costs[n - from].bits);
        if (groups != 0 && (is_free || lane == fixed))
            key = min(key, cost << 10 | n << 5 | lane);
    }
    key = least_of_lanes(key);
    if (key >> 10 >= c->least || key == UINT32_MAX)
        return;
    const attempt best = p->at(key >> 5 & 31);
    c->least = key >> 10;
    c->layout.exponent = (uint16_t)best.exponent;
    c->layout.orders[0] = (uint8_t)((key & 31) % FLOAT_ORDERS);
    c->layout.orders[1] = (uint8_t)((key & 31) / FLOAT_ORDERS);
    c->layout.orders[2] = best.range.most[2];
    c->layout.strides[0] = c->layout.orders[0] > 0;
    c->layout.strides[1] = c->layout.orders[1] > 0 ? best.row : 0;
    c->layout.strides[2] = c->layout.orders[2] > 0 ? best.plane : 0;
}

/* By a block: copies words, some at a time. */
__device__ inline void copy_words(void *to, const void *from, uint32_t bytes)
{
#pragma unroll 4
    for (uint32_t k = threadIdx.x; k < bytes / 4; k += blockDim.x)
        ((uint32_t *)to)[k] = ((const uint32_t *)from)[k];
}

/* What is known of a frame, in shared memory. */
struct knowledge {
    plan known;
    attempt_costs costs[TRY_LAST];
};

/* By a block: what is known once all steps before `step` are taken. */
__device__ inline void learn_before(knowledge *s, const lesson *from, uint32_t step)
{
    static_assert(offsetof(knowledge, costs) == sizeof(plan) &&
                      offsetof(lesson, costs) == offsetof(lesson, known) + sizeof(plan),
                  "one behind the other");

    copy_words(s, &from->known, sizeof *s);
    __syncthreads();
    if (threadIdx.x < 32) {
        plan p = s->known;
#pragma unroll 1
        for (uint32_t k = 0; k < step; k++) {
            take_least(&p, k, s->costs, 0);
            p.along = k < STEP_ROWS ? p.chosen.layout.exponent : p.along;
        }
        __syncwarp();
        if (threadIdx.x == 0)
            s->known = p;
    }
    __syncthreads();
}
} // namespace bale_float

#endif
