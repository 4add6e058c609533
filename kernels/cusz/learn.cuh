/* cusz on the device: making the extent part of what was counted (spec.md, Choices). A block for a
 * frame, and mostly a thread for a token. */
#ifndef BALE_KERNELS_CUSZ_LEARN_CUH
#define BALE_KERNELS_CUSZ_LEARN_CUH

#include "kernels/cusz/part.cuh"
#include "kernels/cusz/runs.cuh"

namespace bale_cusz
{
/* bale_log2_q16 of kernels/codec/entropy.h. */
__device__ inline uint32_t log2_q16(uint32_t n)
{
    const uint32_t exponent = 31 - (uint32_t)__clz((int)n);
    const uint32_t f = ((n << (31 - exponent)) >> 15) & 0xffff;
    const uint32_t bow = (f * (65536 - f)) >> 16;

    return (exponent << 16) + f + ((bow * 22544) >> 16);
}

/* By a block: about how many bits Huffman's codes take, in 1/65536 (learn.c). count: of the
 * thread's token. */
__device__ inline uint64_t estimate(block_sums *sums, uint32_t count)
{
    uint64_t total = sums->sum(count), bits = 0;
    uint64_t sum = sums->sum(count ? (uint64_t)count * log2_q16(count) : 0);

    for (;;) {
        const uint32_t most = sums->most(count);
        if (most == total)
            return bits > 0 ? bits : total << 16;
        if ((uint64_t)most * 5 <= total * 2)
            return bits + total * log2_q16((uint32_t)total) - sum;
        const uint32_t first = sums->most(count == most ? TOKENS - threadIdx.x : 0);
        bits += total << 16;
        total -= most;
        sum -= (uint64_t)most * log2_q16(most);
        if (threadIdx.x == TOKENS - first)
            count = 0;
    }
}

/* By a thread: joins all nodes, each time the two least of the first two leaves and the first two
 * joined nodes; of equal ones the leaf. */
__device__ inline void join_nodes(tree *t, uint32_t leaves)
{
    uint32_t leaf = 0, node = 0;

    for (uint32_t i = 0; i + 1 < leaves; i++) {
        const uint32_t a0 = t->count[leaf], a1 = t->count[leaf + 1];
        const uint32_t b0 = t->joined[node], b1 = t->joined[node + 1];
        const bool first = a0 <= b0, second = first ? a1 <= b0 : a0 <= b1; /* is a leaf */
        const uint32_t least = first ? a0 : b0, other = first ? b0 : b1;
        t->joined[i] = least + (second ? (first ? a1 : a0) : other);
        t->parent[first ? leaf : leaves + node] = (uint16_t)i;
        leaf += first;
        node += !first;
        t->parent[second ? leaf : leaves + node] = (uint16_t)i;
        leaf += second;
        node += !second;
    }
}

/* By a block: brings the tokens that occur together, in their order. Returns how many there are. */
__device__ inline uint32_t gather_leaves(learn_shared *s)
{
    const uint32_t token = threadIdx.x, occur = __ballot_sync(ALL, s->counts[token] > 0);
    uint32_t before = 0, all = 0;

    if (bale_warp::lane() == 0)
        s->occur[token / 32] = occur;
    __syncthreads();
#pragma unroll
    for (uint32_t group = 0; group < LEARN_WARPS; group++) {
        before += group < token / 32 ? (uint32_t)__popc(s->occur[group]) : 0;
        all += (uint32_t)__popc(s->occur[group]);
    }
    if (s->counts[token] > 0)
        s->leaves[before + (uint32_t)__popc(occur & bale_warp::lower_lanes())] = (uint16_t)token;
    __syncthreads();
    return all;
}

/* By a block: Huffman's code lengths for counts, which two or more tokens have. */
__device__ inline void lengths_huffman(learn_shared *s)
{
    tree *t = &s->tree_;
    const uint32_t thread = threadIdx.x, leaves = gather_leaves(s);
    const uint32_t token = thread < leaves ? s->leaves[thread] : 0;
    uint32_t own = thread < leaves ? s->counts[token] : 0;

    for (bool long_ = true; long_;) {
        uint32_t rank = 0, depth = 0;
        s->occurs[thread] = own;
        __syncthreads();
        for (uint32_t other = 0; thread < leaves && other < leaves; other++)
            rank += s->occurs[other] < own + (other < thread);
        for (uint32_t i = thread; i < TOKENS + 2; i += LEARN_THREADS) {
            t->joined[i] = NONE;
            if (i >= leaves)
                t->count[i] = NONE;
        }
        if (thread < leaves) {
            t->count[rank] = own;
            t->token[rank] = (uint16_t)token;
        }
        __syncthreads();
        if (thread == 0)
            join_nodes(t, leaves);
        __syncthreads();
        if (thread < leaves) {
            depth = 1;
            for (uint32_t at = t->parent[thread]; at + 2 < leaves; at = t->parent[leaves + at])
                depth++;
            s->b.length[t->token[thread]] = (uint8_t)min(depth, 255u);
        }
        long_ = __syncthreads_or(depth > CUSZ_LENGTH_MAX);
        own = (own + 1) / 2;
    }
}

/* By a block: lengths that are nearly equal, for all counts above zero. */
__device__ inline void lengths_equal(learn_shared *s, block_sums *sums)
{
    const uint32_t token = threadIdx.x;
    const bool occurs = s->counts[token] > 0;
    const uint32_t used = (uint32_t)sums->sum(occurs);
    uint32_t length = 1, rank = 0;

    while (1u << length < used)
        length++;
    for (uint32_t other = 0; occurs && other < token; other++)
        rank += s->counts[other] > 0;
    if (occurs)
        s->b.length[token] = (uint8_t)(rank < (1u << length) - used ? length - 1 : length);
    __syncthreads();
}

/* Low bits of a token with matches. */
__device__ inline uint32_t low_bits(uint32_t token)
{
    if (token >= CUSZ_CLASSES)
        return (token - CUSZ_CLASSES) / 4 + CUSZ_CLASS_LOG2 - 2;
    return token > 0 && token < CUSZ_RUNS ? match_low(token) + match_distance_bits(token) : 0;
}

/* By a block: about how many bits tokens with matches take, in 1/65536. */
__device__ inline uint64_t estimate_matches(block_sums *sums, uint32_t count)
{
    const uint64_t low = sums->sum((uint64_t)count * low_bits(threadIdx.x));

    return estimate(sums, count) + (low << 16);
}

/* By a block: makes code lengths for tokens with matches, long ones only or short ones, too. */
__device__ inline void choose_matches(learn_shared *s, block_sums *sums)
{
    const uint32_t token = threadIdx.x, is_run = token < CUSZ_RUNS;
    const bool is_long = token < CUSZ_FAR ? token == 0 || token > 2 : token > CUSZ_FAR + 1;
    const uint32_t few = token < CUSZ_TOKENS ? s->t.counts[token] + is_run : 0;
    const uint32_t many = token < CUSZ_TOKENS ? s->t.many[token] + (is_run && is_long) : 0;
    const uint64_t bits = estimate_matches(sums, many);

    s->counts[token] = bits <= estimate_matches(sums, few) ? many : few;
    s->b.length[token] = 0;
    __syncthreads();
    lengths_huffman(s);
}

/* By a block: makes code lengths for what was counted; *low_runs: becomes whether runs are taken.
 * Returns the thread's token's count. */
__device__ inline uint32_t choose_codes(learn_shared *s, block_sums *sums, uint32_t pipeline,
                                        bool *low_runs)
{
    const uint32_t token = threadIdx.x;
    const uint32_t single = token < CUSZ_TOKENS ? s->t.counts[token] : 0;
    const uint32_t with_runs = token < CUSZ_RUNS ? s->runs[token] : single;

    if (pipeline == BALE_PIPELINE_AUTO) {
        const uint64_t low = sums->sum(token < CUSZ_RUNS ? (uint64_t)with_runs * token : 0);
        const uint64_t runs = estimate(sums, with_runs) + (low << 16);
        pipeline =
            runs < estimate(sums, single) ? BALE_PIPELINE_RLE_HUFFMAN : BALE_PIPELINE_HUFFMAN;
    }
    *low_runs = pipeline != BALE_PIPELINE_HUFFMAN;
    const uint32_t count = pipeline == BALE_PIPELINE_HUFFMAN
                               ? single + (token == 0 || token == CUSZ_RUNS)
                               : with_runs + (token < CUSZ_RUNS);
    s->counts[token] = count;
    s->b.length[token] = 0;
    __syncthreads();
    if (pipeline == BALE_PIPELINE_RLE)
        lengths_equal(s, sums);
    else
        lengths_huffman(s);
    return count;
}

/* By a block: the log2 of the most elements that take CUSZ_SEGMENT_BITS on average. */
__device__ inline uint32_t choose_segment(const learn_shared *s, block_sums *sums, uint32_t count,
                                          bool low_runs, uint32_t elements)
{
    const uint32_t token = threadIdx.x;
    const uint32_t low = token >= CUSZ_CLASSES ? (token - CUSZ_CLASSES) / 4 + CUSZ_CLASS_LOG2 - 2
                         : token < CUSZ_RUNS && low_runs ? token
                                                         : 0;
    const uint64_t bits = sums->sum((uint64_t)count * (s->b.length[token] + low));
    uint32_t log2 = CUSZ_SEGMENT_MAX;

    while (log2 > CUSZ_SEGMENT_MIN && bits << log2 > (uint64_t)elements * CUSZ_SEGMENT_BITS)
        log2--;
    return log2;
}

/* By a thread: the token from `token` on that has a code; TOKENS if there is none. */
__device__ inline uint32_t next_with_code(const learn_shared *s, uint32_t token)
{
    uint32_t group = token / 32, bits = s->occur[group] >> token % 32 << token % 32;

    while (bits == 0 && ++group < LEARN_WARPS)
        bits = s->occur[group];
    return bits ? 32 * group + (uint32_t)__ffs((int)bits) - 1 : TOKENS;
}

/* The last one before `token`; TOKENS if there is none. */
__device__ inline uint32_t last_with_code(const learn_shared *s, uint32_t token)
{
    uint32_t group = token / 32, bits = s->occur[group] & ((1u << token % 32) - 1);

    while (bits == 0 && group > 0)
        bits = s->occur[--group];
    return bits ? 32 * group + 31 - (uint32_t)__clz((int)bits) : TOKENS;
}

/* By a block: writes code lengths, a thread for a token. Returns the bytes that they take. */
__device__ inline uint32_t write_lengths(learn_shared *s, uint8_t *out)
{
    const uint32_t token = threadIdx.x, length = s->b.length[token], warp = token / 32;
    const uint32_t occur = __ballot_sync(ALL, length > 0);

    if (bale_warp::lane() == 0)
        s->occur[warp] = occur;
    __syncthreads();
    const uint32_t next = next_with_code(s, token), last = last_with_code(s, token);
    const uint32_t in_run = last == TOKENS ? token : token - last - 1;
    const bool is_run = length == 0 && in_run % 16 == 0;
    const uint32_t own = next == TOKENS ? 0 : length > 0 ? 1 : is_run ? 2 : 0;
    uint32_t at = bale_warp::inclusive_sum(own), before = 0, count = 0;
    if (bale_warp::lane() == 31)
        s->half_count[warp] = at;
    __syncthreads();
    for (uint32_t i = 0; i < LEARN_WARPS; i++) {
        before += i < warp ? s->half_count[i] : 0;
        count += s->half_count[i];
    }
    at += before - own;
    if (own > 0)
        s->halves[at] = (uint8_t)length;
    if (own == 2)
        s->halves[at + 1] = (uint8_t)min(15u, next - token - 1);
    if (token == 0)
        s->halves[count] = 0;
    __syncthreads();
    for (uint32_t i = token; 2 * i < count; i += LEARN_THREADS)
        out[i] = (uint8_t)(s->halves[2 * i] | s->halves[2 * i + 1] << 4);
    return (count + 1) / 2;
}

/* Makes the frame's part, and the plan behind it. A frame that the codec is not for has none. */
__global__ void __launch_bounds__(LEARN_THREADS)
    learn(const cuda_chunk *chunks, const cuda_frame *frames, cuda_lists lists)
{
    __shared__ learn_shared shared;
    learn_shared *const s = &shared;
    block_sums sums(s);
    const uint32_t f = blockIdx.x, thread = threadIdx.x;
    const cuda_frame &frame = frames[f];
    const subject of = subject_of(frame, chunks[frame.first].chunk_size);
    const uint32_t pipeline = frame.field.pipeline;

    for (uint32_t i = thread; i < sizeof(totals) / 4; i += LEARN_THREADS)
        ((uint32_t *)&s->t)[i] = ((const uint32_t *)totals_of(lists, f))[i];
    if (thread < CUSZ_RUNS)
        s->runs[thread] = 0;
    __syncthreads();
    if (of.orders == 0 || s->t.elements == 0 || s->t.listed > s->t.elements / CUSZ_UNFIT) {
        if (thread == 0)
            lists.made[f].length = 0;
        return;
    }
    const uint32_t order = best_order(s->t.costs, of.orders);
    uint32_t segment_log2 = CUSZ_PIECE_LOG2;
    bool low_runs = false;
    if (of.matches) {
        choose_matches(s, &sums);
    } else {
        add_runs(s, of, chunks, frame, lists, pipeline != BALE_PIPELINE_AUTO);
        const uint32_t count = choose_codes(s, &sums, pipeline, &low_runs);
        segment_log2 = choose_segment(s, &sums, count, low_runs, frame.raw_length / of.size);
    }
    make_codes(&s->b, &s->fine);
    if (thread < CUSZ_TOKENS)
        plan_of(lists, f)->code[thread] = (uint32_t)s->b.code[thread] << 4 | s->b.length[thread];
    uint8_t *const part = lists.parts + (size_t)f * BALE_CUDA_PART;
    const uint32_t head = head_length(order), lengths = write_lengths(s, part + head);
    if (thread == 0) {
        plan_of(lists, f)->order = order;
        plan_of(lists, f)->segment_log2 = segment_log2;
        plan_of(lists, f)->slow = s->t.slow;
        write_head(of, order, segment_log2, low_runs, part);
        lists.made[f].length = head + lengths;
    }
}
} // namespace bale_cusz

#endif
