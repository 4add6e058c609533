/* lzr on the device: the parse, from matches at all positions to sequences. */
#ifndef BALE_KERNELS_LZR_PARSE_CUH
#define BALE_KERNELS_LZR_PARSE_CUH

#include "kernels/lzr/room.cuh"

namespace bale_lzr
{
constexpr uint32_t LONGEST = 256;          /* of a match */
constexpr uint32_t STRETCH = SEGMENT / 32; /* a lane's */
constexpr uint32_t REPEATED_GAIN = 1; /* a match with a repeated offset may be so much shorter */
constexpr uint32_t LEAST_FOUND = 4;

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
 * Returns where the next token begins. */
template <typename VISIT>
__device__ inline uint32_t parse(const encode_shared *s, uint32_t p, uint32_t end, uint32_t limit,
                                 const found *f, VISIT visit)
{
    uint32_t last = 0, here = p < end ? found_length(s, p) : 0;

    while (p < end) {
        const uint32_t most = min(limit - p, LONGEST);
        const uint32_t behind = p + 1 < limit ? found_length(s, p + 1) : 0;
        uint32_t n = min(here, most), offset = 0;
        if (last != 0 && n < MEASURED) {
            const uint32_t again = agree(s, p, p - last, min(most, MEASURED));
            if (again >= REPEATED_LEAST && again + REPEATED_GAIN >= n) {
                n = again;
                offset = last;
            }
        }
        if (offset == 0 && (n < LEAST_FOUND || (n < MEASURED && behind > n))) {
            p++;
            here = behind;
            continue;
        }
        offset = offset != 0 ? offset : f->offset[p];
        if (n >= MEASURED)
            n += agree(s, p + n, p + n - offset, most - n);
        visit(p, n, offset);
        last = offset;
        p += n;
        here = p < end ? found_length(s, p) : 0;
    }
    return p;
}

/* The matches of a lane's stretch. */
struct stretch {
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

/* By a warp: where each lane's parse begins in its stretch: a lane's entry is where the lane before
 * it leaves. */
__device__ inline uint32_t find_entry(const encode_shared *s, uint32_t start, uint32_t end,
                                      uint32_t limit, const found *f, stretch *found_there)
{
    uint32_t entry = start, leaves = 0;

    for (bool changed = true; __any_sync(ALL, changed);) {
        if (changed) {
            *found_there = stretch{};
            leaves = parse(s, entry, end, limit, f, [=](uint32_t at, uint32_t n, uint32_t offset) {
                found_there->add(at, n, offset);
            });
        }
        const uint32_t before = __shfl_up_sync(ALL, leaves, 1);
        const uint32_t next = lane() == 0 ? start : max(start, before);
        changed = next != entry;
        entry = next;
    }
    return entry;
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

/* By a block: parses, and writes the sequences, of which it returns the number. A run of RUN_MOST
 * literals or more begins with sequences that have no match; these have the offset before theirs.
 */
__device__ inline uint32_t make_sequences(encode_shared *s, uint32_t length, const found *f,
                                          uint32_t *to)
{
    const uint32_t segment = threadIdx.x / 32 * SEGMENT;
    const uint32_t limit = min(segment + SEGMENT, length);
    const uint32_t start = min(segment + lane() * STRETCH, limit);
    const uint32_t end = min(start + STRETCH, limit);
    stretch own = {};
    uint32_t latest, total;

    const uint32_t entry = find_entry(s, start, end, limit, f, &own);
    const uint32_t before =
        block_max(own.count > 0 ? (own.end - 1) << 16 | own.offset : 0, s->sums, &latest);
    sequence_writer writer = {to, before > 0 ? (before >> 16) + 1 : 0,
                              before > 0 ? before & 0xffff : 1};
    writer.to +=
        block_sum(own.count > 0 ? own.count + own.runs + (own.first - writer.end) / RUN_MOST : 0,
                  s->sums, &total);
    parse(s, entry, end, limit, f,
          [&writer](uint32_t at, uint32_t n, uint32_t offset) { writer.add(at, n, offset); });
    const uint32_t tail = length - (latest > 0 ? (latest >> 16) + 1 : 0);
    const uint32_t offset = latest > 0 ? latest & 0xffff : 1;
    const uint32_t more = (tail + RUN_MOST - 1) / RUN_MOST;
    for (uint32_t i = threadIdx.x; i < more; i += ENCODE_THREADS)
        to[total + i] = offset | min(tail - i * RUN_MOST, RUN_MOST) << 25;
    __syncthreads();
    return total + more;
}
} // namespace bale_lzr

#endif
