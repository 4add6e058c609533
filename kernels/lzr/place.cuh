/* lzr (spec.md) on the device: from the sequences of a turn to bytes. First a thread for each
 * sequence finds where it begins; then, slice by slice of the window, threads for its bytes. */
#ifndef BALE_KERNELS_LZR_PLACE_CUH
#define BALE_KERNELS_LZR_PLACE_CUH

#include "kernels/codec/barrier.cuh"
#include "kernels/lzr/head.cuh"

namespace bale_lzr
{
constexpr uint32_t HOPS = 3;
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

/* A sequence of a turn, where its bytes lie. */
struct span {
    uint32_t at, end;
    uint32_t number; /* of those that have bytes, from 1 on; 0: it has none */
};

/* By the placers: mark the sequences of a turn that ends at `end`, in the stretch from `base` on. */
__device__ inline void mark(marks *m, uint32_t base, uint32_t end, const span &q)
{
    if (threadIdx.x == DECODERS && end % UNIT != 0 && end - base < MARKED)
        atomicOr(&m->begins[(end - base) / 32], 1u << (end - base) % 32);
    if (q.number == 0)
        return;
    if (q.at >= base && q.at - base < MARKED)
        atomicOr(&m->begins[(q.at - base) / 32], 1u << (q.at - base) % 32);
    for (uint32_t w = q.at < base ? 0 : (q.at - base) / 32 + 1;
         w < MARKED / 32 && base + 32 * w <= q.end; w++)
        m->numbers[w] = (uint16_t)q.number;
}

/* By a thread: sets the sources of its unit, and writes the unit's literals to the window. wraps:
 * there are matches that reach into themselves. */
__device__ inline void set_sources(uint8_t *window, const turn *t, const marks *m, uint32_t base,
                                   uint32_t first, bool wraps, uint32_t (&from)[UNIT])
{
    const uint32_t word = (first - base) / 32, bit = first - base - 32 * word;
    const uint32_t begins = m->begins[word] >> bit;
    const uint8_t *literals = t->literals[0]; /* those of the second stream follow */
    uint32_t i = m->numbers[word] + (uint32_t)__popc(m->begins[word] & ((1u << bit) - 1));
    place of[UNIT];

#pragma unroll
    for (uint32_t j = 0; j < UNIT; j++) {
        i += begins >> j & 1;
        of[j] = t->places[i];
    }
#pragma unroll
    for (uint32_t j = 0; j < UNIT; j++) {
        const uint32_t byte = first + j;
        const bool is_literal = byte < of[j].match;
        from[j] = is_literal ? byte : byte - (of[j].sources & 0xffff);
        if (is_literal)
            window[byte] = literals[(uint16_t)((of[j].sources >> 16) + byte)];
    }
    if (wraps)
#pragma unroll
        for (uint32_t j = 0; j < UNIT; j++) { /* such a match repeats the bytes before it */
            const uint32_t in_match = first + j - of[j].match, offset = of[j].sources & 0xffff;
            if (from[j] != first + j && in_match >= offset)
                from[j] -= in_match - in_match % offset;
        }
}

/* Four sources. */
__device__ inline two_sources joined(const uint32_t (&from)[UNIT])
{
    return {from[0] | from[1] << 16, from[2] | from[3] << 16};
}

/* By a warp: follows sources in the slice by one step. Whether one moved. */
__device__ inline bool follow(const uint16_t *sources, uint32_t base, uint32_t (&from)[UNIT])
{
    uint32_t next[UNIT];
    bool moved = false;

#pragma unroll
    for (uint32_t j = 0; j < UNIT; j++) { /* all loads before any is used */
        next[j] = from[j];
        if (from[j] >= base)
            next[j] = sources[from[j] - base];
    }
#pragma unroll
    for (uint32_t j = 0; j < UNIT; j++) {
        moved = moved || next[j] != from[j];
        from[j] = next[j];
    }
    return moved;
}

/* By the placers: follows sources until each is a literal or lies before the slice. Threads follow
 * theirs some steps at a time, then they note how far they are: so a chain takes passes as its
 * length's logarithm. */
__device__ inline void chase(slice_sources *sources, uint32_t base, bool there,
                             uint32_t (&from)[UNIT])
{
    for (;;) {
        bool moved = there;
        for (uint32_t hop = 0; hop < HOPS && __any_sync(ALL, moved); hop++)
            moved = there && follow(sources->of, base, from);
        if (!is_any(moved))
            return;
        if (there)
            sources->unit[threadIdx.x - DECODERS] = joined(from);
        (void)is_any(false);
    }
}

/* By the placers: writes the bytes of a slice, from `base` on; those of the turn are [low, high). */
__device__ inline void place_slice(shared *s, const turn *t, uint32_t marked, uint32_t base,
                                   uint32_t low, uint32_t high, bool wraps)
{
    const uint32_t i = threadIdx.x - DECODERS, first = base + UNIT * i;
    const bool there = first < high;
    uint32_t from[UNIT], bytes = 0;

    if (there) {
        set_sources(s->window, t, &s->marked, marked, first, wraps, from);
        s->sources.unit[i] = joined(from);
    }
    (void)is_any(false);
    if (i < SLICE / 32)
        s->marked.begins[(base - marked) / 32 + i] = 0;
    chase(&s->sources, base, there, from);
    if (there)
#pragma unroll
        for (uint32_t j = 0; j < UNIT; j++)
            bytes |= (uint32_t)s->window[from[j]] << 8 * j;
    (void)is_any(false);
    if (first >= low && first + UNIT <= high)
        *(uint32_t *)(s->window + first) = bytes;
    else
        for (uint32_t j = 0; j < UNIT; j++)
            if (first + j >= low && first + j < high)
                s->window[first + j] = (uint8_t)(bytes >> 8 * j);
}

/* By the placers: writes the bytes of a turn, from *at on, and moves *at behind them. False, for
 * all threads: it is corrupt. p->last[0]: the last offsets before the turn. */
__device__ inline bool place_turn(shared *s, turn *t, uint32_t raw_length, uint32_t *at)
{
    placing *p = &s->place;
    const uint32_t i = threadIdx.x - DECODERS, warp = i / 32, stream = i / GROUP;
    const uint32_t first = i % GROUP - lane(), count = t->count[stream];
    const uint32_t lanes = count > first ? min(count - first, 32u) : 0;
    sequence q = {0, 0, 1, 0};

    if (lane() < lanes)
        q = sequence_of(t->classes[i], t->raw[i]);
    const uint32_t runs = bale_warp::inclusive_sum(q.run);
    const uint32_t bytes = bale_warp::inclusive_sum(q.run + q.length);
    const bool there = q.run + q.length > 0;
    const uint32_t all_there = __ballot_sync(ALL, there);
    uint32_t offset = resolve_in_warp(q);
    note_last(p, warp, lanes, offset);
    if (lane() == 31) {
        p->runs[warp] = runs;
        p->bytes[warp] = bytes;
        p->there[warp] = (uint32_t)__popc(all_there);
    }
    (void)is_any(false);
    const uint32_t all_runs =
        lane() < warp && lane() / (GROUP / 32) == stream ? p->runs[lane()] : 0;
    const uint32_t all_bytes = lane() < PLACING_WARPS ? p->bytes[lane()] : 0;
    const uint32_t numbers = lane() < PLACING_WARPS ? p->there[lane()] : 0;
    const uint32_t begin = *at, end = begin + __reduce_add_sync(ALL, all_bytes);
    const uint32_t until = begin + __reduce_add_sync(ALL, lane() < warp ? all_bytes : 0) + bytes;
    const uint32_t own = until - q.run - q.length, match = until - q.length;
    const uint32_t literal =
        stream * (uint32_t)sizeof t->literals[0] + __reduce_add_sync(ALL, all_runs) + runs - q.run;
    const uint32_t number = 1 + __reduce_add_sync(ALL, lane() < warp ? numbers : 0) +
                            (uint32_t)__popc(all_there & bale_warp::lower_lanes());
    offset = resolve(p, warp, offset);
    const bool fine = end <= raw_length && (q.length == 0 || offset <= match);
    const bool wraps = __any_sync(ALL, q.length > offset);
    const uint32_t last = i < REPEATS ? resolve(p, PLACING_WARPS, OF_WARP_BEFORE + i) : 0;
    const uint32_t all = __reduce_add_sync(ALL, numbers);
    const span bounds = {own, until, there ? number : 0};
    uint32_t marked = begin / UNIT * UNIT;
    if (there)
        t->places[number] = place{match, offset | (literal - own) << 16};
    if (i == 0) { /* the bytes before the turn, and those behind it, come from themselves */
        t->places[0] = t->places[all + 1] = place{0, 0};
        s->marked.numbers[0] = 0;
    }
    if (lane() == 0)
        p->wraps[warp] = wraps;
    mark(&s->marked, marked, end, bounds);
    if (is_any(!fine))
        return false;
    if (i < REPEATS)
        p->last[0][i] = last;
    const bool any_wraps = __any_sync(ALL, lane() < PLACING_WARPS && p->wraps[lane()] != 0);
    for (; marked < end; marked += MARKED) {
        const uint32_t upto = min(end, marked + MARKED);
        if (marked > begin) {
            mark(&s->marked, marked, end, bounds);
            (void)is_any(false);
        }
        for (uint32_t base = marked; base < upto; base += SLICE)
            place_slice(s, t, marked, base, begin, min(base + SLICE, upto), any_wraps);
    }
    *at = end;
    return true;
}
} // namespace bale_lzr

#endif
