/* lzr on the device: the parse of level 2, the cheapest way through the matches that were found. */
#ifndef BALE_KERNELS_LZR_WAYS_CUH
#define BALE_KERNELS_LZR_WAYS_CUH

#include "kernels/lzr/parse.cuh"
#include "kernels/lzr/prices.cuh"

namespace bale_lzr
{
constexpr uint32_t WARM_UP_WAYS = 48;        /* bytes behind a thread's own, where it begins */
constexpr uint32_t NOWHERE = 1 << 16;        /* an offset with which nothing agrees */
constexpr uint32_t CUT_LEAST = 2 * MEASURED; /* of a match that may go on */
constexpr uint32_t SHORTER = 2;   /* a match may be so many bytes shorter than it could be */
constexpr uint32_t TOGETHER = 16; /* positions, whose bytes are loaded together */
static_assert((LANE + WARM_UP_WAYS) * LITERAL_MOST < PRICE_OF_NONE, "the most that a way costs");
static_assert(LANE + WARM_UP_WAYS + 2 * MEASURED <= MATCH_MOST, "no match becomes longer");

/* A thread on its way from the end of its bytes to their begin: the match that is known at a
 * position, and the first one of the cheapest way from there. Both go on to the left as long as
 * bytes agree, and keep where they end: so what the way costs from there on does not change. */
class way_finder
{
  public:
    /* start: where it begins. limit: no match reaches beyond. */
    __device__ way_finder(full_shared *f, uint32_t start, uint32_t limit)
        : f_(f), costs_(f->s.costs + 2 * threadIdx.x), start_(start), limit_(limit)
    {
    }

    __device__ void begin()
    {
        *cost_at(start_) = 0;
    }

    /* The positions of [first, end), both multiples of TOGETHER, the last first. Unless it is NULL,
     * what is chosen goes to `chosen`, which may be `found`, and its bits are set. */
    __device__ void find(uint32_t first, uint32_t end, const uint32_t *found, uint32_t *chosen)
    {
        uint32_t taken = 0;
        uint4 next = end > first ? *(const uint4 *)(found + end - 4) : uint4{};

        for (uint32_t p = end; p > first;) {
            uint4 raw = *(const uint4 *)(f_->s.words + (p - TOGETHER + BEFORE_BYTES) / 4);
#pragma unroll 1
            for (uint32_t k = 0; k < TOGETHER / 4; k++) {
                const uint4 now = next;
                const uint32_t bytes = raw.w;
                raw = uint4{0, raw.x, raw.y, raw.z};
                p -= 4;
                if (p > first)
                    next = *(const uint4 *)(found + p - 4);
                uint4 here;
                uint16_t *costs = cost_at(p);
                here.w = step(p + 3, bytes >> 24, now.w, costs + 2 * LANES + 1);
                here.z = step(p + 2, bytes >> 16 & 255, now.z, costs + 2 * LANES);
                here.y = step(p + 1, bytes >> 8 & 255, now.y, costs + 1);
                here.x = step(p, bytes & 255, now.x, costs);
                taken = taken << 4 | (uint32_t)(here.x != 0) | (uint32_t)(here.y != 0) << 1 |
                        (uint32_t)(here.z != 0) << 2 | (uint32_t)(here.w != 0) << 3;
                if (chosen)
                    *(uint4 *)(chosen + p) = here;
                if (chosen && p % 32 == 0)
                    f_->taken[p / 32] = taken;
            }
        }
    }

  private:
    /* Those of even places are the low halves of words, so that threads do not wait for each
     * other. */
    __device__ uint16_t *cost_at(uint32_t p) const
    {
        return costs_ + p / 2 % (REACH / 2) * (2 * LANES) + p % 2;
    }

    /* Whether the byte at p is that one so far before it. */
    __device__ bool agrees(uint32_t p, uint32_t byte, uint32_t offset) const
    {
        return (int)(p - offset) >= 0 && f_->s.byte(p - offset) == byte;
    }

    /* The best match at p: the one found there, or that of p + 1. */
    __device__ void inherit(uint32_t p, uint32_t byte, uint32_t found)
    {
        const uint32_t offset = found & 0xffff, length = min(found >> 16, limit_ - p);
        const bool goes_on = agrees(p, byte, offset_);

        price_of_less_[1] = price_of_less_[0];
        price_of_less_[0] = length_price_;
        length_ = goes_on ? length_ + 1 : 0;
        rank_ = goes_on ? rank_ + RANK_OF_BYTE : 0;
        offset_ = goes_on ? offset_ : NOWHERE;
        price_ = goes_on ? price_ : PRICE_OF_NONE;
        if (length >= LEAST && rank_of(length, offset) > rank_) {
            rank_ = rank_of(length, offset);
            length_ = length;
            offset_ = offset;
            price_ = f_->offset_price[log2_of(offset)];
            behind_ = *cost_at(min(p + length, start_));
#pragma unroll
            for (uint32_t less = 1; less <= SHORTER; less++) {
                price_of_less_[less - 1] = f_->length_price[length - less];
                behind_less_[less - 1] = *cost_at(min(p + length - less, start_));
            }
        }
        length_price_ = f_->length_price[length_];
    }

    /* The first match of the cheapest way from p + 1: how far its offset agrees. */
    __device__ void repeat(uint32_t p, uint32_t byte)
    {
        last_behind_ = last_length_ == 0 ? cost_ : last_behind_;
        last_length_ = agrees(p, byte, last_) ? last_length_ + 1 : 0;
    }

    /* Returns the match that the cheapest way begins with, or 0. What is not offered has a price
     * that is too high. */
    __device__ uint32_t step(uint32_t p, uint32_t byte, uint32_t found, uint16_t *cost)
    {
        inherit(p, byte, found);
        repeat(p, byte);
        const uint32_t whole = behind_ + price_ + length_price_;
        const uint32_t again = last_behind_ + f_->length_price[last_length_] +
                               (p + last_length_ <= next_ ? f_->repeat_price : last_price_);

        cost_ += f_->literal_price[byte];
        uint32_t length = whole < cost_ ? length_ : 0;
        cost_ = min(cost_, whole);
#pragma unroll
        for (uint32_t less = 1; less <= SHORTER; less++) {
            const uint32_t shorter = behind_less_[less - 1] + price_ + price_of_less_[less - 1];
            length = shorter < cost_ ? length_ - less : length;
            cost_ = min(cost_, shorter);
        }
        const bool repeats = again < cost_;
        cost_ = repeats ? again : cost_;
        const bool changes = length > 0 && !repeats && offset_ != last_;
        next_ = length > 0 || repeats ? p : next_;
        const uint32_t chosen = repeats      ? last_ | last_length_ << 16
                                : length > 0 ? offset_ | length << 16
                                             : 0;
        last_ = changes ? offset_ : last_;
        last_length_ = changes ? length_ : last_length_;
        last_price_ = changes ? price_ : last_price_;
        last_behind_ = changes ? behind_ : last_behind_;
        *cost = (uint16_t)cost_;
        return chosen;
    }

    full_shared *f_;
    uint16_t *costs_;
    uint32_t start_, limit_;
    uint32_t cost_ = 0; /* from the position on */
    /* The match, if its length is not 0: how good it is; the prices of its offset and its length,
     * and of lengths that are so much less; what the way costs from its end on, and from so many
     * bytes before that. */
    uint32_t offset_ = NOWHERE, length_ = 0, rank_ = 0;
    uint32_t price_ = PRICE_OF_NONE, length_price_ = 0, price_of_less_[SHORTER] = {};
    uint32_t behind_ = 0, behind_less_[SHORTER] = {};
    /* The first match of the cheapest way: how many bytes agree at the position with its offset.
     * Where the match begins. */
    uint32_t last_ = NOWHERE, last_length_ = 0, last_price_ = 0, last_behind_ = 0, next_ = 0;
};

__device__ inline uint32_t round_up(uint32_t value, uint32_t to)
{
    return (value + to - 1) / to * to;
}

/* By a thread: follows what was chosen from p on up to `end`. A long match, which may have been cut
 * where a thread's bytes or what was measured of it ended, goes on as long as bytes agree, at most up
 * to `limit`; that is noted. visit(at, length, offset) is called for each match. Returns where the
 * next token begins. */
template <typename VISIT>
__device__ inline uint32_t follow(const full_shared *f, uint32_t *chosen, uint32_t p, uint32_t end,
                                  uint32_t limit, VISIT visit)
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
        const uint32_t match = chosen[p], offset = match & 0xffff;
        uint32_t n = match >> 16;
        if (n >= CUT_LEAST && n < MATCH_MOST) {
            n += agree(&f->s, p + n, p + n - offset, min(limit - p, MATCH_MOST) - n);
            chosen[p] = offset | n << 16;
        }
        visit(p, n, offset);
        p += n;
        upto = p;
        matches++;
    }
    return max(upto, end);
}

/* The bytes for which a thread finds the ways. */
struct way_range {
    uint32_t begin, end, start, limit;

    __device__ way_range(uint32_t index, uint32_t length)
        : begin(min(index * LANE, length)), end(min(begin + LANE, length)), start(), limit()
    {
        limit = (begin / SEGMENT + 1) * SEGMENT;
        end = round_up(end, TOGETHER);
        start = min(end + WARM_UP_WAYS, min(limit, round_up(length, TOGETHER)));
    }
};

/* By a block: replaces the matches that were found by those that the cheapest ways begin with. A
 * thread begins some bytes behind its own, where the costs are not known yet; what it chooses there
 * does not count. */
__device__ inline void find_ways(full_shared *f, uint32_t length, uint32_t *found)
{
    const way_range range(threadIdx.x, length);
    way_finder way(f, range.start, range.limit);

    if (range.begin < length) {
        way.begin();
        way.find(range.end, range.start, found, NULL);
    }
    __syncthreads();
    if (range.begin < length)
        way.find(range.begin, range.end, found, found);
    __syncthreads();
}

/* By a block: finds the ways of one thread's bytes in SAMPLED, and takes the prices from them.
 * scratch: BALE_CUDA_CELL / SAMPLED words. */
__device__ inline void learn_prices(full_shared *f, uint32_t length, const uint32_t *found,
                                    uint32_t *scratch)
{
    const way_range range(threadIdx.x * SAMPLED, length);

    if (threadIdx.x < LANES / SAMPLED && range.begin < length) {
        uint32_t *chosen = scratch + threadIdx.x * LANE - range.begin;
        uint32_t last = 0, upto = range.begin;
        way_finder way(f, range.start, range.limit);
        way.begin();
        way.find(range.end, range.start, found, NULL);
        way.find(range.begin, range.end, found, chosen);
        const auto count = [&](uint32_t at, uint32_t n, uint32_t offset) {
            for (; upto < at; upto++)
                atomicAdd(&f->literals[f->s.byte(upto)], 1u);
            atomicAdd(&f->lengths[class_of_length(n)], 1u);
            atomicAdd(&f->offsets[offset == last ? 0 : 1 + log2_of(offset)], 1u);
            upto = at + n;
            last = offset;
        };
        follow(f, chosen, range.begin, min(range.end, length), min(range.limit, length), count);
    }
    __syncthreads();
    prices_of_sample(f);
}

/* By a block: from the matches of all positions to sequences, of which it returns the number. */
__device__ inline uint32_t make_full_sequences(full_shared *f, uint32_t length, uint32_t *found,
                                               uint32_t *to)
{
    const uint32_t start = min(threadIdx.x * STRETCH, length), end = min(start + STRETCH, length);
    const uint32_t limit = min((start / SEGMENT + 1) * SEGMENT, length);

    first_prices(f, length, found);
    learn_prices(f, length, found, to);
    find_ways(f, length, found);
    const stretch own = parse_stretches(
        start, end,
        [&](uint32_t p, uint32_t upto, auto visit) {
            return follow(f, found, p, upto, limit, visit);
        },
        [](uint32_t, uint32_t, uint32_t, uint32_t) {});
    return write_sequences(&f->s, length, own, to,
                           [&](auto visit) { follow(f, found, own.entry, end, limit, visit); });
}
} // namespace bale_lzr

#endif
