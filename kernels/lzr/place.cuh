/* lzr (spec.md) on the device: from sequences to bytes. A warp plans a turn: it makes offsets and
 * places, and puts the literals into the window. Another one copies the matches. */
#ifndef BALE_KERNELS_LZR_PLACE_CUH
#define BALE_KERNELS_LZR_PLACE_CUH

#include "kernels/lzr/head.cuh"

namespace bale_lzr
{
/* By a warp: a sequence of each lane. */
struct sequence {
    uint32_t run, length;
    uint32_t offset; /* 0: that of the sequence `back` before */
    uint32_t back;
};

__device__ inline uint32_t take(uint32_t *raw, value_class c)
{
    const uint32_t value = c.base + (*raw & ((1u << c.bits) - 1));

    *raw >>= c.bits;
    return value;
}

/* A sequence without a match repeats the offset before it: its offset class is 0, too. */
__device__ inline sequence sequence_of(uint32_t classes, uint32_t raw)
{
    const uint32_t offsets = classes >> 16;
    sequence made;

    made.offset = take(&raw, offset_class(offsets));
    made.length = take(&raw, match_class(classes >> 8 & 255));
    made.run = take(&raw, run_class(classes & 255));
    made.back = offsets + 1;
    return made;
}

/* The plan so far, in the registers of a warp. */
class planner
{
  public:
    __device__ planner(shared *s, uint32_t raw_length) : s_(s), raw_length_(raw_length)
    {
    }

    __device__ uint32_t at() const
    {
        return at_;
    }

    /* Plans a group, and places its literals. False, for all lanes: it is corrupt. */
    __device__ bool plan(group *g, const uint8_t *literal)
    {
        for (uint32_t first = 0; first < g->count; first += 32) {
            const uint32_t lanes = min(g->count - first, 32u), i = first + lane();
            sequence q = {0, 0, 1, 0};
            if (lane() < lanes)
                q = sequence_of(g->classes[i], g->raw[i]);
            q.offset = resolve(q, lanes);
            const uint32_t literals = bale_warp::inclusive_sum(q.run);
            const uint32_t bytes = bale_warp::inclusive_sum(q.run + q.length);
            const uint32_t place = at_ + bytes - q.run - q.length, to = place + q.run;
            at_ += __shfl_sync(ALL, bytes, 31);
            if (__any_sync(ALL, at_ > raw_length_ || (q.length > 0 && q.offset > to)))
                return false;
            for (uint32_t n = 0; n < q.run; n++)
                s_->window[place + n] = literal[literals - q.run + n];
            literal += __shfl_sync(ALL, literals, 31);
            if (lane() < lanes) {
                g->raw[i] = q.length > 0 ? to | q.length << 16 : 0;
                g->classes[i] = q.offset;
            }
        }
        return true;
    }

  private:
    /* The offset of the lane's sequence. */
    __device__ uint32_t resolve(const sequence &q, uint32_t lanes)
    {
        uint32_t offset = q.offset;
        int from = (int)lane() - (int)q.back;

        if (offset == 0 && from < 0)
            offset = from == -1 ? last_[0] : from == -2 ? last_[1] : last_[2];
        while (__any_sync(ALL, offset == 0)) {
            const uint32_t found = __shfl_sync(ALL, offset, from);
            const int further = __shfl_sync(ALL, from, from);
            if (offset == 0) {
                offset = found;
                from = further;
            }
        }
        for (uint32_t k = 0; k < REPEATS; k++) {
            const uint32_t behind = __shfl_sync(ALL, offset, (int)(lanes - 1 - k));
            next_[k] = k < lanes ? behind : last_[k - lanes];
        }
        for (uint32_t k = 0; k < REPEATS; k++)
            last_[k] = next_[k];
        return offset;
    }

    shared *s_;
    uint32_t raw_length_;
    uint32_t at_ = 0;
    uint32_t last_[REPEATS] = {1, 4, 8}, next_[REPEATS];
};

constexpr uint32_t LONG = 32; /* bytes; a longer match is copied by all lanes */
constexpr uint32_t AHEAD = 8; /* bytes that a lane loads before it stores them */

/* By a warp: copies a match, the same for all lanes, whose source ends before it. */
__device__ inline void copy_long(uint8_t *window, uint32_t to, uint32_t length, uint32_t offset)
{
    for (uint32_t n = lane(); n < length; n += 32)
        window[to + n] = window[to - offset + (n < offset ? n : n % offset)];
}

/* By a warp: copies the match of each lane, LONG bytes at most; the sources end before the first of
 * them. */
__device__ inline void copy_short(uint8_t *window, uint32_t to, uint32_t length, uint32_t offset)
{
    const uint8_t *from = window + to - offset;
    uint32_t at = 0;

    for (uint32_t n = 0; __any_sync(ALL, n < length); n += AHEAD) {
        uint8_t bytes[AHEAD];
#pragma unroll
        for (uint32_t k = 0; k < AHEAD; k++) {
            bytes[k] = n + k < length ? from[at] : 0;
            at = at + 1 == offset ? 0 : at + 1;
        }
#pragma unroll
        for (uint32_t k = 0; k < AHEAD; k++)
            if (n + k < length)
                window[to + n + k] = bytes[k];
    }
}

/* By a warp: copies the matches of a group that was planned, 32 at a time: in each pass those whose
 * sources end before the first that is not copied yet. */
__device__ inline void copy_matches(const group *g, uint8_t *window)
{
    for (uint32_t first = 0; first < g->count; first += 32) {
        const bool there = first + lane() < g->count;
        const uint32_t both = there ? g->raw[first + lane()] : 0;
        const uint32_t offset = there ? g->classes[first + lane()] : 1;
        const uint32_t to = both & 0xffff, length = both >> 16;
        uint32_t left = __ballot_sync(ALL, length > 0);

        while (left != 0) {
            const uint32_t border = __shfl_sync(ALL, to, __ffs((int)left) - 1);
            const bool ready =
                (left >> lane() & 1) != 0 && to - offset + min(length, offset) <= border;
            const uint32_t now = __ballot_sync(ALL, ready);
            uint32_t longer = __ballot_sync(ALL, ready && length > LONG);
            copy_short(window, to, ready && length <= LONG ? length : 0, offset);
            for (; longer != 0; longer &= longer - 1) {
                const int i = __ffs((int)longer) - 1;
                copy_long(window, __shfl_sync(ALL, to, i), __shfl_sync(ALL, length, i),
                          __shfl_sync(ALL, offset, i));
            }
            left &= ~now;
            __syncwarp();
        }
    }
}
} // namespace bale_lzr

#endif
