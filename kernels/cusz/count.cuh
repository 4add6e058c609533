/* cusz on the device: how often tokens occur (spec.md, Choices). A block for each cell of a chunk,
 * or for the chunk. */
#ifndef BALE_KERNELS_CUSZ_COUNT_CUH
#define BALE_KERNELS_CUSZ_COUNT_CUH

#include "kernels/codec/shared.cuh"
#include "kernels/cusz/kept.cuh"
#include "kernels/cusz/match.cuh"
#include "kernels/cusz/sample.cuh"

namespace bale_cusz
{
/* Adds a run of zeros, by its log2. */
__device__ inline void add_run(uint32_t runs[CUSZ_RUNS], uint32_t run)
{
    if (run > 0)
        atomicAdd(&runs[31 - __clz((int)run)], 1u);
}

/* Of the zeros between the words of a lane that are not: runs by log2, 0 to 2, in a byte each. */
__device__ inline uint32_t bytes_of_gaps(uint32_t nonzero)
{
    uint32_t bytes = 0;

    while (nonzero & (nonzero - 1)) {
        nonzero >>= __ffs((int)nonzero);
        const uint32_t run = (uint32_t)__ffs((int)nonzero) - 1;
        bytes += run > 0 ? 1u << 8 * (31 - __clz((int)run)) : 0;
    }
    return bytes;
}
constexpr uint32_t SHORT_RUNS = 3; /* the logs of these */
static_assert(GROUPS_OF_CELL / (CELL_THREADS / 32) * EACH < 256, "in bytes");

/* Of a warp. */
struct count_bench {
    stage words;
    uint32_t counts[CUSZ_TOKENS]; /* but for zeros */
    uint32_t runs[CUSZ_RUNS];     /* that are inside */
    zeros z;
};

struct count_shared {
    uint32_t runs[CUSZ_RUNS];
    uint32_t gaps[1 << EACH]; /* bytes_of_gaps() */
    count_bench benches[1];   /* as many as there are warps */
};

constexpr size_t count_room(uint32_t threads)
{
    return sizeof(count_shared) + (threads / 32 - 1) * sizeof(count_bench);
}

/* What a warp finds of a stretch. */
struct tally {
    uint32_t gaps;  /* of a lane, as bytes_of_gaps() */
    uint32_t zeros; /* the same in all lanes */
};

/* By a lane: counts a word that is not zero. LITERALS: it has a token of its own. */
template <bool LITERALS, typename WORD>
__device__ inline void count_word(WORD word, uint32_t *counts)
{
    uint32_t low;

    atomicAdd(&counts[LITERALS ? CUSZ_RUNS - 1 + (uint32_t)word : token_of(word, &low)], 1u);
}

/* By a warp: counts a group's words that are not zero. */
template <bool LITERALS, typename WORD>
__device__ inline void count_words(const words_of_lane<WORD> &own, uint32_t *counts)
{
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++)
        if (own.words[k] != 0)
            count_word<LITERALS>(own.words[k], counts);
}

/* By a warp: counts a group's runs that are inside, and brings z up to its end. seen: whether a
 * word before was not zero; z->trail: how many zeros are before. */
__device__ inline void count_runs(count_bench *own, const uint32_t *gaps, uint32_t nonzero,
                                  uint32_t there, bool *seen, zeros *z, tally *t)
{
    const uint32_t any = __ballot_sync(ALL, nonzero != 0);
    const uint32_t run = zeros_before(nonzero, any, z->trail);
    const bool first = !*seen && (any & bale_warp::lower_lanes()) == 0;

    if (any == 0) {
        z->trail += there;
        return;
    }
    t->gaps += gaps[nonzero];
    if (nonzero && !first)
        add_run(own->runs, run);
    if (!*seen)
        z->lead = __shfl_sync(ALL, run, __ffs((int)any) - 1);
    *seen = true;
    z->trail = there - words_upto_last(nonzero, any);
}

/* By a warp: brings the words that are not zero together, each with 65536 times its place. */
template <typename WORD>
__device__ inline void gather_few(const words_of_lane<WORD> &own, uint32_t nonzero, uint32_t *few)
{
    const uint32_t count = (uint32_t)__popc(nonzero);
    uint32_t at = bale_warp::inclusive_sum(count) - count;

    __syncwarp();
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++)
        if (nonzero >> k & 1)
            few[at++] = (uint32_t)own.words[k] | (EACH * bale_warp::lane() + k) << 16;
    __syncwarp();
}

/* By a warp: counts so many words that are not zero, and the runs inside between them, in place of
 * count_words() and count_runs(); and keeps them. */
template <bool LITERALS>
__device__ inline void count_few(count_bench *own, uint32_t count, uint32_t there, bool *seen,
                                 zeros *z, uint32_t *kept)
{
    const uint32_t *few = (const uint32_t *)own->words.words;
    uint32_t behind = 0; /* the last place so far */

    for (uint32_t first = 0; first < count; first += 32) {
        const uint32_t i = first + bale_warp::lane(), entry = i < count ? few[i] : 0;
        const uint32_t place = entry >> 16, other = __shfl_up_sync(ALL, place + 1, 1);
        const uint32_t run = place - (bale_warp::lane() == 0 ? behind : other);
        if (i < count) {
            kept[i] = entry;
            count_word<LITERALS>((uint16_t)entry, own->counts);
            if (i > 0 || *seen)
                add_run(own->runs, run + (i == 0 ? z->trail : 0));
        }
        behind = __shfl_sync(ALL, place + 1, (int)min(31u, count - first - 1));
    }
    if (count > 0 && !*seen)
        z->lead = z->trail + (few[0] >> 16);
    *seen = *seen || count > 0;
    z->trail = count > 0 ? there - behind : z->trail + there;
}

/* By a warp: adds what its lanes have counted. */
__device__ inline void add_tally(count_shared *s, count_bench *own, const tally &t)
{
    const uint32_t even = __reduce_add_sync(ALL, t.gaps & 0x00ff00ff);
    const uint32_t odd = __reduce_add_sync(ALL, t.gaps >> 8 & 0x00ff00ff);
    const uint32_t lane = bale_warp::lane();
    const uint32_t gaps = lane == 0 ? even & 0xffff : lane == 1 ? odd & 0xffff : even >> 16;

    __syncwarp();
    if (lane == 0)
        own->counts[0] = t.zeros;
    if (lane < CUSZ_RUNS)
        atomicAdd(&s->runs[lane], own->runs[lane] + (lane < SHORT_RUNS ? gaps : 0));
}

/* By a warp: counts the tokens of a stretch of words, and the runs inside, and keeps the words.
 * kept: how many, of the stretch's first group and those behind it. */
template <typename WORD, bool QUICK>
__device__ inline zeros count_stretch(const differences<WORD, QUICK> &d, share of, count_shared *s,
                                      kept_group *groups, uint8_t *kept)
{
    count_bench *const bench = &s->benches[threadIdx.x / 32];
    group_reader<WORD, QUICK> words(d, &bench->words, of.begin);
    zeros z = {of.end - of.begin, of.end - of.begin, 0, 0};
    tally t = {0, 0};
    bool seen = false;

    for (uint32_t at = of.begin; at < of.end; at += GROUP, kept++) {
        const words_of_lane<WORD> own = words.next(of.end);
        const WORD bits = own.any_bits();
        const bool large = __any_sync(ALL, bits >> 16 != 0);
        const bool literals = !__any_sync(ALL, bits >= CUSZ_LITERALS);
        const uint32_t nonzero = own.nonzero(), there = min(of.end - at, GROUP);
        const uint32_t count = __reduce_add_sync(ALL, (uint32_t)__popc(nonzero));
        kept_group *const group = &groups[at / GROUP];
        t.zeros += there - count;
        if (count <= FEW && !large) {
            gather_few(own, nonzero, (uint32_t *)bench->words.words);
            if (literals)
                count_few<true>(bench, count, there, &seen, &z, group->few);
            else
                count_few<false>(bench, count, there, &seen, &z, group->few);
        } else {
            if (!large)
                store_words(group->words, own.words);
            if (literals)
                count_words<true>(own, bench->counts);
            else
                count_words<false>(own, bench->counts);
            count_runs(bench, s->gaps, nonzero, there, &seen, &z, &t);
        }
        if (bale_warp::lane() == 0)
            *kept = (uint8_t)((large          ? NONE_KEPT
                               : count <= FEW ? count
                                              : ALL_KEPT) |
                              (literals ? 0 : CLASSES_KEPT));
    }
    add_tally(s, bench, t);
    return z;
}

/* By a thread: puts the warps' zeros together, in the order of their words. */
__device__ inline zeros joined_zeros(count_shared *s)
{
    zeros all = {0, 0, 0, 0};
    bool seen = false;

    for (uint32_t warp = 0; warp < blockDim.x / 32; warp++) {
        const zeros z = s->benches[warp].z;
        all.count += z.count;
        if (z.lead == z.count) {
            all.trail += z.count;
            continue;
        }
        const uint32_t run = all.trail + z.lead;
        if (!seen)
            all.lead = run;
        else
            add_run(s->runs, run);
        all.trail = z.trail;
        seen = true;
    }
    all.lead = seen ? all.lead : all.count;
    for (uint32_t log2 = 0; log2 < CUSZ_RUNS; log2++)
        all.inside += s->runs[log2];
    return all;
}

template <typename WORD, bool QUICK>
__device__ inline void count_share(const differences<WORD, QUICK> &d, share of, count_shared *s,
                                   kept_group *groups, cell_work *work)
{
    const uint32_t warp = threadIdx.x / 32;
    const uint32_t each = BALE_CUDA_CELL / (uint32_t)sizeof(WORD) / (blockDim.x / 32);
    const uint32_t begin = min(of.begin + warp * each, of.end);
    const zeros z = count_stretch(d, share{begin, min(begin + each, of.end)}, s, groups,
                                  work->kept + (begin - of.begin) / GROUP);

    if (bale_warp::lane() == 0)
        s->benches[warp].z = z;
}

/* By a block: adds its tokens to the frame's. */
__device__ inline void add_counts(count_shared *s, totals *t, cell_work *work)
{
    for (uint32_t token = threadIdx.x; token < CUSZ_TOKENS; token += blockDim.x) {
        uint32_t sum = 0;
        for (uint32_t warp = 0; warp < blockDim.x / 32; warp++)
            sum += s->benches[warp].counts[token];
        if (sum > 0)
            atomicAdd(&t->counts[token], sum);
        if (token == 0)
            work->all = sum;
    }
}

/* Adds to the frame's totals how often tokens occur, and finds the cell's runs. */
template <typename WORD>
__global__ void __launch_bounds__(CELL_THREADS_MAX)
    count(const cuda_chunk *chunks, const cuda_frame *frames, cuda_lists lists)
{
    count_shared *const s = (count_shared *)bale_shared::memory;
    cell_work *const work = work_of_cell(lists, blockIdx.x);
    cell x;

    if (!load_cell(chunks, frames, lists, sizeof(WORD), false, &x) || x.of.orders == 0)
        return;
    count_bench *const bench = &s->benches[threadIdx.x / 32];
    for (uint32_t i = bale_warp::lane(); i < CUSZ_TOKENS; i += 32)
        bench->counts[i] = 0;
    if (bale_warp::lane() < CUSZ_RUNS)
        bench->runs[bale_warp::lane()] = 0;
    for (uint32_t i = threadIdx.x; i < 1 << EACH; i += blockDim.x)
        s->gaps[i] = bytes_of_gaps(i);
    if (threadIdx.x < CUSZ_RUNS)
        s->runs[threadIdx.x] = 0;
    __syncthreads();
    const uint32_t order = best_order(x.t->costs, x.of.orders);
    kept_group *const groups = kept_groups(lists, x.chunk);
    if (x.t->slow)
        count_share(differences_of<WORD, false>(x.of, x.chunk, lists, order), x.own, s, groups,
                    work);
    else
        count_share(differences_of<WORD, true>(x.of, x.chunk, lists, order), x.own, s, groups,
                    work);
    __syncthreads();
    add_counts(s, x.t, work);
    if (threadIdx.x == 0)
        work->z = joined_zeros(s);
    __syncthreads();
    if (threadIdx.x < CUSZ_RUNS)
        work->runs[threadIdx.x] = (uint16_t)s->runs[threadIdx.x];
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
