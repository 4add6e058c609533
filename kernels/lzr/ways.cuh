/* lzr on the device: the parse of level 2, the cheapest way through the matches that were found. */
#ifndef BALE_KERNELS_LZR_WAYS_CUH
#define BALE_KERNELS_LZR_WAYS_CUH

#include "kernels/lzr/full.cuh"
#include "kernels/lzr/parse.cuh"

namespace bale_lzr
{
/* Prices in 1/16 bit. */
constexpr uint32_t BIT = 16;
constexpr uint32_t LITERAL_PRICE_MOST = 12 * BIT;
constexpr uint32_t LENGTH_PRICE = 50; /* of a match class, and of the run before it; */
constexpr uint32_t CLASS_PRICE = 2;   /* and more for each class */
constexpr uint32_t OFFSET_PRICE = 80; /* of an offset class */
constexpr uint32_t REPEAT_PRICE = 32;
constexpr uint32_t WARM_UP_WAYS = 64; /* bytes behind a thread's own, where it begins */

/* By a block: prices. A literal's is from the bytes that no match covers. */
__device__ inline void set_prices(full_shared *f, uint32_t length, const uint32_t *found)
{
    constexpr uint32_t TOGETHER = 4; /* positions */
    uint32_t total;

    if (threadIdx.x < 256)
        f->literals[threadIdx.x] = 0;
    __syncthreads();
    for (uint32_t p = TOGETHER * threadIdx.x; p - TOGETHER * lane() < length;
         p += TOGETHER * ENCODE_THREADS) {
        const uint4 four = p < length ? *(const uint4 *)(found + p) : uint4{};
        const uint32_t of[TOGETHER] = {four.x, four.y, four.z, four.w};
        uint32_t upto = 0; /* the end of a match that begins before */
#pragma unroll
        for (uint32_t k = 0; k < TOGETHER; k++)
            upto = max(upto, p + k < length && of[k] != 0 ? p + k + (of[k] >> 16) : 0);
        for (uint32_t by = 1; by < 32; by *= 2) {
            const uint32_t other = __shfl_up_sync(ALL, upto, by);
            if (lane() >= by)
                upto = max(upto, other);
        }
        const uint32_t left = __shfl_up_sync(ALL, upto, 1);
        upto = lane() > 0 ? left : 0;
#pragma unroll
        for (uint32_t k = 0; k < TOGETHER; k++) {
            if (p + k >= length)
                break;
            if (of[k] != 0)
                upto = max(upto, p + k + (of[k] >> 16));
            if (p + k >= upto)
                atomicAdd(&f->literals[f->s.byte(p + k)], 1u);
        }
    }
    __syncthreads();
    const uint32_t count = threadIdx.x < 256 ? f->literals[threadIdx.x] : 0;
    (void)block_sum(count, f->s.sums, &total);
    if (threadIdx.x < 256)
        f->literal_price[threadIdx.x] = (uint16_t)min(
            LITERAL_PRICE_MOST,
            (bale_rans::log2_q16(16 * total + 16) - bale_rans::log2_q16(16 * count + 1)) >> 12);
    for (uint32_t i = threadIdx.x; i <= MATCH_MOST; i += ENCODE_THREADS) {
        const uint32_t c = i < LENGTH_NONE ? 1 : class_of_length(i);
        f->length_price[i] = (uint16_t)(LENGTH_PRICE + CLASS_PRICE * c + BIT * match_class(c).bits);
    }
    __syncthreads();
}

__device__ inline uint32_t price_of_offset(uint32_t offset)
{
    return OFFSET_PRICE + BIT * (max(log2_of(offset), 2u) - 2);
}

/* A thread on its way from the end of its bytes to their begin: the match that is known at a
 * position, and the first one of the cheapest way from there. Both go on to the left as long as bytes
 * agree, and keep where they end: so what the way costs from there on does not change. */
class way_finder
{
  public:
    /* start: from there on nothing is counted. limit: no match reaches beyond. */
    __device__ way_finder(full_shared *f, uint32_t start, uint32_t limit)
        : f_(f), costs_(f->s.costs + 2 * threadIdx.x), start_(start), limit_(limit)
    {
    }

    __device__ void begin()
    {
        *cost_at(start_) = 0;
    }

    /* The positions of [first, end), both multiples of 4, the last first. With TAKES what is chosen
     * replaces what was found, and its bits are set. */
    template <bool TAKES> __device__ void find(uint32_t first, uint32_t end, uint32_t *found)
    {
        uint32_t taken = 0;

        for (uint32_t p = end; p > first;) {
            p -= 4;
            const uint4 four = *(const uint4 *)(found + p);
            const uint32_t bytes = f_->s.bytes(p);
            uint4 chosen;
            chosen.w = step(p + 3, bytes >> 24, four.w);
            chosen.z = step(p + 2, bytes >> 16 & 255, four.z);
            chosen.y = step(p + 1, bytes >> 8 & 255, four.y);
            chosen.x = step(p, bytes & 255, four.x);
            if (!TAKES)
                continue;
            *(uint4 *)(found + p) = chosen;
            taken |= ((uint32_t)(chosen.x != 0) | (uint32_t)(chosen.y != 0) << 1 |
                      (uint32_t)(chosen.z != 0) << 2 | (uint32_t)(chosen.w != 0) << 3)
                     << p % 32;
            if (p % 32 == 0) {
                f_->taken[p / 32] = taken;
                taken = 0;
            }
        }
    }

  private:
    /* Those of even places are the low halves of words, so that threads do not wait for each other. */
    __device__ uint16_t *cost_at(uint32_t p) const
    {
        return costs_ + p / 2 % (REACH / 2) * (2 * LANES) + p % 2;
    }

    /* behind: the cost from behind the match at p. */
    __device__ void offer(uint32_t p, uint32_t length, uint32_t offset, uint32_t price,
                          uint32_t behind)
    {
        const bool repeats = offset == last_ && p + length <= next_;
        const uint32_t cost = behind + f_->length_price[length] + (repeats ? REPEAT_PRICE : price);

        if (cost < cost_) {
            cost_ = cost;
            chosen_ = offset | length << 16;
        }
    }

    /* Whether the byte at p is that one so far before it. */
    __device__ bool agrees(uint32_t p, uint32_t byte, uint32_t offset) const
    {
        return p >= offset && f_->s.byte(p - offset) == byte;
    }

    /* The best match at p: the one found there, or that of p + 1. */
    __device__ void inherit(uint32_t p, uint32_t byte, uint32_t found)
    {
        const uint32_t found_length = min(found >> 16, limit_ - p);
        const uint32_t rank = found_length >= LEAST ? rank_of(found_length, found & 0xffff) : 0;

        length_ = length_ > 0 && agrees(p, byte, offset_) ? min(length_ + 1, MATCH_MOST) : 0;
        if (rank > rank_of(length_, offset_)) {
            length_ = found_length;
            offset_ = found & 0xffff;
            price_ = price_of_offset(offset_);
            behind_ = *cost_at(min(p + length_, start_));
            behind_less_ = *cost_at(min(p + length_ - 1, start_));
        }
    }

    /* The first match of the cheapest way from p + 1: how far its offset agrees. */
    __device__ void repeat(uint32_t p, uint32_t byte)
    {
        if (last_ == 0 || !agrees(p, byte, last_)) {
            last_length_ = 0;
            return;
        }
        if (last_length_ == 0)
            last_behind_ = cost_;
        last_length_ = min(last_length_ + 1, MATCH_MOST);
    }

    /* Returns the match that the cheapest way begins with, or 0. */
    __device__ uint32_t step(uint32_t p, uint32_t byte, uint32_t found)
    {
        chosen_ = 0;
        if (p >= start_)
            return 0;
        inherit(p, byte, found);
        repeat(p, byte);
        cost_ += f_->literal_price[byte];
        if (length_ >= LEAST)
            offer(p, length_, offset_, price_, behind_);
        if (length_ > LEAST)
            offer(p, length_ - 1, offset_, price_, behind_less_);
        if (last_length_ >= LENGTH_NONE)
            offer(p, last_length_, last_, last_price_, last_behind_);
        if (chosen_ != 0) {
            next_ = p;
            if ((chosen_ & 0xffff) != last_) {
                last_ = offset_;
                last_length_ = length_;
                last_price_ = price_;
                last_behind_ = behind_;
            }
        }
        *cost_at(p) = (uint16_t)cost_;
        return chosen_;
    }

    full_shared *f_;
    uint16_t *costs_;
    uint32_t start_, limit_;
    uint32_t cost_ = 0, chosen_ = 0; /* from the position on; the match there, or 0 */
    /* Of the match: length 0: there is none. What the way costs behind it, and a byte before that. */
    uint32_t offset_ = 1, length_ = 0, price_ = 0, behind_ = 0, behind_less_ = 0;
    /* Of the first match of the cheapest way: how many bytes agree at the position with its offset.
     * Where the match begins. */
    uint32_t last_ = 0, last_length_ = 0, last_price_ = 0, last_behind_ = 0, next_ = 0;
};

__device__ inline uint32_t round_up(uint32_t value, uint32_t to)
{
    return (value + to - 1) / to * to;
}

/* By a block: replaces the matches that were found by those that the cheapest ways begin with. A
 * thread begins some bytes behind its own, where the costs are not known yet; what it chooses there
 * does not count. */
__device__ inline void find_ways(full_shared *f, uint32_t length, uint32_t *found)
{
    const uint32_t begin = min(threadIdx.x * LANE, length), end = min(begin + LANE, length);
    const uint32_t limit = min((begin / SEGMENT + 1) * SEGMENT, length);
    const uint32_t start = min(end + WARM_UP_WAYS, limit);
    way_finder way(f, start, limit);

    if (begin < length) {
        way.begin();
        way.find<false>(round_up(end, 4), round_up(start, 4), found);
    }
    __syncthreads();
    if (begin < length)
        way.find<true>(begin, round_up(end, 4), found);
    __syncthreads();
}

/* By a thread: follows what was chosen from p on up to `end`. visit(at, length, offset) is called
 * for each match. Returns where the next token begins. */
template <typename VISIT>
__device__ inline uint32_t follow(const full_shared *f, const uint32_t *chosen, uint32_t p,
                                  uint32_t end, VISIT visit)
{
    uint32_t upto = p;

    for (uint32_t matches = 0; p < end && matches < MATCHES_MOST;) {
        const uint32_t taken = f->taken[p / 32] >> p % 32;
        if (taken == 0) {
            p = (p | 31) + 1;
            continue;
        }
        p += (uint32_t)__ffs((int)taken) - 1;
        if (p >= end)
            break;
        const uint32_t match = chosen[p];
        visit(p, match >> 16, match & 0xffff);
        p += match >> 16;
        upto = p;
        matches++;
    }
    return max(upto, end);
}

/* By a block: from the matches of all positions to sequences, of which it returns the number. */
__device__ inline uint32_t make_full_sequences(full_shared *f, uint32_t length, uint32_t *found,
                                               uint32_t *to)
{
    const uint32_t start = min(threadIdx.x * STRETCH, length), end = min(start + STRETCH, length);

    set_prices(f, length, found);
    find_ways(f, length, found);
    const stretch own = parse_stretches(
        start, end,
        [&](uint32_t p, uint32_t upto, auto visit) { return follow(f, found, p, upto, visit); },
        [](uint32_t, uint32_t, uint32_t, uint32_t) {});
    return write_sequences(&f->s, length, own, to,
                           [&](auto visit) { follow(f, found, own.entry, end, visit); });
}
} // namespace bale_lzr

#endif
