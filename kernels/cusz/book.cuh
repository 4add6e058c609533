/* cusz on the device: the extent part and its canonical codes (spec.md). */
#ifndef BALE_KERNELS_CUSZ_BOOK_CUH
#define BALE_KERNELS_CUSZ_BOOK_CUH

#include "kernels/cusz/elements.cuh"

namespace bale_cusz
{
constexpr uint32_t TOKENS = (CUSZ_TOKENS + 31) / 32 * 32, TOKEN_WARPS = TOKENS / 32;
constexpr uint32_t LENGTHS = CUSZ_LENGTH_MAX + 1;

/* Canonical codes. The codes of a length are first[length] on and below end[length], and belong to
 * the tokens sorted[at[length]] on. */
struct book {
    uint8_t length[TOKENS]; /* 0: the token has no code */
    uint16_t code[TOKENS];
    uint16_t sorted[TOKENS];
    uint32_t first[LENGTHS], end[LENGTHS], at[LENGTHS];
    uint32_t before[TOKEN_WARPS][LENGTHS]; /* codes of the length of tokens before these 32 */
};

/* An extent part, but for its codes. */
struct head {
    rounding r;
    uint32_t strides[CUSZ_ORDERS - 1];
    uint32_t order, segment_log2, lead, lengths_at;
    bool f64, matches, turned, low_runs, fine;
};

/* By a warp: reads so many bytes of code lengths. False: they are for too many tokens. book->length
 * is all zero before. Behind each 0 that is a length comes a half byte that says how many more
 * tokens have none; so zeros side by side take turns. */
__device__ inline bool read_lengths(const uint8_t *in, uint32_t length, book *b)
{
    const uint32_t lane = bale_warp::lane();
    uint32_t tokens = 0, counts = 0; /* counts: whether the next half byte is such a number */

    for (uint32_t first = 0; first < 2 * length; first += 32) {
        const uint32_t i = first + lane;
        const bool there = i < 2 * length, next = i + 1 < 2 * length;
        const uint32_t half = there ? in[i / 2] >> i % 2 * 4 & 15 : 1;
        const uint32_t more = next ? in[(i + 1) / 2] >> (i + 1) % 2 * 4 & 15 : 0;
        const uint32_t others = __ballot_sync(ALL, half != 0),
                       before = others & bale_warp::lower_lanes();
        const uint32_t zeros = before ? lane + (uint32_t)__clz((int)before) - 32 : lane + counts;
        const bool is_length = there && zeros % 2 == 0 && (half != 0 || next);
        const uint32_t upto =
            tokens + bale_warp::inclusive_sum(is_length ? 1 + (half == 0 ? more : 0) : 0);
        if (is_length && half != 0 && upto <= CUSZ_TOKENS)
            b->length[upto - 1] = (uint8_t)half;
        tokens = __shfl_sync(ALL, upto, 31);
        counts = __shfl_sync(ALL, (uint32_t)(half == 0 && zeros % 2 == 0), 31);
    }
    return tokens <= CUSZ_TOKENS;
}

__device__ inline uint32_t number32(const uint8_t *in)
{
    return in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
}

/* By a thread: takes a part apart, but for the code lengths. False: it breaks a rule. */
__device__ inline bool read_head(const uint8_t *in, uint32_t length, head *h)
{
    uint32_t at = CUSZ_HEAD;

    if (length < CUSZ_HEAD || length > CUSZ_PART)
        return false;
    const uint64_t step = number32(in + 2) | (uint64_t)number32(in + 6) << 32;
    memcpy(&h->r.step, &step, sizeof step);
    h->f64 = in[0] & CUSZ_F64;
    h->r.big_endian = in[0] & CUSZ_BIG_ENDIAN;
    h->order = in[0] >> CUSZ_ORDER_AT & 3;
    h->segment_log2 = (in[0] >> CUSZ_SEGMENT_AT & 7) + CUSZ_SEGMENT_MIN;
    h->matches = in[0] & CUSZ_MATCHES;
    h->turned = in[1] & CUSZ_TURNED;
    h->low_runs = in[1] & CUSZ_LOW_RUNS;
    h->lead = in[1] & ~(CUSZ_TURNED | CUSZ_LOW_RUNS);
    h->strides[0] = 1;
    if (!(h->r.step >= 0x1p-1021 && h->r.step <= 0x1p1021) || h->lead >= (h->f64 ? 8 : 4) ||
        (h->matches && (h->turned || h->low_runs)))
        return false;
    h->r.inverse = __ddiv_rn(1, h->r.step);
    for (uint32_t i = 1; i < h->order; i++, at += 4) {
        if (length < at + 4)
            return false;
        h->strides[i] = number32(in + at);
        if (h->strides[i] == 0)
            return false;
    }
    h->lengths_at = at;
    return true;
}

/* By a warp: the lengths of 32 tokens; the codes become their ranks among those of a length. */
__device__ inline void rank_codes(book *b, uint32_t group)
{
    const uint32_t token = 32 * group + bale_warp::lane(), length = b->length[token];
    const uint32_t same = __match_any_sync(ALL, length),
                   rank = __popc(same & bale_warp::lower_lanes());

    b->code[token] = (uint16_t)rank;
    if (rank == 0)
        b->before[group][length] = __popc(same);
}

/* By a thread: the first code of each length. False: they do not make exactly one code. */
__device__ inline bool first_codes(book *b)
{
    uint32_t code = 0, at = 0, last = 0;

    for (uint32_t length = 1; length < LENGTHS; length++) {
        const uint32_t count = b->end[length];
        code = (code + last) << 1;
        b->first[length] = code;
        b->end[length] = code + count;
        b->at[length] = at;
        at += count;
        last = count;
    }
    return code + last == 1u << CUSZ_LENGTH_MAX;
}

/* By a block: makes the codes of the lengths. fine: set to whether they make exactly one. All of it
 * can be read afterwards. */
__device__ inline void make_codes(book *b, bool *fine)
{
    const uint32_t thread = threadIdx.x, threads = blockDim.x;

    for (uint32_t i = thread; i < TOKEN_WARPS * LENGTHS; i += threads)
        b->before[i / LENGTHS][i % LENGTHS] = 0;
    __syncthreads();
    for (uint32_t group = thread / 32; group < TOKEN_WARPS; group += threads / 32)
        rank_codes(b, group);
    __syncthreads();
    if (thread < LENGTHS) {
        uint32_t sum = 0;
        for (uint32_t group = 0; group < TOKEN_WARPS; group++) {
            const uint32_t count = b->before[group][thread];
            b->before[group][thread] = sum;
            sum += count;
        }
        b->end[thread] = sum;
    }
    __syncthreads();
    if (thread == 0)
        *fine = first_codes(b);
    __syncthreads();
    for (uint32_t token = thread; token < CUSZ_TOKENS; token += threads) {
        const uint32_t length = b->length[token];
        const uint32_t rank = b->before[token / 32][length] + b->code[token];
        if (length == 0)
            continue;
        b->code[token] = (uint16_t)(b->first[length] + rank);
        b->sorted[b->at[length] + rank] = (uint16_t)token;
    }
    __syncthreads();
}

/* By a block: takes a part apart and makes its codes; h->fine: it keeps to the rules. */
__device__ inline void load_part(const uint8_t *in, uint32_t length, head *h, book *b)
{
    for (uint32_t token = threadIdx.x; token < TOKENS; token += blockDim.x)
        b->length[token] = 0;
    __syncthreads();
    if (threadIdx.x == 0)
        h->fine = read_head(in, length, h);
    __syncthreads();
    if (threadIdx.x < 32 && h->fine) {
        const bool fine = read_lengths(in + h->lengths_at, length - h->lengths_at, b);
        __syncwarp();
        h->fine = fine;
    }
    __syncthreads();
    if (h->fine)
        make_codes(b, &h->fine);
}
} // namespace bale_cusz

#endif
