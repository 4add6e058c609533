/* cusz on the device: what the extent part is made of (spec.md, Choices): the cost of each order in
 * a sample, and how often tokens occur. A block for each cell of a chunk, or for the chunk. */
#ifndef BALE_KERNELS_CUSZ_COUNT_CUH
#define BALE_KERNELS_CUSZ_COUNT_CUH

#include "kernels/codec/shared.cuh"
#include "kernels/cusz/match.cuh"

namespace bale_cusz
{
constexpr unsigned COUNT_THREADS = 256, COUNT_WARPS = COUNT_THREADS / 32;
constexpr uint32_t SAMPLE_DEEP = 8; /* elements whose loads a thread has in flight */

/* Sums over a frame's chunks, in the cell of its part until that is made; zeros at first. */
struct totals {
    unsigned long long costs[CUSZ_ORDERS];
    uint32_t elements, listed;
    uint32_t counts[CUSZ_TOKENS]; /* without runs; or with short matches */
    uint32_t many[CUSZ_TOKENS];   /* with long matches only */
};
static_assert(sizeof(totals) <= BALE_CUDA_PART, "in the cell of a part");

__device__ inline totals *totals_of(const cuda_lists &lists, uint32_t frame)
{
    return (totals *)(lists.parts + (size_t)frame * BALE_CUDA_PART);
}

/* The least of the orders that cost least. */
__device__ inline uint32_t best_order(const unsigned long long costs[CUSZ_ORDERS], uint32_t orders)
{
    uint32_t best = 0;

    for (uint32_t i = 1; i < orders; i++)
        if (costs[i] < costs[best])
            best = i;
    return best;
}

/* Zeros of a stretch of words: those before the first other word, behind the last one, and how many
 * runs are between. If all are zeros, lead and trail are their count. */
struct zeros {
    uint32_t count, lead, trail, inside;
};

/* What a cell's words have, in its working memory. */
struct cell_zeros {
    zeros z;
    uint32_t all;             /* zeros */
    uint32_t runs[CUSZ_RUNS]; /* of those that are inside */
};
static_assert(sizeof(cell_zeros) <= BALE_CUDA_WORK, "in the working memory of a cell");

__device__ inline cell_zeros *cell_zeros_of(const cuda_lists &lists, uint32_t c)
{
    return (cell_zeros *)(lists.work + (size_t)c * BALE_CUDA_WORK);
}

/* Adds a run as the powers of two that it is the sum of. */
__device__ inline void add_run(uint32_t runs[CUSZ_RUNS], uint32_t run)
{
    for (; run; run &= run - 1)
        atomicAdd(&runs[31 - __clz((int)(run & (0 - run)))], 1u);
}

/* The elements [begin, end) of a chunk of which a cell's block takes care. */
struct share {
    uint32_t begin, end;
};

__device__ inline share share_of(const subject &s, const cuda_chunk &chunk, uint32_t c)
{
    const uint32_t each = BALE_CUDA_CELL / s.size, count = elements_of(s, chunk);
    const uint32_t begin = min((c - chunk.first) * each, count);

    return {begin, min(begin + each, count)};
}

/* Roughly the bits that a word takes: none if it is zero. */
template <typename WORD> __device__ inline uint32_t cost_of(WORD word)
{
    const uint64_t bits = folded(word);
    const uint32_t upper = (uint32_t)(bits >> 32), lower = (uint32_t)bits;

    if (bits == 0)
        return 0;
    return upper ? 65 - __clz((int)upper) : 33 - __clz((int)lower);
}

/* By a thread: adds the costs of element i for each order. */
template <typename WORD>
__device__ inline void add_costs(const differences<WORD> &d, const subject &s, uint32_t i,
                                 uint32_t costs[CUSZ_ORDERS])
{
    WORD rest = 0;

#pragma unroll
    for (uint32_t order = 0; order < CUSZ_ORDERS; order++) {
        if (order >= s.orders)
            break;
#pragma unroll
        for (uint32_t k = order ? 1u << (order - 1) : 0; k < 1u << order; k++) {
            const uint64_t back = (k & 1 ? s.strides[0] : 0) +
                                  (uint64_t)(k & 2 ? s.strides[1] : 0) + (k & 4 ? s.strides[2] : 0);
            const WORD word = back <= i ? d.word(i - (uint32_t)back) : 0;
            rest = __popc(k) & 1 ? rest - word : rest + word;
        }
        costs[order] += cost_of(rest);
    }
}

template <typename WORD>
__device__ inline void sample_share(const differences<WORD> &d, const subject &s, share of,
                                    totals *t)
{
    uint32_t costs[CUSZ_ORDERS] = {0}, listed = 0;

    for (uint32_t first = of.begin + threadIdx.x; first < of.end;
         first += SAMPLE_DEEP * COUNT_THREADS) {
        WORD v[SAMPLE_DEEP];
#pragma unroll
        for (uint32_t k = 0; k < SAMPLE_DEEP; k++)
            v[k] =
                first + k * COUNT_THREADS < of.end ? d.elements.load(first + k * COUNT_THREADS) : 0;
#pragma unroll
        for (uint32_t k = 0; k < SAMPLE_DEEP; k++) {
            bool is_listed;
            quantised(d.r, v[k], &is_listed);
            listed += is_listed;
        }
    }
    /* A share begins where a stretch of the sample may. */
    for (uint32_t k = threadIdx.x;; k += COUNT_THREADS) {
        const uint32_t begin = of.begin + k / CUSZ_SAMPLE_RUN * CUSZ_SAMPLE_EVERY;
        if (begin >= of.end)
            break;
        if (d.count - begin >= CUSZ_SAMPLE_RUN)
            add_costs(d, s, begin + k % CUSZ_SAMPLE_RUN, costs);
    }
#pragma unroll
    for (uint32_t order = 0; order < CUSZ_ORDERS; order++) {
        const uint32_t sum = warp_sum(costs[order]);
        if (bale_warp::lane() == 0 && sum > 0)
            atomicAdd(&t->costs[order], (unsigned long long)sum);
    }
    listed = warp_sum(listed);
    if (bale_warp::lane() == 0 && listed > 0)
        atomicAdd(&t->listed, listed);
}

/* Adds to the frame's totals: elements, those that are listed, and the costs of orders. */
__global__ void __launch_bounds__(COUNT_THREADS)
    sample(const cuda_chunk *chunks, const cuda_frame *frames, cuda_lists lists)
{
    const uint32_t c = blockIdx.x;
    const cuda_chunk chunk = chunks[c];
    const subject s = subject_of(frames[chunk.frame], chunk.chunk_size);
    totals *t = totals_of(lists, chunk.frame);

    if (s.orders == 0)
        return;
    if (chunk.first == c && threadIdx.x == 0)
        atomicAdd(&t->elements, elements_of(s, chunk));
    if (s.size == 8)
        sample_share(differences_of<uint64_t>(s, chunk, lists, 0), s, share_of(s, chunk, c), t);
    else
        sample_share(differences_of<uint32_t>(s, chunk, lists, 0), s, share_of(s, chunk, c), t);
}

struct count_shared {
    uint32_t counts[COUNT_WARPS][CUSZ_TOKENS];
    uint32_t runs[CUSZ_RUNS];
    zeros z[COUNT_WARPS];
};

/* Folded words from 1 to this are most of those that are not zero: they are counted by ballots, for
 * lanes that add to one address wait for each other. */
constexpr uint32_t OFTEN = 4;

/* By a warp: counts the tokens of a stretch of words, and the runs inside. */
template <typename WORD>
__device__ inline zeros count_stretch(const differences<WORD> &d, share of, uint32_t *counts,
                                      uint32_t *runs)
{
    stretch<WORD> words(d, of.begin);
    zeros z = {of.end - of.begin, 0, 0, 0};
    zero_runs open;
    bool seen = false;
    uint32_t often[OFTEN] = {0}, none = 0;

    for (uint32_t at = of.begin; at < of.end; at += 32) {
        const uint32_t there = min(of.end - at, 32u);
        bool listed;
        const WORD word = folded(words.next(&listed));
        const bool counts_ = bale_warp::lane() < there && word != 0;
        const uint32_t nonzero = __ballot_sync(ALL, counts_);
        const uint32_t run = open.before(nonzero);
        const bool first = !seen && (nonzero & bale_warp::lower_lanes()) == 0;
        if (nonzero) {
#pragma unroll
            for (uint32_t k = 0; k < OFTEN; k++)
                often[k] += (uint32_t)__popc(__ballot_sync(ALL, counts_ && word == k + 1));
        }
        if (counts_ && word > OFTEN) {
            uint32_t low;
            atomicAdd(&counts[token_of(word, &low)], 1u);
        }
        if (counts_ && !first)
            add_run(runs, run);
        z.inside += __popc(__ballot_sync(ALL, counts_ && !first && run > 0));
        if (!seen && nonzero)
            z.lead = open.open + (uint32_t)__ffs((int)nonzero) - 1;
        seen = seen || nonzero;
        none += there - (uint32_t)__popc(nonzero);
        open.go_on(nonzero, there);
    }
    __syncwarp();
    if (bale_warp::lane() == 0) {
        counts[0] += none;
#pragma unroll
        for (uint32_t k = 0; k < OFTEN; k++)
            counts[CUSZ_RUNS + k] += often[k];
    }
    z.trail = open.open;
    z.lead = seen ? z.lead : z.count;
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

template <typename WORD>
__device__ inline void count_share(const differences<WORD> &d, share of, count_shared *s)
{
    const uint32_t warp = threadIdx.x / 32;
    const uint32_t each = BALE_CUDA_CELL / (uint32_t)sizeof(WORD) / COUNT_WARPS;
    const uint32_t begin = min(of.begin + warp * each, of.end);
    const zeros z =
        count_stretch(d, share{begin, min(begin + each, of.end)}, s->counts[warp], s->runs);

    if (bale_warp::lane() == 0)
        s->z[warp] = z;
}

/* Adds to the frame's totals how often tokens occur, and finds the cell's runs. */
__global__ void __launch_bounds__(COUNT_THREADS)
    count(const cuda_chunk *chunks, const cuda_frame *frames, cuda_lists lists)
{
    __shared__ count_shared shared;
    count_shared *const s = &shared;
    const uint32_t c = blockIdx.x;
    const cuda_chunk chunk = chunks[c];
    const subject subject_ = subject_of(frames[chunk.frame], chunk.chunk_size);
    totals *t = totals_of(lists, chunk.frame);

    if (subject_.orders == 0 || subject_.matches)
        return;
    for (uint32_t i = threadIdx.x; i < COUNT_WARPS * CUSZ_TOKENS; i += COUNT_THREADS)
        s->counts[i / CUSZ_TOKENS][i % CUSZ_TOKENS] = 0;
    if (threadIdx.x < CUSZ_RUNS)
        s->runs[threadIdx.x] = 0;
    __syncthreads();
    const uint32_t order = best_order(t->costs, subject_.orders);
    if (subject_.size == 8)
        count_share(differences_of<uint64_t>(subject_, chunk, lists, order),
                    share_of(subject_, chunk, c), s);
    else
        count_share(differences_of<uint32_t>(subject_, chunk, lists, order),
                    share_of(subject_, chunk, c), s);
    __syncthreads();
    for (uint32_t token = threadIdx.x; token < CUSZ_TOKENS; token += COUNT_THREADS) {
        uint32_t sum = 0;
        for (uint32_t warp = 0; warp < COUNT_WARPS; warp++)
            sum += s->counts[warp][token];
        if (sum > 0)
            atomicAdd(&t->counts[token], sum);
        if (token == 0)
            cell_zeros_of(lists, c)->all = sum;
    }
    if (threadIdx.x == 0)
        cell_zeros_of(lists, c)->z = joined_zeros(s);
    __syncthreads();
    if (threadIdx.x < CUSZ_RUNS)
        cell_zeros_of(lists, c)->runs[threadIdx.x] = s->runs[threadIdx.x];
}

constexpr unsigned MATCH_THREADS = 128, MATCH_WARPS = MATCH_THREADS / 32;

struct match_shared {
    uint32_t few[CUSZ_TOKENS], many[CUSZ_TOKENS];
    matcher matchers[MATCH_WARPS];
};

/* By a warp: adds the tokens of the segment [begin, end). Places are made, if it has matches. */
template <typename WORD>
__device__ inline void count_segment(const differences<WORD> &d, uint32_t begin, uint32_t end,
                                     const uint16_t *places, uint32_t *counts)
{
    stretch<WORD> words(d, begin);
    uint32_t zeros = 0;

    for (uint32_t at = begin; at < end; at += 32) {
        const uint32_t i = at + bale_warp::lane();
        bool listed;
        const WORD word = folded(words.next(&listed));
        const uint32_t place = i < end && places ? places[i - begin] : ALONE;
        const bool alone = i < end && place == ALONE;
        uint32_t low;
        if (place > COVERED)
            atomicAdd(&counts[match_token(place)], 1u);
        else if (alone && word != 0)
            atomicAdd(&counts[token_of(word, &low)], 1u);
        zeros += (uint32_t)__popc(__ballot_sync(ALL, alone && word == 0));
    }
    if (bale_warp::lane() == 0)
        atomicAdd(&counts[0], zeros);
}

/* By a block: the segments of a cell. */
template <typename WORD>
__device__ inline void count_segments(const differences<WORD> &d, share of, match_shared *s)
{
    matcher *m = &s->matchers[threadIdx.x / 32];

    for (uint32_t begin = of.begin + threadIdx.x / 32 * PIECE; begin < of.end;
         begin += MATCH_WARPS * PIECE) {
        const uint32_t end = min(begin + PIECE, of.end), tokens = parse(d, begin, end, m);
        const uint16_t *places = tokens ? m->places : nullptr;
        if (tokens)
            place_matches(m, tokens, CUSZ_MATCH_FEW);
        count_segment(d, begin, end, places, s->few);
        if (tokens)
            place_matches(m, tokens, CUSZ_MATCH_MANY);
        count_segment(d, begin, end, places, s->many);
    }
}

/* Adds to the totals of a frame with matches how often tokens occur. */
__global__ void __launch_bounds__(MATCH_THREADS)
    count_matches(const cuda_chunk *chunks, const cuda_frame *frames, cuda_lists lists)
{
    match_shared *s = (match_shared *)bale_shared::memory;
    const uint32_t c = blockIdx.x;
    const cuda_chunk chunk = chunks[c];
    const subject subject_ = subject_of(frames[chunk.frame], chunk.chunk_size);
    totals *t = totals_of(lists, chunk.frame);

    if (subject_.orders == 0 || !subject_.matches)
        return;
    for (uint32_t i = threadIdx.x; i < CUSZ_TOKENS; i += MATCH_THREADS)
        s->few[i] = s->many[i] = 0;
    __syncthreads();
    const uint32_t order = best_order(t->costs, subject_.orders);
    if (subject_.size == 8)
        count_segments(differences_of<uint64_t>(subject_, chunk, lists, order),
                       share_of(subject_, chunk, c), s);
    else
        count_segments(differences_of<uint32_t>(subject_, chunk, lists, order),
                       share_of(subject_, chunk, c), s);
    __syncthreads();
    for (uint32_t token = threadIdx.x; token < CUSZ_TOKENS; token += MATCH_THREADS) {
        if (s->few[token] > 0)
            atomicAdd(&t->counts[token], s->few[token]);
        if (s->many[token] > 0)
            atomicAdd(&t->many[token], s->many[token]);
    }
}
} // namespace bale_cusz

#endif
