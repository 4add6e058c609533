/* lzr on the device: the search. Every position looks for a match; then positions inherit matches
 * that begin behind them. */
#ifndef BALE_KERNELS_LZR_SEARCH_CUH
#define BALE_KERNELS_LZR_SEARCH_CUH

#include "kernels/lzr/room.cuh"

namespace bale_lzr
{
constexpr uint32_t NONE = 0xffff;    /* no position: no match begins there */
constexpr uint32_t TAIL = 8;         /* bytes at the end where none begins */
constexpr uint32_t LEAST = 4;        /* of a match that is looked for */
constexpr uint32_t BEFORE_MOST = 15; /* agreeing bytes before a match that are counted */
/* A warp finds the matches of two, of which one has few parts before it if the other has many. */
constexpr uint32_t PIECE = BALE_CUDA_CELL / (2 * ENCODE_WARPS);
constexpr uint32_t IS_LAST = 0x8000, IS_INVALID = 0x4000; /* beside a hash */

__device__ inline uint32_t hash_of(uint32_t four, uint32_t fifth)
{
    return (four * 0x9e3779b1u + fifth * 0x85ebca6bu) >> (32 - TABLE_LOG2);
}

/* By a block: the hash of five bytes at each position; with IS_LAST if it is the last one of its
 * batch of 32 with this hash. Of hashes of a batch that agree in their low bits, the last alone
 * counts. */
__device__ inline void hash_all(encode_shared *s, uint32_t length, found *f)
{
    constexpr uint32_t LATEST = BALE_CUDA_CELL / 8 / ENCODE_WARPS; /* of a warp */
    uint32_t *latest = s->lengths + threadIdx.x / 32 * LATEST;

    for (uint32_t i = lane(); i < LATEST; i += 32)
        latest[i] = 0;
    __syncwarp();
    for (uint32_t p = threadIdx.x; p - lane() < length; p += ENCODE_THREADS) {
        const bool valid = p + TAIL <= length;
        const uint32_t h = valid ? hash_of(s->bytes(p), s->bytes(p + 4) & 255) : IS_INVALID;
        const uint32_t own = (p + 1) << TABLE_LOG2 | h;

        if (valid)
            atomicMax(&latest[h % LATEST], own);
        __syncwarp();
        f->offset[p] = (uint16_t)(valid && latest[h % LATEST] == own ? h | IS_LAST : h);
        __syncwarp();
    }
}

/* By a warp: replaces the hash of each position of a part by the last position before it with the
 * same hash, of earlier batches, and leaves the last of all in the table. */
__device__ inline void insert_part(uint32_t length, uint32_t part, uint16_t *table, found *f)
{
    constexpr uint32_t AHEAD = 8; /* batches whose hashes are loaded together */
    const uint32_t end = min(length, (part + 1) * PART);
    uint16_t *at = f->offset + part * PART + lane();
    uint32_t hashes[AHEAD], next[AHEAD];

#pragma unroll
    for (uint32_t i = 0; i < AHEAD; i++)
        next[i] = at[32 * i];
    for (uint32_t base = part * PART; base < end; base += 32 * AHEAD, at += 32 * AHEAD) {
#pragma unroll
        for (uint32_t i = 0; i < AHEAD; i++) {
            hashes[i] = next[i];
            next[i] = base + 32 * (AHEAD + i) < end ? at[32 * (AHEAD + i)] : 0;
        }
#pragma unroll
        for (uint32_t i = 0; i < AHEAD; i++) {
            const uint32_t p = base + 32 * i + lane(), h = hashes[i] & ((1u << TABLE_LOG2) - 1);
            if (base + 32 * i >= end)
                break;
            const uint32_t before = table[h];
            __syncwarp();
            if (hashes[i] & IS_LAST)
                table[h] = (uint16_t)p;
            at[32 * i] = (uint16_t)(hashes[i] & IS_INVALID ? NONE : before);
            __syncwarp();
        }
    }
}

/* A match at a position: its offset, its length << 16, and the agreeing bytes before it << 24. 0:
 * there is none. */
__device__ inline uint32_t length_of(uint32_t match)
{
    return match >> 16 & 255;
}

/* Bytes of the chunk around a position, by aligned words that are loaded one after the other. */
struct reader {
    const uint32_t *at; /* the word with the position */
    uint32_t shift;

    __device__ reader(const encode_shared *s, uint32_t p)
        : at(s->words + (p + BEFORE_BYTES) / 4), shift(8 * (p % 4))
    {
    }

    __device__ uint32_t join(uint32_t low, uint32_t high) const
    {
        return __funnelshift_r(low, high, shift);
    }
};

/* By a thread: how far a match that agrees in four bytes does, up to MEASURED. */
__device__ inline uint32_t measure(const reader &here, const reader &there)
{
    uint32_t a = here.at[1], b = there.at[1];

#pragma unroll
    for (uint32_t k = 1; k < MEASURED / 4; k++) {
        const uint32_t next_a = here.at[k + 1], next_b = there.at[k + 1];
        const uint32_t differ = here.join(a, next_a) ^ there.join(b, next_b);
        if (differ != 0)
            return 4 * k + ((uint32_t)__ffs((int)differ) - 1) / 8;
        a = next_a;
        b = next_b;
    }
    return MEASURED;
}

/* By a thread: how many bytes before agree, up to BEFORE_MOST or one more. */
__device__ inline uint32_t measure_before(const reader &here, const reader &there)
{
    uint32_t a = here.at[0], b = there.at[0];

#pragma unroll
    for (int k = 1; k <= (int)BEFORE_BYTES / 4; k++) {
        const uint32_t next_a = here.at[-k], next_b = there.at[-k];
        const uint32_t differ = here.join(next_a, a) ^ there.join(next_b, b);
        if (differ != 0)
            return 4 * ((uint32_t)k - 1) + (uint32_t)__clz((int)differ) / 8;
        a = next_a;
        b = next_b;
    }
    return BEFORE_BYTES;
}

/* By a warp: the matches at base + lane(). own: the candidates in the positions' own part. The
 * nearest table comes first, and in it what agrees in four bytes. */
__device__ inline uint32_t match_batch(const encode_shared *s, uint32_t length, uint32_t base,
                                       uint32_t own)
{
    const uint32_t p = base + lane();
    const bool valid = p + TAIL <= length;
    const reader here(s, p);
    const uint32_t four = here.join(here.at[0], here.at[1]);
    const uint32_t h = hash_of(four, here.join(here.at[1], here.at[2]) & 255);
    uint32_t q = own;
    bool fine = valid && q != NONE && s->bytes(q) == four;

    for (uint32_t part = base / PART; part-- > 0 && __any_sync(ALL, valid && !fine);)
        if (valid && !fine) {
            q = s->tables[(part << TABLE_LOG2) + h];
            fine = q != NONE && s->bytes(q) == four;
        }
    if (!fine)
        return 0;
    const reader there(s, q);
    const uint32_t n = min(measure(here, there), length - p);
    const uint32_t before = min(measure_before(here, there), min(q, BEFORE_MOST));
    return (p - q) | n << 16 | before << 24;
}

/* By a warp: match: that of each lane, after: those of the batch behind. A position takes the match
 * `by` bytes behind it if that reaches it and is longer then. */
__device__ inline uint32_t inherit(uint32_t match, uint32_t after, uint32_t by)
{
    const uint32_t other = __shfl_sync(ALL, lane() < by ? after : match, (int)((lane() + by) % 32));
    const bool takes = other >> 24 >= by && length_of(other) + by > length_of(match);

    return takes ? other + (by << 16) - (by << 24) : match;
}

/* By a warp: the matches of a piece, from its end on. Those behind it are not inherited. */
__device__ inline void match_piece(const encode_shared *s, uint32_t length, uint32_t piece,
                                   found *f)
{
    uint32_t after[4] = {}, lengths = 0, last = piece + PIECE - 32;
    uint32_t next = last < length ? f->offset[last + lane()] : 0;

    for (uint32_t i = PIECE / 32; i-- > 0;) {
        const uint32_t base = piece + 32 * i, own = next;
        if (i > 0)
            next = base - 32 < length ? f->offset[base - 32 + lane()] : 0;
        uint32_t match = base < length ? match_batch(s, length, base, own) : 0;
#pragma unroll
        for (uint32_t k = 0; k < 4; k++) {
            const uint32_t now = match;
            match = inherit(match, after[k], 8 >> k);
            after[k] = now;
        }
        if (base < length)
            f->offset[base + lane()] = (uint16_t)match;
        lengths =
            lengths << 4 | (match != 0 ? min(length_of(match), LENGTH_MOST) - LENGTH_NONE : 0);
        if (i % 8 == 0)
            f->lengths[piece / 8 + i / 8 * 32 + lane()] = lengths;
    }
}

/* By a block: from bytes to matches. Offsets stay in the room, lengths go to shared memory. */
__device__ inline void search(encode_shared *s, uint32_t length, found *f)
{
    const uint32_t warp = threadIdx.x / 32;

    hash_all(s, length, f);
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < BALE_CUDA_CELL / 8; i += ENCODE_THREADS)
        s->lengths[i] = NONE << 16 | NONE; /* two entries of the tables, which lie there, too */
    __syncthreads();
    if (warp < PARTS && warp * PART < length)
        insert_part(length, warp, s->tables + (warp << TABLE_LOG2), f);
    __syncthreads();
    match_piece(s, length, warp * PIECE, f);
    match_piece(s, length, (2 * ENCODE_WARPS - 1 - warp) * PIECE, f);
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < BALE_CUDA_CELL / 8; i += ENCODE_THREADS)
        s->lengths[i] = f->lengths[i];
    __syncthreads();
}
} // namespace bale_lzr

#endif
