/* lzr on the device: the search. Every position looks for a match; then positions inherit matches that
 * begin behind them; then the parse takes some. */
#ifndef BALE_KERNELS_LZR_SEARCH_CUH
#define BALE_KERNELS_LZR_SEARCH_CUH

#include "kernels/codec/bytes.cuh"
#include "kernels/codec/tables.h"
#include "kernels/codec/warp.cuh"

namespace bale_lzr
{
using bale_warp::ALL;
using bale_warp::lane;

constexpr unsigned ENCODE_WARPS = 16, ENCODE_THREADS = 32 * ENCODE_WARPS;
constexpr uint32_t PARTS = 4, PART = BALE_CUDA_CELL / PARTS; /* each has a table of its own */
constexpr uint32_t TABLE_LOG2 = 13;
constexpr uint32_t NONE = 0xffff;    /* no position: no match begins there */
constexpr uint32_t TAIL = 8;         /* bytes at the end where none begins: hashes read so many */
constexpr uint32_t LEAST = 4;        /* of a match that is looked for */
constexpr uint32_t MEASURED = 16;    /* a match is measured so far, and extended if it is chosen */
constexpr uint32_t BEFORE_MOST = 15; /* agreeing bytes before a match that are counted */
constexpr uint32_t LONGEST = 256;
constexpr uint32_t SEGMENT = 4096;         /* of the parse: a warp's */
constexpr uint32_t STRETCH = SEGMENT / 32; /* a lane's */
constexpr uint32_t REPEATED_LEAST = 3;     /* of a match with the offset of the one before it */
constexpr uint32_t REPEATED_GAIN = 1;      /* such a match may be so much shorter */
constexpr uint32_t MATCHES_MAX = BALE_CUDA_CELL / REPEATED_LEAST + 1;

/* What is found at each position. */
struct found {
    uint16_t offset[BALE_CUDA_CELL]; /* 0: none. Before: the candidate in its own part, or NONE */
    uint8_t length[BALE_CUDA_CELL];
    uint8_t before[BALE_CUDA_CELL];
};

/* What the parse takes. */
struct taken {
    uint16_t at[MATCHES_MAX], length[MATCHES_MAX], offset[MATCHES_MAX];
};

/* The exclusive sum over the block; *total: of all. sums: ENCODE_WARPS + 1 words of shared memory. */
__device__ inline uint32_t block_sum(uint32_t value, uint32_t *sums, uint32_t *total)
{
    const uint32_t warp = threadIdx.x / 32, upto = bale_warp::inclusive_sum(value);

    if (lane() == 31)
        sums[warp] = upto;
    __syncthreads();
    if (warp == 0)
        bale_warp::offsets_from_sizes(sums, ENCODE_WARPS, 0);
    __syncthreads();
    const uint32_t before = sums[warp] + upto - value;
    *total = sums[ENCODE_WARPS];
    __syncthreads();
    return before;
}

/* Of five bytes. */
__device__ inline uint32_t hash_of(const uint8_t *p)
{
    const uint64_t five = bale_bytes::load32(p) | (uint64_t)(bale_bytes::load32(p + 4) & 255) << 32;

    return (uint32_t)((five << 24) * 0x9e3779b97f4a7c15u >> (64 - TABLE_LOG2));
}

/* By a warp: notes for each position of a part the last one before it with the same hash, of earlier
 * batches of 32, and leaves the last of all in the table. Of a batch the last lane with a hash stores.
 */
__device__ inline void insert_part(const uint8_t *raw, uint32_t length, uint32_t part,
                                   uint16_t *table, found *f)
{
    for (uint32_t i = lane(); i < 1u << TABLE_LOG2; i += 32)
        table[i] = NONE;
    __syncwarp();
    for (uint32_t base = part * PART; base < min(length, (part + 1) * PART); base += 32) {
        const uint32_t p = base + lane();
        const bool valid = p + TAIL <= length;
        const uint32_t h = valid ? hash_of(raw + p) : 0, before = table[h];
        const uint32_t same = __match_any_sync(ALL, valid ? h : NONE);

        __syncwarp();
        if (p < length)
            f->offset[p] = (uint16_t)(valid ? before : NONE);
        if (valid && same >> lane() == 1)
            table[h] = (uint16_t)p;
        __syncwarp();
    }
}

/* How far the bytes from p on, of which there are `most`, agree with those at q. */
__device__ inline uint32_t agree(const uint8_t *raw, uint32_t p, uint32_t q, uint32_t most)
{
    uint32_t n = 0;

    for (; n + 4 <= most; n += 4) {
        const uint32_t differ = bale_bytes::load32(raw + p + n) ^ bale_bytes::load32(raw + q + n);
        if (differ != 0)
            return n + ((uint32_t)__ffs((int)differ) - 1) / 8;
    }
    while (n < most && raw[p + n] == raw[q + n])
        n++;
    return n;
}

/* By a thread: the match at a position. The nearest table comes first, and in it what agrees in four
 * bytes. */
__device__ inline void match_position(const uint8_t *raw, uint32_t length, uint32_t p,
                                      const uint16_t *tables, found *f)
{
    uint32_t q = f->offset[p], before = 0, n = 0;

    if (p + TAIL <= length) {
        const uint32_t here = bale_bytes::load32(raw + p), h = hash_of(raw + p);
        for (uint32_t part = p / PART;; part--) {
            if (q != NONE && bale_bytes::load32(raw + q) == here)
                break;
            q = NONE;
            if (part == 0)
                break;
            q = tables[((part - 1) << TABLE_LOG2) + h];
        }
    } else {
        q = NONE;
    }
    if (q != NONE) {
        n = LEAST + agree(raw, p + LEAST, q + LEAST, min(length - p, MEASURED) - LEAST);
        while (before < min(q, BEFORE_MOST) && raw[p - before - 1] == raw[q - before - 1])
            before++;
    }
    f->offset[p] = (uint16_t)(q != NONE ? p - q : 0);
    f->length[p] = (uint8_t)n;
    f->before[p] = (uint8_t)before;
}

/* By a block: a position takes the match `by` bytes behind it if that reaches it and is longer then. */
__device__ inline void inherit(uint32_t length, uint32_t by, found *f)
{
    for (uint32_t base = 0; base < length; base += ENCODE_THREADS) {
        const uint32_t p = base + threadIdx.x, q = p + by;
        const bool takes = q < length && f->before[q] >= by && f->length[q] + by > f->length[p];
        const uint32_t offset = takes ? f->offset[q] : 0, n = takes ? f->length[q] + by : 0;
        const uint32_t before = takes ? f->before[q] - by : 0;

        __syncthreads();
        if (takes) {
            f->offset[p] = (uint16_t)offset;
            f->length[p] = (uint8_t)n;
            f->before[p] = (uint8_t)before;
        }
        __syncthreads();
    }
}

/* By a thread: the parse from p on in its stretch, which ends at `end`; matches end at most at
 * `limit`. An offset that was just used costs little, so it is tried first. visit(at, length,
 * offset) is called for each match. Returns where the next token begins. */
template <typename VISIT>
__device__ inline uint32_t parse(const uint8_t *raw, uint32_t p, uint32_t end, uint32_t limit,
                                 const found *f, VISIT visit)
{
    uint32_t last = 0;

    while (p < end) {
        uint32_t n = min((uint32_t)f->length[p], limit - p), offset = f->offset[p];
        const uint32_t most = min(limit - p, LONGEST);
        if (last != 0 && last != offset && n < MEASURED) {
            const uint32_t again = agree(raw, p, p - last, min(most, MEASURED));
            if (again >= REPEATED_LEAST && again + REPEATED_GAIN >= n) {
                n = again;
                offset = last;
            }
        }
        const bool is_better_behind = n < MEASURED && p + 1 < limit && f->length[p + 1] > n;
        if (offset == last ? n < REPEATED_LEAST : n < LEAST || is_better_behind) {
            p++;
            continue;
        }
        if (n >= MEASURED)
            n += agree(raw, p + n, p + n - offset, most > n ? most - n : 0);
        visit(p, n, offset);
        last = offset;
        p += n;
    }
    return p;
}

/* By a block: parses, and writes the matches in order. Returns their number. sums: as in block_sum. */
__device__ inline uint32_t parse_all(const uint8_t *raw, uint32_t length, const found *f, taken *t,
                                     uint32_t *sums)
{
    const uint32_t segment = threadIdx.x / 32 * SEGMENT, start = segment + lane() * STRETCH;
    const uint32_t limit = min(segment + SEGMENT, length), end = min(start + STRETCH, limit);
    uint32_t entry = start, count = 0, total;
    const auto ignore = [](uint32_t, uint32_t, uint32_t) {};
    const auto tally = [&](uint32_t, uint32_t, uint32_t) { count++; };

    /* A lane's entry is where the lane before it leaves. */
    for (bool more = true; more;) {
        const uint32_t leaves = parse(raw, entry, end, limit, f, ignore);
        const uint32_t before = __shfl_up_sync(ALL, leaves, 1);
        const uint32_t next = lane() == 0 ? start : max(start, before);
        more = __any_sync(ALL, next != entry);
        entry = next;
    }
    parse(raw, entry, end, limit, f, tally);
    uint32_t i = block_sum(count, sums, &total);
    parse(raw, entry, end, limit, f, [&](uint32_t at, uint32_t n, uint32_t offset) {
        t->at[i] = (uint16_t)at;
        t->length[i] = (uint16_t)n;
        t->offset[i++] = (uint16_t)offset;
    });
    __syncthreads();
    return total;
}

/* By a block: from bytes to matches. tables: PARTS of them, in shared memory. */
__device__ inline uint32_t search(const uint8_t *raw, uint32_t length, uint16_t *tables, found *f,
                                  taken *t, uint32_t *sums)
{
    const uint32_t warp = threadIdx.x / 32;

    if (warp < PARTS)
        insert_part(raw, length, warp, tables + (warp << TABLE_LOG2), f);
    __syncthreads();
    for (uint32_t p = threadIdx.x; p < length; p += ENCODE_THREADS)
        match_position(raw, length, p, tables, f);
    for (uint32_t by = 8; by > 0; by /= 2) {
        __syncthreads();
        inherit(length, by, f);
    }
    __syncthreads();
    return parse_all(raw, length, f, t, sums);
}
} // namespace bale_lzr

#endif
