/* lzr on the device: the parse, from matches at all positions to sequences. */
#ifndef BALE_KERNELS_LZR_PARSE_CUH
#define BALE_KERNELS_LZR_PARSE_CUH

#include "kernels/lzr/room.cuh"

namespace bale_lzr
{
constexpr uint32_t LONGEST = 256;     /* of a match */
constexpr uint32_t REPEATED_GAIN = 1; /* a match with a repeated offset may be so much shorter */
constexpr uint32_t LEAST_FOUND = 4;
/* Offsets from which a match has to be a byte longer to be worth its bits, and one more. */
constexpr uint32_t FAR = 2048, FARTHER = 8192;
constexpr uint32_t WARM_UP = 32; /* bytes */

/* The length of the match at p that was found; 0: there is none. */
__device__ inline uint32_t found_length(const encode_shared *s, uint32_t p)
{
    const uint32_t length = s->lengths[p / 256 * 32 + p % 32] >> 4 * (p / 32 % 8) & 15;

    return length > 0 ? length + LENGTH_NONE : 0;
}

/* How far the bytes from p on, of which there are `most`, agree with those at q. */
__device__ inline uint32_t agree(const encode_shared *s, uint32_t p, uint32_t q, uint32_t most)
{
    for (uint32_t n = 0; n < most; n += 4) {
        const uint32_t differ = s->bytes(p + n) ^ s->bytes(q + n);
        if (differ != 0)
            return min(most, n + ((uint32_t)__ffs((int)differ) - 1) / 8);
    }
    return most;
}

/* By a thread: the parse from p on up to `end`; matches end at most at `limit`. An offset that was
 * just used costs little, so it is tried first. visit(at, length, offset) is called for each match.
 * A turn of the loop compares MEASURED bytes at most, so that lanes with long matches do not hold
 * up the others. Returns where the next token begins. */
template <typename VISIT>
__device__ inline uint32_t parse(const encode_shared *s, uint32_t p, uint32_t end, uint32_t limit,
                                 const found *f, VISIT visit)
{
    uint32_t last = 0, here = p < end ? found_length(s, p) : 0;
    uint32_t taken = 0;
    uint32_t n = 0, offset = 0; /* of the match that is being extended; offset 0: there is none */

    while (p < end && taken < MATCHES_MOST) {
        const uint32_t most = min(limit - p, LONGEST), found_offset = f->offset[p];
        const bool extends = offset != 0;
        const uint32_t from = extends ? p + n : p, back = extends ? offset : last;
        if (!extends)
            n = min(here, most);
        const uint32_t again = back != 0 && (extends || n < MEASURED)
                                   ? agree(s, from, from - back, min(limit - from, MEASURED))
                                   : 0;
        if (extends) {
            n = min(n + again, most);
            if (again == MEASURED && n < most)
                continue;
        } else {
            const uint32_t behind = p + 1 < limit ? found_length(s, p + 1) : 0;
            const uint32_t least = LEAST_FOUND + (found_offset >= FAR) + (found_offset >= FARTHER);
            if (again >= REPEATED_LEAST && again + REPEATED_GAIN >= n) {
                n = again;
                offset = last;
            } else if (n < least || (n < MEASURED && behind > n)) {
                p++;
                here = behind;
                continue;
            } else {
                offset = found_offset;
            }
            if (n >= MEASURED && n < most)
                continue;
        }
        visit(p, n, offset);
        taken++;
        last = offset;
        offset = 0;
        p += n;
        here = p < end ? found_length(s, p) : 0;
    }
    return max(p, end);
}

/* The matches of a lane's stretch. */
struct stretch {
    uint32_t entry; /* where the parse begins */
    uint32_t count;
    uint32_t first;  /* where the first begins */
    uint32_t end;    /* where the last ends */
    uint32_t offset; /* of the last */
    uint32_t runs;   /* sequences without a match, between the first and the last */

    __device__ void add(uint32_t at, uint32_t length, uint32_t of_it)
    {
        if (count == 0)
            first = at;
        else
            runs += (at - end) / RUN_MOST;
        count++;
        end = at + length;
        offset = of_it;
    }
};

/* By a warp: parses each lane's stretch, [start, end). A lane's parse begins where that of the
 * lane before it ends: lanes begin again until that is so. parse_on(p, end, visit): the parse
 * from p on up to `end`. note(k, at, length, offset) is called for the k-th match; the last time
 * is the one that counts. */
template <typename PARSE, typename NOTE>
__device__ inline stretch parse_stretches(uint32_t start, uint32_t end, PARSE parse_on, NOTE note)
{
    uint32_t entry = start, leaves = 0;
    stretch own = {};

    if (lane() > 0) /* most parses agree soon, so this is where the one before is likely to end */
        entry = parse_on(start - min(start, WARM_UP), start, [](uint32_t, uint32_t, uint32_t) {});

    for (bool changed = true; __any_sync(ALL, changed);) {
        if (changed) {
            own = stretch{entry, 0, 0, 0, 0, 0};
            leaves = parse_on(entry, end, [&](uint32_t at, uint32_t n, uint32_t offset) {
                note(own.count, at, n, offset);
                own.add(at, n, offset);
            });
        }
        const uint32_t before = __shfl_up_sync(ALL, leaves, 1);
        const uint32_t next = lane() == 0 ? start : max(start, before);
        changed = next != entry;
        entry = next;
    }
    return own;
}

/* By a thread: writes sequences one behind the other. */
struct sequence_writer {
    uint32_t *to;
    uint32_t end;    /* of the match before */
    uint32_t offset; /* of the sequence before */

    __device__ void put(uint32_t run, uint32_t length)
    {
        *to++ = offset | length << 16 | run << 25;
    }

    __device__ void add(uint32_t at, uint32_t length, uint32_t of_it)
    {
        uint32_t run = at - end;

        for (; run >= RUN_MOST; run -= RUN_MOST)
            put(RUN_MOST, 0);
        offset = of_it;
        put(run, length);
        end = at + length;
    }
};

/* By a block: writes the sequences of the threads' stretches, of which it returns the number. A
 * run of RUN_MOST literals or more begins with sequences that have no match; these have the
 * offset before theirs. each(visit): calls visit(at, length, offset) for each match of the
 * thread's own. */
template <typename EACH>
__device__ inline uint32_t write_sequences(encode_shared *s, uint32_t length, const stretch &own,
                                           uint32_t *to, EACH each)
{
    uint32_t latest, total;

    const uint32_t before =
        block_max(own.count > 0 ? (own.end - 1) << 16 | own.offset : 0, s->sums, &latest);
    sequence_writer writer = {to, before > 0 ? (before >> 16) + 1 : 0,
                              before > 0 ? before & 0xffff : 1};
    writer.to +=
        block_sum(own.count > 0 ? own.count + own.runs + (own.first - writer.end) / RUN_MOST : 0,
                  s->sums, &total);
    each([&writer](uint32_t at, uint32_t n, uint32_t offset) { writer.add(at, n, offset); });
    const uint32_t tail = length - (latest > 0 ? (latest >> 16) + 1 : 0);
    const uint32_t offset = latest > 0 ? latest & 0xffff : 1;
    const uint32_t more = (tail + RUN_MOST - 1) / RUN_MOST;
    for (uint32_t i = threadIdx.x; i < more; i += ENCODE_THREADS)
        to[total + i] = offset | min(tail - i * RUN_MOST, RUN_MOST) << 25;
    __syncthreads();
    return total + more;
}

/* By a block: parses, and writes the sequences, of which it returns the number. */
__device__ inline uint32_t make_sequences(encode_shared *s, uint32_t length, found *f, uint32_t *to)
{
    const uint32_t segment = threadIdx.x / 32 * SEGMENT;
    const uint32_t limit = min(segment + SEGMENT, length);
    const uint32_t start = min(segment + lane() * STRETCH, limit);
    const uint32_t end = min(start + STRETCH, limit);
    uint32_t *const matches = f->matches + threadIdx.x;
    const stretch own = parse_stretches(
        start, end,
        [&](uint32_t p, uint32_t upto, auto visit) { return parse(s, p, upto, limit, f, visit); },
        [&](uint32_t k, uint32_t at, uint32_t n, uint32_t offset) {
            matches[k * ENCODE_THREADS] = (at - start) | n << 7 | offset << 16;
        });

    return write_sequences(s, length, own, to, [&](auto visit) {
        for (uint32_t k = 0; k < own.count; k++) {
            const uint32_t match = matches[k * ENCODE_THREADS];
            visit(start + (match & (STRETCH - 1)), match >> 7 & 0x1ff, match >> 16);
        }
    });
}
} // namespace bale_lzr

#endif
