/* lzr (spec.md) on the device: from the sequences of a turn to bytes, by a thread for each
 * sequence. */
#ifndef BALE_KERNELS_LZR_PLACE_CUH
#define BALE_KERNELS_LZR_PLACE_CUH

#include "kernels/codec/barrier.cuh"
#include "kernels/lzr/head.cuh"

namespace bale_lzr
{
constexpr uint32_t AHEAD = 4;                /* bytes that a lane loads before it stores them */
constexpr uint32_t LONG = 16;                /* bytes; a longer match is copied by all lanes */
constexpr uint32_t OF_WARP_BEFORE = 1 << 16; /* + k: the offset of the sequence k before its last */

/* By the placers: waits for all of them; whether one came with true. */
__device__ inline bool is_any(bool value)
{
    return bale_barrier::any(1, PLACERS, value);
}

/* A sequence of a thread. */
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

/* By a warp: the offset of each lane's sequence, or OF_WARP_BEFORE. */
__device__ inline uint32_t resolve_in_warp(const sequence &q)
{
    uint32_t offset = q.offset;
    int from = (int)lane() - (int)q.back;

    if (offset == 0 && from < 0)
        offset = OF_WARP_BEFORE + (uint32_t)(-1 - from);
    while (__any_sync(ALL, offset == 0)) {
        const uint32_t found = __shfl_sync(ALL, offset, from);
        const int further = __shfl_sync(ALL, from, from);
        if (offset == 0) {
            offset = found;
            from = further;
        }
    }
    return offset;
}

/* By a warp: notes what the next warp may refer to. lanes: its sequences. */
__device__ inline void note_last(placing *p, uint32_t warp, uint32_t lanes, uint32_t offset)
{
    for (uint32_t k = 0; k < REPEATS; k++) {
        const uint32_t own = __shfl_sync(ALL, offset, (int)(lanes - 1 - k));
        if (lane() == 0)
            p->last[warp + 1][k] = k < lanes ? own : OF_WARP_BEFORE + k - lanes;
    }
}

/* An offset as a warp before has it. */
__device__ inline uint32_t resolve(const placing *p, uint32_t warp, uint32_t offset)
{
    for (; offset >= OF_WARP_BEFORE; warp--)
        offset = p->last[warp][offset - OF_WARP_BEFORE];
    return offset;
}

/* By a thread: copies bytes that do not overlap. */
__device__ inline void copy_run(uint8_t *to, const uint8_t *from, uint32_t length)
{
    for (uint32_t n = 0; n < length; n += AHEAD) {
        uint8_t bytes[AHEAD];
#pragma unroll
        for (uint32_t k = 0; k < AHEAD; k++)
            bytes[k] = n + k < length ? from[n + k] : 0;
#pragma unroll
        for (uint32_t k = 0; k < AHEAD; k++)
            if (n + k < length)
                to[n + k] = bytes[k];
    }
}

/* By a thread: copies a match whose source ends before it, or at it if it reaches into itself. */
__device__ inline void copy_match(uint8_t *to, uint32_t length, uint32_t offset)
{
    const uint8_t *from = to - offset;
    uint32_t at = 0;

    if (offset >= length) {
        copy_run(to, from, length);
        return;
    }
    for (uint32_t n = 0; n < length; n++) {
        to[n] = from[at];
        at = at + 1 == offset ? 0 : at + 1;
    }
}

/* By a warp: the same, of a match that is the same for all lanes. */
__device__ inline void copy_long(uint8_t *to, uint32_t length, uint32_t offset)
{
    for (uint32_t n = lane(); n < length; n += 32)
        to[n] = *(to - offset + (n < offset ? n : n % offset));
}

/* The first of the ascending places that is more than `at`, or PLACERS. */
__device__ inline uint32_t find(const uint32_t *places, uint32_t at)
{
    uint32_t i = 0; /* all before it are not */

    for (uint32_t by = PLACERS; by > 0; by /= 2)
        if (i + by <= PLACERS && places[i + by - 1] <= at)
            i += by;
    return i;
}

/* Whether one of the sequences [first, end) is pending. */
__device__ inline bool is_any_pending(const uint32_t *pending, uint32_t first, uint32_t end)
{
    for (uint32_t word = first / 32; 32 * word < end; word++) {
        uint32_t mask = pending[word];
        if (32 * word < first)
            mask &= ~0u << first % 32;
        if (end - 32 * word < 32)
            mask &= (1u << (end - 32 * word)) - 1;
        if (mask != 0)
            return true;
    }
    return false;
}

/* By the placers: copies the matches of a turn, in passes: those whose sources are not part of a
 * match that is not copied yet. at: the turn's first byte; to: where the thread's match goes. */
__device__ inline void copy_matches(shared *s, uint32_t at, uint32_t to, uint32_t length,
                                    uint32_t offset)
{
    placing *p = &s->place;
    const uint32_t warp = (threadIdx.x - DECODERS) / 32, from = to - offset;
    const uint32_t source_end = from + min(length, offset);
    uint32_t first = 0, end = 0;
    bool left = length > 0;

    if (left && source_end > at) {
        first = find(p->end, from);
        end = find(p->begin, source_end - 1);
    }
    for (uint32_t pass = 0;; pass++) {
        const bool now = left && !is_any_pending(p->pending[pass % 2], first, end);
        if (now && length <= LONG)
            copy_match(s->window + to, length, offset);
        for (uint32_t longer = __ballot_sync(ALL, now && length > LONG); longer != 0;
             longer &= longer - 1) {
            const int i = __ffs((int)longer) - 1;
            copy_long(s->window + __shfl_sync(ALL, to, i), __shfl_sync(ALL, length, i),
                      __shfl_sync(ALL, offset, i));
        }
        left = left && !now;
        const uint32_t mask = __ballot_sync(ALL, left);
        if (lane() == 0)
            p->pending[(pass + 1) % 2][warp] = mask;
        if (!is_any(left))
            return;
    }
}

/* By the placers: writes the bytes of a turn, from *at on, and moves *at behind them. False, for
 * all threads: it is corrupt. p->last[0]: the last offsets before the turn. */
__device__ inline bool place_turn(shared *s, const group *groups, uint32_t raw_length, uint32_t *at)
{
    placing *p = &s->place;
    const uint32_t i = threadIdx.x - DECODERS, warp = i / 32, own = i % GROUP;
    const group *g = &groups[i / GROUP];
    const uint32_t first = own - lane(), lanes = g->count > first ? min(g->count - first, 32u) : 0;
    sequence q = {0, 0, 1, 0};

    if (lane() < lanes)
        q = sequence_of(g->classes[own], g->raw[own]);
    const uint32_t runs = bale_warp::inclusive_sum(q.run);
    const uint32_t bytes = bale_warp::inclusive_sum(q.run + q.length);
    uint32_t offset = resolve_in_warp(q);
    note_last(p, warp, lanes, offset);
    if (lane() == 31) {
        p->runs[warp] = runs;
        p->bytes[warp] = bytes;
    }
    (void)is_any(false);
    const uint32_t all_runs =
        lane() < warp && lane() / (GROUP / 32) == i / GROUP ? p->runs[lane()] : 0;
    const uint32_t all_bytes = lane() < PLACING_WARPS ? p->bytes[lane()] : 0;
    const uint32_t place =
        *at + __reduce_add_sync(ALL, lane() < warp ? all_bytes : 0) + bytes - q.run - q.length;
    const uint32_t end = *at + __reduce_add_sync(ALL, all_bytes), to = place + q.run;
    const uint8_t *literal = g->literals + __reduce_add_sync(ALL, all_runs) + runs - q.run;
    offset = resolve(p, warp, offset);
    const bool fine = end <= raw_length && (q.length == 0 || offset <= to);
    if (end <= raw_length)
        copy_run(s->window + place, literal, q.run);
    p->begin[i] = to;
    p->end[i] = to + q.length;
    const uint32_t mask = __ballot_sync(ALL, q.length > 0);
    if (lane() == 0)
        p->pending[0][warp] = mask;
    const uint32_t last = i < REPEATS ? resolve(p, PLACING_WARPS, OF_WARP_BEFORE + i) : 0;
    if (is_any(!fine))
        return false;
    if (i < REPEATS)
        p->last[0][i] = last;
    copy_matches(s, *at, to, q.length, offset);
    *at = end;
    return true;
}
} // namespace bale_lzr

#endif
