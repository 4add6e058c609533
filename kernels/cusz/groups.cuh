/* cusz on the device: the words of a chunk by groups, of which a warp has one at a time. */
#ifndef BALE_KERNELS_CUSZ_GROUPS_CUH
#define BALE_KERNELS_CUSZ_GROUPS_CUH

#include "kernels/cusz/subject.cuh"

namespace bale_cusz
{
/* Where the lanes of a warp exchange the words of a group. */
struct alignas(16) stage {
    uint64_t words[GROUP];
};

static_assert(EACH == 2 * LINE, "a lane loads two lines");

/* A lane's words of a group, folded. */
template <typename WORD> struct words_of_lane {
    WORD words[EACH];
    uint32_t there; /* so many, the first ones, are there; the others are 0 */

    __device__ void clear_rest()
    {
#pragma unroll
        for (uint32_t k = 0; k < EACH; k++)
            words[k] = k < there ? words[k] : 0;
    }

    /* The mask of those that are not zero. */
    __device__ uint32_t nonzero() const
    {
        uint32_t mask = 0;

#pragma unroll
        for (uint32_t k = 0; k < EACH; k++)
            mask |= (uint32_t)(words[k] != 0) << k;
        return mask;
    }

    /* All bits that one of them has. */
    __device__ WORD any_bits() const
    {
        WORD any = 0;

#pragma unroll
        for (uint32_t k = 0; k < EACH; k++)
            any |= words[k];
        return any;
    }
};

/* By a warp: negates a group's words, each one if the last one before it that is not zero is
 * negative (spec.md, Turning). */
template <typename WORD> __device__ inline void turn(WORD words[EACH])
{
    WORD last = 0;

#pragma unroll
    for (uint32_t k = 0; k < EACH; k++)
        last = words[k] != 0 ? words[k] : last;
    const uint32_t lower = __ballot_sync(ALL, last != 0) & bale_warp::lower_lanes();
    const uint32_t negative = __ballot_sync(ALL, (last >> (8 * sizeof last - 1)) != 0);
    /* That of the last lane before this one that has a word other than 0. */
    WORD sign = 0 - (WORD)((lower & negative) > (lower & ~negative));
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
        const WORD word = words[k];
        words[k] = (word ^ sign) - sign;
        sign = word != 0 ? 0 - (word >> (8 * sizeof word - 1)) : sign;
    }
}

/* By a warp: goes through words of a chunk, a group at a time. */
template <typename WORD, bool QUICK> class group_reader
{
  public:
    __device__ group_reader(const differences<WORD, QUICK> &d, stage *s, uint32_t begin)
        : d_(d), stage_((WORD *)s->words)
    {
        begin_at(begin);
    }

    /* Of which at() is used first. */
    __device__ group_reader(const differences<WORD, QUICK> &d, stage *s)
        : d_(d), stage_((WORD *)s->words), at_(UINT32_MAX)
    {
    }

    /* The words of a group that begins there: quickly, if it is the next one. */
    __device__ words_of_lane<WORD> at(uint32_t begin, uint32_t end)
    {
        if (begin != at_)
            begin_at(begin);
        return next(end);
    }

    /* The lane's next words, as far as they are before end. */
    __device__ words_of_lane<WORD> next(uint32_t end)
    {
        const uint32_t lane = bale_warp::lane(), first = at_ + EACH * lane;
        words_of_lane<WORD> own;

        if (QUICK && at_ / GROUP + 1 - before_listed_ == 32)
            look_for_listed();
        fill_stage();
        load_side_by_side(own.words);
        const WORD last = own.words[EACH - 1], other = __shfl_up_sync(ALL, last, 1);
        const WORD left = lane == 0 ? before_ : other;
        before_ = __shfl_sync(ALL, last, 31);
        if (d_.order > 0) {
#pragma unroll
            for (uint32_t k = EACH - 1; k > 0; k--)
                own.words[k] -= own.words[k - 1];
            own.words[0] -= left;
        }
        if (d_.turned)
            turn(own.words);
#pragma unroll
        for (uint32_t k = 0; k < EACH; k++)
            own.words[k] = folded(own.words[k]);
        own.there = first < end ? min(end - first, EACH) : 0;
        if (end - at_ < GROUP)
            own.clear_rest();
        at_ += GROUP;
        return own;
    }

  private:
    /* QUICK: finds out which of the next groups and the one before depend on listed elements. */
    __device__ void look_for_listed()
    {
        before_listed_ = at_ / GROUP;
        listed_ = __ballot_sync(ALL, d_.depends_on_listed(before_listed_ - 1 + bale_warp::lane()));
    }

    /* Whether quick words do not do for a group: the next one, or the one before. */
    __device__ bool is_exact(uint32_t group) const
    {
        return QUICK && listed_ >> (group + 1 - before_listed_) & 1;
    }

    __device__ void fill_stage() const
    {
        const uint32_t lane = bale_warp::lane();
        const bool exact = is_exact(at_ / GROUP);
        WORD v[EACH];

        if (!exact && d_.has_lines()) {
            d_.lines(at_ + LINE * lane, at_ + 32 * LINE + LINE * lane, v);
            __syncwarp();
            store_line(LINE * lane, v);
            store_line(32 * LINE + LINE * lane, v + LINE);
        } else {
            if (exact)
                d_.exactly().template columns<EACH>(at_, v);
            else
                d_.template columns<EACH>(at_, v);
            __syncwarp();
#pragma unroll
            for (uint32_t k = 0; k < EACH; k++)
                stage_[32 * k + lane] = v[k];
        }
        __syncwarp();
    }

    __device__ void store_line(uint32_t i, const WORD v[LINE]) const
    {
        uint4 *to = (uint4 *)(stage_ + i);

#pragma unroll
        for (uint32_t k = 0; k < LINE * sizeof(WORD) / sizeof *to; k++) {
            uint4 some;
            memcpy(&some, (const uint8_t *)v + k * sizeof some, sizeof some);
            to[k] = some;
        }
    }

    __device__ void load_side_by_side(WORD words[EACH]) const
    {
        const uint4 *from = (const uint4 *)(stage_ + EACH * bale_warp::lane());

#pragma unroll
        for (uint32_t k = 0; k < EACH * sizeof(WORD) / sizeof *from; k++) {
            const uint4 some = from[k];
            memcpy((uint8_t *)words + k * sizeof some, &some, sizeof some);
        }
    }

    __device__ void begin_at(uint32_t at)
    {
        at_ = at;
        before_ = 0;
        if (QUICK)
            look_for_listed();
        if (at >= GROUP && d_.order > 0) {
            if (is_exact(at / GROUP - 1))
                d_.exactly().template columns<1>(at - 32, &before_);
            else
                d_.template columns<1>(at - 32, &before_);
            before_ = __shfl_sync(ALL, before_, 31);
        }
    }

    const differences<WORD, QUICK> &d_;
    WORD *stage_;
    uint32_t at_;
    WORD before_;
    uint32_t before_listed_, listed_; /* QUICK: a bit for each group from before_listed_ - 1 on */
};

/* By a warp: the zeros directly before the lane's first word that is not zero, up to the one before
 * it. nonzero: which of its words are not; any: the lanes that have some; open: zeros before the
 * group. */
__device__ inline uint32_t zeros_before(uint32_t nonzero, uint32_t any, uint32_t open)
{
    const uint32_t lane = bale_warp::lane(), lower = any & bale_warp::lower_lanes();
    const uint32_t other = lower ? 31 - (uint32_t)__clz((int)lower) : 0;
    const uint32_t behind = __shfl_sync(ALL, (uint32_t)__clz((int)nonzero) - (32 - EACH), other);
    const uint32_t own = (uint32_t)__ffs((int)nonzero) - 1;

    return own + (lower ? behind + EACH * (lane - other - 1) : open + EACH * lane);
}

/* By a warp: words of a group up to the last one that is not zero; 0: all are zeros. */
__device__ inline uint32_t words_upto_last(uint32_t nonzero, uint32_t any)
{
    const uint32_t last = any ? 31 - (uint32_t)__clz((int)any) : 0;

    return __shfl_sync(ALL, nonzero ? EACH * bale_warp::lane() + 32 - __clz((int)nonzero) : 0u,
                       last);
}

/* The token of a folded word that is not zero; *low: how many of its low bits follow. */
template <typename WORD> __device__ inline uint32_t token_of(WORD folded, uint32_t *low)
{
    *low = 0;
    if (folded < CUSZ_LITERALS)
        return CUSZ_RUNS - 1 + (uint32_t)folded;
    const uint32_t upper = (uint32_t)((uint64_t)folded >> 32);
    const uint32_t log2 = upper ? 63 - __clz((int)upper) : 31 - __clz((int)(uint32_t)folded);
    *low = log2 - 2;
    return CUSZ_CLASSES + 4 * (log2 - CUSZ_CLASS_LOG2) + ((uint32_t)(folded >> *low) & 3);
}
} // namespace bale_cusz

#endif
