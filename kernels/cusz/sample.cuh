/* cusz on the device: the cost of each order in a sample, and the elements that are no multiples
 * (spec.md, Choices). A block for each cell of a chunk, or for the chunk. It reads all elements,
 * and rounds them first if that is asked for (ROUNDS). */
#ifndef BALE_KERNELS_CUSZ_SAMPLE_CUH
#define BALE_KERNELS_CUSZ_SAMPLE_CUH

#include "kernels/codec/codec.cuh"
#include "kernels/cusz/rounds.cuh"

namespace bale_cusz
{
/* Threads of a block. Where there are few cells, each takes a multiprocessor. */
constexpr unsigned CELL_THREADS = 256, CELL_THREADS_MAX = 1024;
constexpr uint32_t SAMPLE_DEEP = 4; /* loads that a thread has in flight */

/* Sums over a frame's chunks, in the cell of its part until that is made; zeros at first. */
struct totals {
    unsigned long long costs[CUSZ_ORDERS];
    uint32_t elements, listed;
    uint32_t slow;                /* not 0: the frame's elements have no quick words */
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
    unsigned long long least = costs[0];
    uint32_t best = 0;

#pragma unroll
    for (uint32_t i = 1; i < CUSZ_ORDERS; i++) {
        const unsigned long long cost = costs[i];
        if (i < orders && cost < least) {
            least = cost;
            best = i;
        }
    }
    return best;
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

/* The number that a quick word is, as a double: its bits behind those of 2^52 are 2^52 and them. */
__device__ inline double number_of(uint32_t quick)
{
    const uint64_t bits = (uint64_t)0x43300000 << 32 | quick;
    double sum;

    memcpy(&sum, &bits, sizeof sum);
    return __dadd_rn(sum, -(0x1p52 + type_of<uint32_t>::MAGIC_BITS));
}

__device__ inline double number_of(uint64_t quick)
{
    double sum;

    memcpy(&sum, &quick, sizeof sum);
    return __dadd_rn(sum, -0x1.8p52);
}

/* Whether the quick word is within its limit and stands for this element: then it is the word. */
template <typename WORD> __device__ inline bool is_quick(const rounding &r, WORD quick, WORD raw)
{
    constexpr WORD HALF = (WORD)1 << (type_of<WORD>::QUICK_LOG2 - 1);
    const typename type_of<WORD>::element x =
        (typename type_of<WORD>::element)__dmul_rn(number_of(quick), r.step);
    WORD bits;

    memcpy(&bits, &x, sizeof bits);
    return bits == raw && (WORD)(quick - type_of<WORD>::MAGIC_BITS + HALF) < 2 * HALF;
}

/* The word of an element of an array that may have quick words, or not. */
template <typename WORD>
__device__ inline WORD word_of(const rounding &r, bool may_be_quick, WORD raw)
{
    const WORD quick = quick_word(r, raw);
    bool listed;

    if (may_be_quick && is_quick(r, quick, raw))
        return quick - type_of<WORD>::MAGIC_BITS;
    return quantised(r, raw, &listed);
}

/* By a thread: adds the costs of element i for each order, which takes twice as many corners as the
 * one before. Words at the corners are loaded before one is used. ROUNDS: elements may be rounded
 * or not yet, here and by other blocks. Their words are the same (spec.md, Words), but only one that
 * is rounded can have a quick word. */
template <typename WORD, bool ROUNDS>
__device__ inline void add_costs(const differences<WORD, false> &d, const subject &s, uint32_t i,
                                 uint32_t costs[CUSZ_ORDERS])
{
    constexpr uint32_t CORNERS = 1u << (CUSZ_ORDERS - 1);
    const bool quick = !ROUNDS && may_be_quick(s);
    WORD raw[CORNERS], rest = 0;

#pragma unroll
    for (uint32_t k = 0; k < CORNERS; k++) {
        const uint64_t back = (k & 1 ? s.strides[0] : 0) + (uint64_t)(k & 2 ? s.strides[1] : 0) +
                              (k & 4 ? s.strides[2] : 0);
        raw[k] = k >> (s.orders - 1) == 0 && back <= i ? d.elements.load(i - (uint32_t)back) : 0;
    }
#pragma unroll
    for (uint32_t order = 0; order < CUSZ_ORDERS; order++) {
        if (order >= s.orders)
            break;
#pragma unroll
        for (uint32_t k = order ? 1u << (order - 1) : 0; k < 1u << order; k++) {
            const WORD word = word_of(d.r, quick, raw[k]);
            rest = __popc(k) & 1 ? rest - word : rest + word;
        }
        costs[order] += cost_of(rest);
    }
}

/* What is found out about elements. */
struct findings {
    uint32_t *listed;              /* of each group */
    bool large;                    /* one has too many steps for a quick word */
    bale_equality::equality bytes; /* ROUNDS: of what is rounded */
};

/* at: the element's place in the share. */
template <typename WORD>
__device__ inline void look_closely(const rounding &r, WORD raw, uint32_t at, findings *found)
{
    bool listed;
    const WORD word = quantised(r, raw, &listed);

    if (listed)
        atomicAdd(&found->listed[at / GROUP], 1u);
    found->large = found->large || folded(word) >> type_of<WORD>::QUICK_LOG2 != 0;
}

/* By a thread: 16 bytes, which are line number `at` of the share. */
template <typename WORD>
__device__ inline void look_quickly(const rounding &r, const uint4 &line, uint32_t at,
                                    findings *found)
{
    WORD words[sizeof line / sizeof(WORD)];
    bool fine = true;

    memcpy(words, &line, sizeof words);
    for (WORD word : words)
        fine = fine & is_quick(r, quick_word(r, word), word);
    if (fine)
        return;
    for (uint32_t k = 0; k < sizeof line / sizeof(WORD); k++)
        look_closely(r, words[k], at * (uint32_t)(sizeof line / sizeof(WORD)) + k, found);
}

/* By a thread: rounds these 16 bytes, too. from: the share's first element; to: where they lie. */
template <typename WORD>
__device__ inline void round_line(const rounder<WORD> &o, const rounding &r, const uint4 &line,
                                  uint32_t at, uint32_t from, uint4 *to, findings *found)
{
    constexpr uint32_t WORDS = sizeof line / sizeof(WORD);
    WORD exact[WORDS], words[WORDS];
    bool fine = o.quick && from + at * WORDS >= o.begin;
    uint4 now;

    memcpy(exact, &line, sizeof exact);
#pragma unroll
    for (uint32_t k = 0; k < WORDS; k++)
        fine = round_quickly(o, exact[k], &words[k]) && fine;
    if (!fine)
        for (uint32_t k = 0; k < WORDS; k++) {
            words[k] = rounded(o, exact[k], from + at * WORDS + k);
            look_closely(r, words[k], at * WORDS + k, found);
        }
    store_elements(to, words);
    memcpy(&now, words, sizeof now);
    bale_equality::compare_bytes(&found->bytes, now);
}

/* By a thread: element i, by itself. */
template <typename WORD, bool ROUNDS>
__device__ inline void look_at(const differences<WORD, false> &d, const rounder<WORD> &o, share of,
                               uint32_t i, findings *found)
{
    WORD raw = d.elements.load(i);

    if constexpr (ROUNDS) {
        raw = rounded(o, raw, i);
        d.elements.store(i, raw);
        bale_equality::compare_bytes(&found->bytes, repeated(raw));
    }
    look_closely(d.r, raw, i - of.begin, found);
}

/* By a thread: its part of the share, of an array that may have quick words: 16 bytes at a time. */
template <typename WORD, bool ROUNDS>
__device__ inline void look_in_lines(const differences<WORD, false> &d, const rounder<WORD> &o,
                                     share of, findings *found)
{
    constexpr uint32_t WORDS = sizeof(uint4) / sizeof(WORD);
    uint4 *const from = (uint4 *)(d.elements.at + (size_t)of.begin * sizeof(WORD));
    const uint32_t count = of.end - of.begin, lines = count / WORDS;

    for (uint32_t first = threadIdx.x; first < lines; first += SAMPLE_DEEP * blockDim.x) {
        uint4 v[SAMPLE_DEEP] = {};
#pragma unroll
        for (uint32_t k = 0; k < SAMPLE_DEEP; k++)
            if (first + k * blockDim.x < lines)
                v[k] = from[first + k * blockDim.x];
#pragma unroll
        for (uint32_t k = 0; k < SAMPLE_DEEP; k++) {
            const uint32_t at = first + k * blockDim.x;
            if constexpr (!ROUNDS)
                look_quickly<WORD>(d.r, v[k], at, found);
            else if (at < lines)
                round_line(o, d.r, v[k], at, of.begin, from + at, found);
        }
    }
    if (threadIdx.x < count % WORDS)
        look_at<WORD, ROUNDS>(d, o, of, of.end - 1 - threadIdx.x, found);
}

/* By a block: returns the bytes that a thread has rounded. */
template <typename WORD, bool ROUNDS>
__device__ inline bale_equality::equality sample_share(const differences<WORD, false> &d,
                                                       const rounder<WORD> &o, const subject &s,
                                                       share of, totals *t, uint32_t *listed)
{
    uint32_t costs[CUSZ_ORDERS] = {0};
    findings found = {listed, !may_be_quick(s), {}};

    if (!found.large)
        look_in_lines<WORD, ROUNDS>(d, o, of, &found);
    else
        for (uint32_t i = of.begin + threadIdx.x; i < of.end; i += blockDim.x)
            look_at<WORD, ROUNDS>(d, o, of, i, &found);
    /* A share begins where a stretch of the sample may. */
    for (uint32_t k = threadIdx.x;; k += blockDim.x) {
        const uint32_t begin = of.begin + k / CUSZ_SAMPLE_RUN * CUSZ_SAMPLE_EVERY;
        if (begin >= of.end)
            break;
        if (d.count - begin >= CUSZ_SAMPLE_RUN)
            add_costs<WORD, ROUNDS>(d, s, begin + k % CUSZ_SAMPLE_RUN, costs);
    }
#pragma unroll
    for (uint32_t order = 0; order < CUSZ_ORDERS; order++) {
        const uint32_t sum = __reduce_add_sync(ALL, costs[order]);
        if (bale_warp::lane() == 0 && sum > 0)
            atomicAdd(&t->costs[order], (unsigned long long)sum);
    }
    const bool slow = __any_sync(ALL, found.large);
    if (bale_warp::lane() == 0 && slow)
        atomicOr(&t->slow, 1u);
    return found.bytes;
}

/* What a block knows of its cell. */
struct cell {
    cuda_chunk chunk;
    subject of;
    totals *t;
    share own;
};

__device__ inline void load_cell(const cuda_chunk *chunks, const cuda_frame *frames,
                                 const cuda_lists &lists, cell *x)
{
    const uint32_t c = blockIdx.x;

    x->chunk = chunks[c];
    x->of = subject_of(frames[x->chunk.frame], x->chunk.chunk_size);
    x->t = totals_of(lists, x->chunk.frame);
    x->own = share_of(x->of, x->chunk, c);
}

/* False: another kernel is for elements of the frame's size, or for its matches. */
__device__ inline bool load_cell(const cuda_chunk *chunks, const cuda_frame *frames,
                                 const cuda_lists &lists, uint32_t size, bool matches, cell *x)
{
    load_cell(chunks, frames, lists, x);
    return x->of.size == size && x->of.matches == matches;
}

/* Adds to the totals of any frame the costs of orders, and to those of groups listed elements. */
template <typename WORD>
__device__ inline void sample_cell(const cell &x, const cuda_lists &lists, uint32_t *listed)
{
    sample_share<WORD, false>(differences_of<WORD, false>(x.of, x.chunk, lists, 0), {}, x.of, x.own,
                              x.t, listed);
}

/* The same, when it has rounded the cell. Sets the result's flags by the rounded bytes. */
template <typename WORD>
__device__ inline void round_cell(const cell &x, const cuda_frame &frame, const cuda_lists &lists,
                                  uint32_t *listed, cuda_result *result)
{
    const differences<WORD, false> d = differences_of<WORD, false>(x.of, x.chunk, lists, 0);
    const uint32_t begin = (x.own.end - x.own.begin) * (uint32_t)sizeof(WORD);
    bale_equality::equality e = sample_share<WORD, true>(d, rounder_of<WORD>(x.of, frame, x.chunk),
                                                         x.of, x.own, x.t, listed);

    if (threadIdx.x < x.chunk.raw_length - begin) { /* a part of an element */
        const uint8_t *tail = lists.raw + (size_t)blockIdx.x * BALE_CUDA_CELL + begin;
        bale_equality::compare_bytes(&e, repeated(tail[threadIdx.x] * 0x01010101u));
    }
    const uint32_t flags = bale_equality::verdict_of_block(e);
    if (threadIdx.x == 0) /* measuring rounds again, and keeps what it has found */
        result->flags = (result->flags & CUDA_MISMATCH) | flags;
}

/* By a block: notes how many elements of the groups are listed. */
__device__ inline void keep_listed(const uint32_t *listed, cell_work *work, totals *t)
{
    const uint32_t i = threadIdx.x;

    if (i >= GROUPS_OF_CELL)
        return;
    work->listed[i] = (uint16_t)listed[i];
    const uint32_t sum = __reduce_add_sync(ALL, listed[i]);
    if (bale_warp::lane() == 0 && sum > 0)
        atomicAdd(&t->listed, sum);
}
static_assert(GROUPS_OF_CELL % 32 == 0 && GROUPS_OF_CELL <= CELL_THREADS, "whole warps");

/* ROUNDS: there are frames that are rounded here (codec.cuh, begin). */
template <bool ROUNDS>
__global__ void __launch_bounds__(CELL_THREADS_MAX)
    sample(const cuda_chunk *chunks, const cuda_frame *frames, cuda_lists lists,
           cuda_result *results)
{
    __shared__ uint32_t listed[GROUPS_OF_CELL];
    cell x;

    load_cell(chunks, frames, lists, &x);
    if (x.of.orders == 0)
        return;
    if (threadIdx.x < GROUPS_OF_CELL)
        listed[threadIdx.x] = 0;
    __syncthreads();
    if (x.chunk.first == blockIdx.x && threadIdx.x == 0)
        atomicAdd(&x.t->elements, elements_of(x.of, x.chunk));
    const cuda_frame &frame = frames[x.chunk.frame];
    const bool rounds = ROUNDS && frame.rounds && bale_cuda_has_aligned_elements(frame);
    if (rounds && x.of.size == 8)
        round_cell<uint64_t>(x, frame, lists, listed, results + blockIdx.x);
    else if (rounds)
        round_cell<uint32_t>(x, frame, lists, listed, results + blockIdx.x);
    else if (x.of.size == 8)
        sample_cell<uint64_t>(x, lists, listed);
    else
        sample_cell<uint32_t>(x, lists, listed);
    __syncthreads();
    keep_listed(listed, work_of_cell(lists, blockIdx.x), x.t);
}
} // namespace bale_cusz

#endif
