/* cusz on the device: how often tokens occur (spec.md, Choices). A block for each cell of a chunk,
 * or for the chunk. */
#ifndef BALE_KERNELS_CUSZ_COUNT_CUH
#define BALE_KERNELS_CUSZ_COUNT_CUH

#include "kernels/codec/shared.cuh"
#include "kernels/cusz/match.cuh"
#include "kernels/cusz/sample.cuh"

namespace bale_cusz
{
/* Zeros of a stretch of words: those before the first other word, behind the last one, and how many
 * runs are between. If all are zeros, lead and trail are their count. */
struct zeros {
    uint32_t count, lead, trail, inside;
};

/* What is known of a cell, in its working memory: its words' zeros; and of each group the bits of
 * its codes, its listed elements, and the zeros before it in its segment. */
struct cell_work {
    zeros z;
    uint32_t all;             /* zeros */
    uint32_t runs[CUSZ_RUNS]; /* of those that are inside */
    uint16_t bits[GROUPS_OF_CELL], listed[GROUPS_OF_CELL], open[GROUPS_OF_CELL];
};
static_assert(sizeof(cell_work) <= BALE_CUDA_WORK, "in the working memory of a cell");

__device__ inline cell_work *work_of_cell(const cuda_lists &lists, uint32_t c)
{
    return (cell_work *)(lists.work + (size_t)c * BALE_CUDA_WORK);
}

/* Adds a run of zeros, by its log2. */
__device__ inline void add_run(uint32_t runs[CUSZ_RUNS], uint32_t run)
{
    if (run > 0)
        atomicAdd(&runs[31 - __clz((int)run)], 1u);
}

/* Lanes count often ones by themselves, in bytes, for lanes that add to one address wait for each
 * other: folded words below OFTEN, and runs of less than 2^OFTEN. A lane has few groups. */
constexpr uint32_t OFTEN = 8;
static_assert(GROUPS_OF_CELL / COUNT_WARPS * EACH < 256, "in bytes");

/* Of the zeros between the words of a lane that are not: runs by log2, 0 to 2, in a byte each, and
 * how many runs in the fourth. */
__device__ inline uint32_t bytes_of_gaps(uint32_t nonzero)
{
    uint32_t bytes = 0;

    while (nonzero & (nonzero - 1)) {
        nonzero >>= __ffs((int)nonzero);
        const uint32_t run = (uint32_t)__ffs((int)nonzero) - 1;
        bytes += run > 0 ? (1u << 8 * (31 - __clz((int)run))) + (1u << 24) : 0;
    }
    return bytes;
}

struct count_shared {
    stage stages[COUNT_WARPS];
    uint32_t counts[COUNT_WARPS][CUSZ_TOKENS];
    uint32_t runs[CUSZ_RUNS];
    uint32_t gaps[1 << EACH]; /* bytes_of_gaps() */
    zeros z[COUNT_WARPS];
};

/* What a lane counts of a stretch. */
struct tally {
    uint64_t often;  /* words below OFTEN, a byte each */
    uint64_t runs;   /* that are inside, below 2^OFTEN, likewise by log2 */
    uint32_t inside; /* all of these */
};

/* By a warp: counts a group's tokens without runs. */
template <typename WORD>
__device__ inline void count_words(const words_of_lane<WORD> &own, uint32_t *counts, tally *t)
{
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
        const WORD word = own.words[k];
        uint32_t low;
        if (k >= own.there)
            break;
        if (word < OFTEN)
            t->often += (uint64_t)1 << (8 * (uint32_t)word);
        else
            atomicAdd(&counts[token_of(word, &low)], 1u);
    }
}

/* By a warp: counts a group's runs that are inside, and brings z up to its end. seen: whether a
 * word before was not zero; z->trail: how many zeros are before. */
__device__ inline void count_runs(count_shared *s, uint32_t nonzero, uint32_t there, bool *seen,
                                  zeros *z, tally *t)
{
    const uint32_t any = __ballot_sync(ALL, nonzero != 0);
    const uint32_t run = zeros_before(nonzero, any, z->trail);
    const bool first = !*seen && (any & bale_warp::lower_lanes()) == 0;

    if (any == 0) {
        z->trail += there;
        return;
    }
    const uint32_t gaps = s->gaps[nonzero], log2 = 31 - (uint32_t)__clz((int)(run | 1));
    t->runs += gaps & 0xffffff;
    t->inside += gaps >> 24;
    if (nonzero && !first && run > 0) {
        t->inside++;
        if (log2 < OFTEN)
            t->runs += (uint64_t)1 << 8 * log2;
        else
            atomicAdd(&s->runs[log2], 1u);
    }
    if (!*seen)
        z->lead = __shfl_sync(ALL, run, __ffs((int)any) - 1);
    *seen = true;
    z->trail = there - words_upto_last(nonzero, any);
}

/* By a warp: sums of the bytes of all lanes. */
__device__ inline void sum_bytes(uint32_t bytes, uint32_t sums[4])
{
    const uint32_t even = __reduce_add_sync(ALL, bytes & 0x00ff00ff);
    const uint32_t odd = __reduce_add_sync(ALL, bytes >> 8 & 0x00ff00ff);

    sums[0] = even & 0xffff;
    sums[1] = odd & 0xffff;
    sums[2] = even >> 16;
    sums[3] = odd >> 16;
}

/* By a warp: adds what its lanes have counted. */
__device__ inline void add_tally(count_shared *s, const tally &t, uint32_t *counts, zeros *z)
{
    uint32_t words[OFTEN], runs[OFTEN];

    sum_bytes((uint32_t)t.often, words);
    sum_bytes((uint32_t)(t.often >> 32), words + 4);
    sum_bytes((uint32_t)t.runs, runs);
    sum_bytes((uint32_t)(t.runs >> 32), runs + 4);
    z->inside = __reduce_add_sync(ALL, t.inside);
    __syncwarp();
    if (bale_warp::lane() > 0)
        return;
#pragma unroll
    for (uint32_t k = 0; k < OFTEN; k++) {
        counts[k ? CUSZ_RUNS - 1 + k : 0] += words[k];
        atomicAdd(&s->runs[k], runs[k]);
    }
}

/* By a warp: counts the tokens of a stretch of words, and the runs inside. */
template <typename WORD, bool QUICK>
__device__ inline zeros count_stretch(const differences<WORD, QUICK> &d, share of, count_shared *s)
{
    const uint32_t warp = threadIdx.x / 32;
    group_reader<WORD, QUICK> words(d, &s->stages[warp], of.begin);
    zeros z = {of.end - of.begin, of.end - of.begin, 0, 0};
    tally t = {0, 0, 0};
    bool seen = false;

    for (uint32_t at = of.begin; at < of.end; at += GROUP) {
        const words_of_lane<WORD> own = words.next(of.end);
        count_words(own, s->counts[warp], &t);
        count_runs(s, own.nonzero(), min(of.end - at, GROUP), &seen, &z, &t);
    }
    add_tally(s, t, s->counts[warp], &z);
    return z;
}

/* By a thread: puts the warps' zeros together, in the order of their words. */
__device__ inline zeros joined_zeros(count_shared *s)
{
    zeros all = {0, 0, 0, 0};
    bool seen = false;

    for (uint32_t warp = 0; warp < COUNT_WARPS; warp++) {
        const zeros z = s->z[warp];
        all.count += z.count;
        if (z.lead == z.count) {
            all.trail += z.count;
            continue;
        }
        const uint32_t run = all.trail + z.lead;
        if (!seen) {
            all.lead = run;
        } else if (run > 0) {
            add_run(s->runs, run);
            all.inside++;
        }
        all.inside += z.inside;
        all.trail = z.trail;
        seen = true;
    }
    all.lead = seen ? all.lead : all.count;
    return all;
}

template <typename WORD, bool QUICK>
__device__ inline void count_share(const differences<WORD, QUICK> &d, share of, count_shared *s)
{
    const uint32_t warp = threadIdx.x / 32;
    const uint32_t each = BALE_CUDA_CELL / (uint32_t)sizeof(WORD) / COUNT_WARPS;
    const uint32_t begin = min(of.begin + warp * each, of.end);
    const zeros z = count_stretch(d, share{begin, min(begin + each, of.end)}, s);

    if (bale_warp::lane() == 0)
        s->z[warp] = z;
}

/* By a block: adds its tokens to the frame's. */
__device__ inline void add_counts(count_shared *s, totals *t, cell_work *work)
{
    for (uint32_t token = threadIdx.x; token < CUSZ_TOKENS; token += COUNT_THREADS) {
        uint32_t sum = 0;
        for (uint32_t warp = 0; warp < COUNT_WARPS; warp++)
            sum += s->counts[warp][token];
        if (sum > 0)
            atomicAdd(&t->counts[token], sum);
        if (token == 0)
            work->all = sum;
    }
}

/* Adds to the frame's totals how often tokens occur, and finds the cell's runs. */
template <typename WORD>
__global__ void __launch_bounds__(COUNT_THREADS, 4)
    count(const cuda_chunk *chunks, const cuda_frame *frames, cuda_lists lists)
{
    count_shared *const s = (count_shared *)bale_shared::memory;
    cell_work *const work = work_of_cell(lists, blockIdx.x);
    cell x;

    if (!load_cell(chunks, frames, lists, sizeof(WORD), false, &x) || x.of.orders == 0)
        return;
    for (uint32_t i = threadIdx.x; i < COUNT_WARPS * CUSZ_TOKENS; i += COUNT_THREADS)
        s->counts[i / CUSZ_TOKENS][i % CUSZ_TOKENS] = 0;
    for (uint32_t i = threadIdx.x; i < 1 << EACH; i += COUNT_THREADS)
        s->gaps[i] = bytes_of_gaps(i);
    if (threadIdx.x < CUSZ_RUNS)
        s->runs[threadIdx.x] = 0;
    __syncthreads();
    const uint32_t order = best_order(x.t->costs, x.of.orders);
    if (x.t->slow)
        count_share(differences_of<WORD, false>(x.of, x.chunk, lists, order), x.own, s);
    else
        count_share(differences_of<WORD, true>(x.of, x.chunk, lists, order), x.own, s);
    __syncthreads();
    add_counts(s, x.t, work);
    if (threadIdx.x == 0)
        work->z = joined_zeros(s);
    __syncthreads();
    if (threadIdx.x < CUSZ_RUNS)
        work->runs[threadIdx.x] = s->runs[threadIdx.x];
}

constexpr unsigned MATCH_THREADS = 128, MATCH_WARPS = MATCH_THREADS / 32;

struct match_shared {
    matcher matchers[MATCH_WARPS];
    stage stages[MATCH_WARPS];
    uint32_t few[CUSZ_TOKENS], many[CUSZ_TOKENS];
};

/* By a warp: adds the tokens of the segment [begin, end). Places are made, if it has matches. */
template <typename WORD>
__device__ inline void count_segment(const differences<WORD, false> &d, stage *st, uint32_t begin,
                                     uint32_t end, const uint16_t *places, uint32_t *counts)
{
    group_reader<WORD, false> words(d, st, begin);
    uint32_t zeros = 0;

    for (uint32_t at = begin; at < end; at += GROUP) {
        const words_of_lane<WORD> own = words.next(end);
        for (uint32_t k = 0; k < own.there; k++) {
            const uint32_t i = at - begin + EACH * bale_warp::lane() + k;
            const uint32_t place = places ? places[i] : ALONE;
            uint32_t low;
            if (place > COVERED)
                atomicAdd(&counts[match_token(place)], 1u);
            else if (place == ALONE && own.words[k] != 0)
                atomicAdd(&counts[token_of(own.words[k], &low)], 1u);
            zeros += place == ALONE && own.words[k] == 0;
        }
    }
    zeros = __reduce_add_sync(ALL, zeros);
    if (bale_warp::lane() == 0)
        atomicAdd(&counts[0], zeros);
}

/* By a block: the segments of a cell. */
template <typename WORD>
__device__ inline void count_segments(const differences<WORD, false> &d, share of, match_shared *s)
{
    matcher *m = &s->matchers[threadIdx.x / 32];
    stage *st = &s->stages[threadIdx.x / 32];

    for (uint32_t begin = of.begin + threadIdx.x / 32 * PIECE; begin < of.end;
         begin += MATCH_WARPS * PIECE) {
        const uint32_t end = min(begin + PIECE, of.end), tokens = parse(d, st, begin, end, m);
        const uint16_t *places = tokens ? m->places : nullptr;
        if (tokens)
            place_matches(m, tokens, CUSZ_MATCH_FEW);
        count_segment(d, st, begin, end, places, s->few);
        if (tokens)
            place_matches(m, tokens, CUSZ_MATCH_MANY);
        count_segment(d, st, begin, end, places, s->many);
    }
}

/* Adds to the totals of a frame with matches how often tokens occur. */
template <typename WORD>
__global__ void __launch_bounds__(MATCH_THREADS)
    count_matches(const cuda_chunk *chunks, const cuda_frame *frames, cuda_lists lists)
{
    match_shared *s = (match_shared *)bale_shared::memory;
    cell x;

    if (!load_cell(chunks, frames, lists, sizeof(WORD), true, &x) || x.of.orders == 0)
        return;
    for (uint32_t i = threadIdx.x; i < CUSZ_TOKENS; i += MATCH_THREADS)
        s->few[i] = s->many[i] = 0;
    __syncthreads();
    const uint32_t order = best_order(x.t->costs, x.of.orders);
    count_segments(differences_of<WORD, false>(x.of, x.chunk, lists, order), x.own, s);
    __syncthreads();
    for (uint32_t token = threadIdx.x; token < CUSZ_TOKENS; token += MATCH_THREADS) {
        if (s->few[token] > 0)
            atomicAdd(&x.t->counts[token], s->few[token]);
        if (s->many[token] > 0)
            atomicAdd(&x.t->many[token], s->many[token]);
    }
}
} // namespace bale_cusz

#endif
