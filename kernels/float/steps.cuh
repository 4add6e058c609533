/* float on the device: what is tried to choose an extent's layout (spec.md, What an encoder
 * chooses), once its exponents are known (learn.cuh). */
#ifndef BALE_KERNELS_FLOAT_STEPS_CUH
#define BALE_KERNELS_FLOAT_STEPS_CUH

#include "kernels/codec/turn.cuh"
#include "kernels/float/plan.cuh"

namespace bale_float
{
constexpr unsigned STEP_THREADS = 128, STEP_BLOCKS = 5; /* of a multiprocessor */

/* What a kernel tries of each frame: attempts that do not depend on each other. */
struct trial {
    tries its;
    uint32_t whole; /* so many first; the others in parts, one for each order between rows */
    uint32_t step;  /* the first that is not taken before */

    __host__ __device__ uint32_t tasks() const
    {
        return (whole + (its.end - its.first - whole) * FLOAT_ORDERS) * WINDOW_PAIRS;
    }
};

/* The integers of an attempt. */
__device__ inline float_layout layout_with(const plan &p, uint32_t exponent)
{
    float_layout with = p.chosen.layout;

    with.exponent = (uint16_t)exponent;
    with.shift = (exponent & FLOAT_DECIMAL) != 0 ? 0 : with.shift;
    return with;
}

/* By a warp: what kinds of interpolated rows cost in two windows. Not inlined, so that it takes no
 * registers from other attempts. */
template <typename T>
__device__ __noinline__ void try_kinds(attempt_costs *costs, const plan &p, uint32_t n,
                                       uint32_t windows, uint32_t first, uint32_t last)
{
    const attempt its = p.at(n);
    const float_layout with = layout_with(p, its.exponent);

    try_interpolated<T>(costs, p.its, with, map_of<T>(with), windows, its, first, last);
}

/* By a warp: what an attempt, or a part of it, costs in two windows. */
template <typename T>
__device__ inline void try_one(lesson *s, const plan &p, const trial &t, uint32_t task)
{
    const uint32_t k = task / WINDOW_PAIRS, behind = k - min(k, t.whole);
    const uint32_t n = t.its.first + (k < t.whole ? k : t.whole + behind / FLOAT_ORDERS);
    const uint8_t first = k < t.whole ? 0 : (uint8_t)(behind % FLOAT_ORDERS);
    const uint8_t last = k < t.whole ? FLOAT_ORDERS - 1 : first;
    const attempt its = p.at(n);
    float_range range = its.range;

    range.least[1] = max(first, range.least[1]);
    range.most[1] = min(last, range.most[1]);
    if (!p.has(n))
        return;
    if (its.interpolated) {
        try_kinds<T>(&s->costs[n], p, n, task % WINDOW_PAIRS, first, last);
        return;
    }
    if (range.least[1] > range.most[1])
        return;
    const float_layout with = layout_with(p, its.exponent);
    try_windows<T>(&s->costs[n], p.its, with, map_of<T>(with), task % WINDOW_PAIRS, its, range,
                   range.least[1] == its.range.least[1]);
}

/* `each` blocks for each frame. What is known lies in shared memory, to have registers for
 * tasks. */
__global__ void __launch_bounds__(STEP_THREADS, STEP_BLOCKS)
    try_step(cuda_lists lists, trial t, uint32_t each)
{
    __shared__ knowledge k;
    const uint32_t rank = blockIdx.x % each;
    lesson *s = lesson_of(lists, blockIdx.x / each);
    const plan &p = k.known;

    bale_turn::await();
    learn_before(&k, s, t.step);
    if (t.step == STEP_LAST && rank == 0 && threadIdx.x == 0)
        s->before_last = p.chosen;
    for (uint32_t task = rank * warps() + threadIdx.x / 32; task < t.tasks();
         task += each * warps())
        if (p.chosen.layout.size_log2 == 1)
            try_one<uint16_t>(s, p, t, task);
        else if (p.chosen.layout.size_log2 == 2)
            try_one<uint32_t>(s, p, t, task);
        else
            try_one<uint64_t>(s, p, t, task);
}

/* ---- The layout ---- */

/* A frame's layout; has: there is one. */
struct chosen_layout {
    float_layout its;
    bool has;
};

/* What a frame's last step is taken from, in shared memory. */
struct last_step {
    choice before;
    plan known;
    attempt_costs costs[FLOAT_EXPONENTS];
};

/* By a block. */
__device__ inline void load_last(last_step *s, const lesson *from)
{
    copy_words(&s->before, &from->before_last, sizeof s->before);
    copy_words(&s->known, &from->known, sizeof s->known);
    copy_words(s->costs, from->costs + TRY_LAST, sizeof s->costs);
    __syncthreads();
}

/* By a warp: what was chosen of a frame. */
__device__ inline chosen_layout layout_of(const last_step *s)
{
    plan p = s->known;

    p.chosen = s->before;
    take_least(&p, STEP_LAST, s->costs, TRY_LAST);
    const uint32_t all = FLOAT_WINDOWS * (FLOAT_BLOCK - FLOAT_HISTORY)
                         << (3 + p.chosen.layout.size_log2);
    const uint32_t gain = FLOAT_WINDOWS * 2 * (FLOAT_BLOCK - FLOAT_HISTORY) / FLOAT_GROUP;

    return {layout_with(p, p.chosen.layout.exponent),
            p.list.count > 0 && p.chosen.least + gain < all - all / 64};
}

/* By a warp: the part of a frame. */
__device__ inline void write_part(lesson *s, const chosen_layout &chosen, cuda_part *made)
{
    const uint32_t length = part_length(chosen.its);

    if (chosen.has && bale_warp::lane() < length)
        s->part[bale_warp::lane()] = part_byte(chosen.its, bale_warp::lane());
    if (bale_warp::lane() == 0)
        made->length = chosen.has ? length : 0;
}
} // namespace bale_float

#endif
