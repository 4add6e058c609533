/* cusz on the device: what a block has that makes a frame's part, and the runs of zeros of all
 * cells, put together there. */
#ifndef BALE_KERNELS_CUSZ_RUNS_CUH
#define BALE_KERNELS_CUSZ_RUNS_CUH

#include "kernels/cusz/book.cuh"
#include "kernels/cusz/count.cuh"

namespace bale_cusz
{
constexpr unsigned LEARN_THREADS = TOKENS, LEARN_WARPS = LEARN_THREADS / 32;
static_assert(LEARN_THREADS >= CUSZ_TOKENS, "a thread for each token");

/* What encoding needs, behind the part in its cell. */
struct plan {
    uint32_t order, segment_log2;
    uint32_t slow;              /* not 0: there are no quick words */
    uint32_t code[CUSZ_TOKENS]; /* of a token: code << 4 | length */
};
constexpr size_t PLAN_AT = 512;
static_assert(PLAN_AT >= CUSZ_PART && PLAN_AT + sizeof(plan) <= BALE_CUDA_PART,
              "in the cell of a part");

__device__ inline plan *plan_of(const cuda_lists &lists, uint32_t frame)
{
    return (plan *)(lists.parts + (size_t)frame * BALE_CUDA_PART + PLAN_AT);
}

constexpr uint32_t NONE = UINT32_MAX; /* more than all counts */

/* Leaves by count and then by token; nodes that were joined. */
struct tree {
    uint32_t count[TOKENS + 2]; /* behind the last one NONE */
    uint16_t token[TOKENS];
    uint32_t joined[TOKENS + 2]; /* the same */
    uint16_t parent[2 * TOKENS]; /* of leaf i, and of node leaves + i */
};

struct learn_shared {
    totals t;
    uint32_t runs[CUSZ_RUNS];
    uint32_t counts[TOKENS];
    unsigned long long sums[2][LEARN_WARPS];
    tree tree_;
    book b;
    bool fine;
    uint32_t occur[LEARN_WARPS]; /* tokens that occur, or with a code, a bit each */
    uint16_t leaves[TOKENS];     /* tokens that occur */
    uint32_t occurs[TOKENS];     /* how often these do */
    uint8_t halves[2 * TOKENS];  /* of the part, a byte each */
    uint32_t half_count[LEARN_WARPS];
};

/* By a block: sums of all threads' values and the like, in two places in turn: who reads one need
 * not wait for who writes the next. */
class block_sums
{
  public:
    __device__ block_sums(learn_shared *s) : s_(s)
    {
    }

    __device__ uint64_t sum(uint64_t value)
    {
        uint64_t all = 0;

        exchange(warp_sum(value));
#pragma unroll
        for (uint32_t warp = 0; warp < LEARN_WARPS; warp++)
            all += s_->sums[turn_][warp];
        return all;
    }

    __device__ uint32_t most(uint32_t value)
    {
        uint32_t most = 0;

        exchange(__reduce_max_sync(ALL, value));
#pragma unroll
        for (uint32_t warp = 0; warp < LEARN_WARPS; warp++)
            most = max(most, (uint32_t)s_->sums[turn_][warp]);
        return most;
    }

  private:
    __device__ void exchange(uint64_t of_warp)
    {
        turn_ ^= 1;
        if (bale_warp::lane() == 0)
            s_->sums[turn_][threadIdx.x / 32] = of_warp;
        __syncthreads();
    }

    learn_shared *s_;
    uint32_t turn_ = 0;
};

/* Zeros of a lane's cell. */
struct lane_zeros {
    zeros z;
    uint32_t all;
    bool none; /* all words are zeros */
};

/* By a warp: zeros before a lane's cell, up to the last other word, but not before the cell that is
 * so many before it. */
__device__ inline uint32_t zeros_before_lane(const lane_zeros &own, uint32_t back)
{
    uint32_t sum = 0;
    bool ends = false;

    for (uint32_t k = 1; k < (8u << CUSZ_SEGMENT_MAX) / BALE_CUDA_CELL; k++) {
        const uint32_t trail = __shfl_up_sync(ALL, own.z.trail, k);
        const bool none = __shfl_up_sync(ALL, (int)own.none, k);
        if (k > back || ends)
            continue;
        sum += trail;
        ends = !none;
    }
    return sum;
}

static_assert(CELLS <= 32 && 32 % CUSZ_RUNS == 0, "a lane for each");

/* By a warp: the runs of a chunk whose first cell is c, if runs gain there or are asked for. A lane
 * has a cell. */
__device__ inline void add_chunk_runs(learn_shared *s, const subject &of, const cuda_chunk &chunk,
                                      const cuda_lists &lists, uint32_t c, bool always)
{
    const uint32_t cells = (chunk.whole - 1) / BALE_CUDA_CELL + 1, lane = bale_warp::lane();
    const uint32_t longest = (of.size << CUSZ_SEGMENT_MAX) / BALE_CUDA_CELL; /* in cells */
    lane_zeros own = {};

    if (lane < cells)
        own = {work_of_cell(lists, c + lane)->z, work_of_cell(lists, c + lane)->all, false};
    own.none = own.z.lead == own.z.count;
    const uint32_t before = __shfl_up_sync(ALL, own.z.trail, 1);
    const uint32_t runs = own.z.inside + (own.z.lead > 0 && (lane == 0 || before == 0)) +
                          (!own.none && own.z.trail > 0);
    const uint32_t all = __reduce_add_sync(ALL, own.all);
    if (!always && all - __reduce_add_sync(ALL, runs) <= all / 2) {
        if (lane == 0)
            atomicAdd(&s->runs[0], all);
        return;
    }
    const uint32_t open = zeros_before_lane(own, lane % longest);
    if (!own.none)
        add_run(s->runs, open + own.z.lead);
    if (lane < cells && (lane % longest == longest - 1 || lane == cells - 1))
        add_run(s->runs, own.none ? open + own.z.count : own.z.trail);
    /* Half of a warp has the runs of a cell. */
    uint32_t sum = 0;
#pragma unroll
    for (uint32_t k = 0; k < CELLS; k += 32 / CUSZ_RUNS) {
        const uint32_t other = k + lane / CUSZ_RUNS;
        if (other < cells)
            sum += work_of_cell(lists, c + other)->runs[lane % CUSZ_RUNS];
    }
    atomicAdd(&s->runs[lane % CUSZ_RUNS], sum);
}

/* By a block: the runs of all chunks. */
__device__ inline void add_runs(learn_shared *s, const subject &of, const cuda_chunk *chunks,
                                const cuda_frame &frame, const cuda_lists &lists, bool always)
{
    const uint32_t whole = chunks[frame.first].whole, cells = (whole - 1) / BALE_CUDA_CELL + 1;
    const uint32_t count = (frame.raw_length - 1) / whole + 1;

    for (uint32_t i = threadIdx.x / 32; i < count; i += LEARN_WARPS) {
        const uint32_t c = frame.first + i * cells;
        add_chunk_runs(s, of, chunks[c], lists, c, always);
    }
    __syncthreads();
}
} // namespace bale_cusz

#endif
