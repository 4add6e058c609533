/* cusz on the device: how many bits the codes of each group have. A block takes the groups of a
 * cell. */
#ifndef BALE_KERNELS_CUSZ_MEASURE_CUH
#define BALE_KERNELS_CUSZ_MEASURE_CUH

#include "kernels/cusz/coder.cuh"

namespace bale_cusz
{
/* Of the groups of a cell. */
struct measures {
    uint32_t bits[GROUPS_OF_CELL];
    uint16_t open[GROUPS_OF_CELL]; /* zeros before it in its segment */
    /* Zeros before the first word that is not zero, and words up to the last one, 0 if there is
     * none. */
    uint16_t lead[GROUPS_OF_CELL], upto[GROUPS_OF_CELL];
};

/* Groups [begin, end) of a chunk. */
struct groups {
    uint32_t begin, end;
};

__device__ inline groups groups_of(uint32_t cell_, uint32_t size, uint32_t count)
{
    const uint32_t each = BALE_CUDA_CELL / size / GROUP, begin = min(cell_ * each, count);

    return {begin, min(begin + each, count)};
}

/* By a lane: bits of its words; if zeros are written as runs, of what is between the first and the
 * last that is not zero. */
template <bool LITERALS, typename WORK, typename WORD>
__device__ inline uint32_t bits_of_words(const WORK &w, const words_of_lane<WORD> &own,
                                         uint32_t nonzero)
{
    const uint32_t writes = w.runs ? nonzero : (1u << own.there) - 1;
    uint32_t bits = w.runs ? w.codes->gaps[nonzero] : 0, low;

#pragma unroll
    for (uint32_t k = 0; k < EACH; k++)
        if (writes >> k & 1)
            bits += (code_of<LITERALS>(*w.codes, own.words[k], &low) & 15) + low;
    return bits;
}

/* By a lane: the same with matches. */
template <typename WORD>
__device__ inline uint32_t bits_of_matches(const coder &codes, const words_of_lane<WORD> &own,
                                           const uint16_t *places)
{
    uint32_t bits = 0;

    for (uint32_t k = 0; k < own.there; k++) {
        const uint32_t place = place_of(places, k);
        uint32_t low;
        if (place == ALONE) {
            bits += (code_of<false>(codes, own.words[k], &low) & 15) + low;
        } else if (place != COVERED) {
            const uint32_t token = match_token(place);
            bits += (codes.tokens[token] & 15) + match_low(token) + match_distance_bits(token);
        }
    }
    return bits;
}

/* By a warp: measures a group, number k of the cell, but for the zeros before its first word that
 * is not zero and behind the last. */
template <bool LITERALS, typename WORD, bool QUICK, bool MATCHES, typename NUMBER>
__device__ inline void measure_group(const work<WORD, QUICK, MATCHES> &w,
                                     const words_of_lane<NUMBER> &own, uint32_t group,
                                     const uint16_t *places, uint32_t k, measures *to)
{
    const uint32_t nonzero = w.runs ? own.nonzero() : 0;
    uint32_t bits =
        MATCHES ? bits_of_matches(*w.codes, own, places) : bits_of_words<LITERALS>(w, own, nonzero);

    if (w.runs) {
        const uint32_t any = __ballot_sync(ALL, nonzero != 0);
        const uint32_t run = zeros_before(nonzero, any, 0), upto = words_upto_last(nonzero, any);
        const bool first = (any & bale_warp::lower_lanes()) == 0;
        if (nonzero && first)
            to->lead[k] = (uint16_t)run;
        else if (nonzero)
            bits += run_bits(*w.codes, run);
        if (bale_warp::lane() == 0)
            to->upto[k] = (uint16_t)upto;
    }
    bits = __reduce_add_sync(ALL, bits);
    if (bale_warp::lane() == 0)
        to->bits[k] = bits;
}

/* By a warp: the same of a group of which so many words are kept, if zeros are written as runs.
 * entry: the lane's one of the first 32. */
template <bool LITERALS, typename WORD, bool QUICK, bool MATCHES>
__device__ inline void measure_few(const work<WORD, QUICK, MATCHES> &w, uint32_t group,
                                   uint32_t count, uint32_t entry, uint32_t k, measures *to)
{
    const uint32_t *few = w.kept[group].few;
    uint32_t bits = 0, behind = 0; /* the last place so far */

    for (uint32_t first = 0; first < count; first += 32) {
        const uint32_t i = first + bale_warp::lane();
        if (first > 0)
            entry = i < count ? few[i] : 0;
        const uint32_t place = entry >> 16, other = __shfl_up_sync(ALL, place + 1, 1);
        const uint32_t run = place - (bale_warp::lane() == 0 ? behind : other);
        uint32_t low;
        if (i < count)
            bits += (code_of<LITERALS>(*w.codes, entry & 0xffff, &low) & 15) + low +
                    (i > 0 ? run_bits(*w.codes, run) : 0);
        if (i == 0)
            to->lead[k] = (uint16_t)place;
        behind = __shfl_sync(ALL, place + 1, (int)min(31u, count - first - 1));
    }
    bits = __reduce_add_sync(ALL, bits);
    if (bale_warp::lane() == 0) {
        to->upto[k] = (uint16_t)behind;
        to->bits[k] = bits;
    }
}

/* By a thread: zeros before a cell, back to a group at the most that begins one. */
template <typename WORD>
__device__ inline uint32_t zeros_before_cell(const cuda_lists &lists, uint32_t first, uint32_t c,
                                             uint32_t begin)
{
    uint32_t sum = 0;

    while (c-- > first && (c - first) * (BALE_CUDA_CELL / sizeof(WORD) / GROUP) >= begin) {
        const zeros &z = work_of_cell(lists, c)->z;
        sum += z.trail;
        if (z.lead < z.count)
            break;
    }
    return sum;
}

/* By a thread: adds to the bits of a group the zeros that were left out. */
template <typename WORD, bool QUICK, bool MATCHES>
__device__ inline void add_open_runs(const work<WORD, QUICK, MATCHES> &w, groups of, uint32_t k,
                                     uint32_t before, measures *to)
{
    const uint32_t group = of.begin + k, there = w.words_of(group);
    const uint32_t in_segment = group % w.groups_of_segment();
    const uint32_t within = min(in_segment, k); /* groups of the cell before it in its segment */
    uint32_t open = 0, bits = 0, back = 1;

    while (back <= within && to->upto[k - back] == 0)
        back++;
    open = (back - 1) * GROUP;
    if (back <= within)
        open += GROUP - to->upto[k - back];
    else if (in_segment > k)
        open += before;
    to->open[k] = (uint16_t)open;
    if (to->upto[k] > 0)
        bits += run_bits(*w.codes, open + to->lead[k]);
    if (w.ends_segment(group))
        bits += run_bits(*w.codes, to->upto[k] > 0 ? there - to->upto[k] : open + there);
    to->bits[k] += bits;
}

/* By a block: measures the groups of cell c of a chunk whose first one is `first`. */
template <typename WORD, bool QUICK, bool MATCHES>
__device__ inline void measure_groups(const work<WORD, QUICK, MATCHES> &w, const cuda_lists &lists,
                                      uint32_t first, uint32_t c, measures *to)
{
    const groups of = groups_of(c - first, sizeof(WORD), w.groups());
    const uint32_t count = of.end - of.begin, warp = threadIdx.x / 32;
    const uint32_t each =
        MATCHES ? w.groups_of_segment() : (count + blockDim.x / 32 - 1) / (blockDim.x / 32);

    for (uint32_t begin = warp * each; begin < count; begin += blockDim.x / 32 * each) {
        const uint16_t *places = places_of(w, of.begin + begin);
        const uint32_t end = min(begin + each, count);
        group_reader<WORD, QUICK> reader(w.d, w.st);
        kept_reader<work<WORD, QUICK, MATCHES>> counts(w, of.begin + begin, of.begin + end);
        for (uint32_t k = begin; k < end; k++) {
            uint32_t entry;
            bool literals;
            const uint32_t group = of.begin + k, kept = counts.next(&entry, &literals);
            const uint16_t *const own = places ? places + (k - begin) * GROUP : places;
            if (w.runs && kept <= FEW && literals)
                measure_few<true>(w, group, kept, entry, k, to);
            else if (w.runs && kept <= FEW)
                measure_few<false>(w, group, kept, entry, k, to);
            else if (kept != NONE_KEPT && literals)
                measure_group<true>(w, kept_words(w, group, kept), group, own, k, to);
            else if (kept != NONE_KEPT)
                measure_group<false>(w, kept_words(w, group, kept), group, own, k, to);
            else
                measure_group<false>(w, reader.at(group * GROUP, w.l.elements), group, own, k, to);
        }
    }
    __syncthreads();
    if (w.runs && threadIdx.x < count) {
        const uint32_t in_segment = of.begin % w.groups_of_segment();
        const uint32_t before =
            in_segment > 0 ? zeros_before_cell<WORD>(lists, first, c, of.begin - in_segment) : 0;
        add_open_runs(w, of, threadIdx.x, before, to);
    }
    __syncthreads();
}

struct measure_shared {
    coder codes;
    measures m;
    stage stages[1]; /* as many as there are warps; then their matchers */
};

/* By a block: loads what a chunk is encoded with. False: it is not. */
__device__ inline bool load_plan(coder *codes, const cell &x, const cuda_lists &lists, head *h,
                                 layout *l)
{
    const plan &p = *plan_of(lists, x.chunk.frame);

    if (x.of.orders == 0 || lists.made[x.chunk.frame].length == 0)
        return false;
    load_codes(codes, p);
    h->lead = x.of.lead;
    h->f64 = x.of.size == 8;
    return lay_out(*h, x.chunk.whole, p.segment_log2, 0, l);
}

/* What kernels know of a chunk. */
template <typename WORD, bool QUICK, bool MATCHES>
__device__ inline work<WORD, QUICK, MATCHES> work_of(const cell &x, const cuda_lists &lists,
                                                     const layout &l, const coder *codes, stage *st,
                                                     matcher *m)
{
    return {differences_of<WORD, QUICK>(x.of, x.chunk, lists, plan_of(lists, x.chunk.frame)->order),
            l,
            codes,
            !MATCHES && (codes->tokens[1] & 15) > 0,
            st,
            m,
            MATCHES ? nullptr : kept_groups(lists, x.chunk)};
}

template <typename WORD, bool QUICK, bool MATCHES>
__device__ inline void measure_cell(measure_shared *s, const cell &x, const cuda_lists &lists,
                                    const layout &l)
{
    cell_work *const to = work_of_cell(lists, blockIdx.x);
    const uint32_t warp = threadIdx.x / 32;

    measure_groups(work_of<WORD, QUICK, MATCHES>(x, lists, l, &s->codes, &s->stages[warp],
                                                 (matcher *)(s->stages + blockDim.x / 32) + warp),
                   lists, x.chunk.first, blockIdx.x, &s->m);
    if (threadIdx.x < GROUPS_OF_CELL) {
        to->bits[threadIdx.x] = (uint16_t)s->m.bits[threadIdx.x];
        to->open[threadIdx.x] = s->m.open[threadIdx.x];
    }
}

/* Shared memory of a block. */
template <bool MATCHES> constexpr size_t measure_room(uint32_t threads)
{
    return sizeof(measure_shared) - sizeof(stage) +
           threads / 32 * (sizeof(stage) + (MATCHES ? sizeof(matcher) : 0));
}

/* Finds out how many bits the groups have. */
template <typename WORD, bool MATCHES>
__global__ void __launch_bounds__(MATCHES ? CELL_THREADS : CELL_THREADS_MAX)
    measure(const cuda_chunk *chunks, const cuda_frame *frames, cuda_lists lists)
{
    measure_shared *s = (measure_shared *)bale_shared::memory;
    layout l;
    cell x;
    head h;

    if (!load_cell(chunks, frames, lists, sizeof(WORD), MATCHES, &x) ||
        !load_plan(&s->codes, x, lists, &h, &l))
        return;
    if (MATCHES || plan_of(lists, x.chunk.frame)->slow)
        measure_cell<WORD, false, MATCHES>(s, x, lists, l);
    else
        measure_cell<WORD, !MATCHES, MATCHES>(s, x, lists, l);
}
} // namespace bale_cusz

#endif
