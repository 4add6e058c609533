/* lzr on the device: the search. Every position looks for a match; then positions inherit matches
 * that begin behind them. */
#ifndef BALE_KERNELS_LZR_SEARCH_CUH
#define BALE_KERNELS_LZR_SEARCH_CUH

#include "kernels/lzr/room.cuh"

namespace bale_lzr
{
constexpr uint32_t NONE = 0xffff; /* no position: no match begins there */
constexpr uint32_t TAIL = 8;      /* bytes at the end where none begins */
constexpr uint32_t LEAST = 4;     /* of a match that is looked for */
constexpr uint32_t BEFORE_FOURS = BEFORE_BYTES / 4;
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
 * counts. A warp does two batches together, which wait for the same things. */
__device__ inline void hash_all(encode_shared *s, uint32_t length, found *f)
{
    constexpr uint32_t BATCHES = 2;
    constexpr uint32_t LATEST = BALE_CUDA_CELL / 8 / ENCODE_WARPS / BATCHES; /* of a batch */
    uint32_t *latest = s->lengths + threadIdx.x / 32 * LATEST * BATCHES;
    const uint32_t first = threadIdx.x / 32 * 32 * BATCHES + lane();

    for (uint32_t i = lane(); i < LATEST * BATCHES; i += 32)
        latest[i] = 0;
    __syncwarp();
    for (uint32_t p = first; p - lane() < length; p += ENCODE_THREADS * BATCHES) {
        uint32_t hash[BATCHES];
#pragma unroll
        for (uint32_t k = 0; k < BATCHES; k++) {
            const uint32_t at = p + 32 * k;
            const bool valid = at + TAIL <= length;
            hash[k] = valid ? hash_of(s->bytes(at), s->bytes(at + 4) & 255) : IS_INVALID;
            if (valid)
                atomicMax(&latest[k * LATEST + hash[k] % LATEST], (at + 1) << TABLE_LOG2 | hash[k]);
        }
        __syncwarp();
#pragma unroll
        for (uint32_t k = 0; k < BATCHES; k++) {
            const uint32_t at = p + 32 * k;
            const bool is_last =
                latest[k * LATEST + hash[k] % LATEST] == ((at + 1) << TABLE_LOG2 | hash[k]);
            f->offset[at] =
                (uint16_t)(hash[k] == IS_INVALID || !is_last ? hash[k] : hash[k] | IS_LAST);
        }
        __syncwarp();
    }
}

/* By a warp: replaces the hash of each position of [begin, end), which begins with a multiple of 256,
 * by the last position before it with the same hash, of earlier batches, and leaves the last of all
 * in the table. */
__device__ inline void insert(uint32_t begin, uint32_t end, uint16_t *table, uint16_t *notes)
{
    constexpr uint32_t TOGETHER = 8; /* times 32 positions, whose hashes are loaded together */
    uint16_t *at = notes + (begin + lane());
    uint32_t hashes[TOGETHER], before[TOGETHER];

#pragma unroll
    for (uint32_t i = 0; i < TOGETHER; i++)
        hashes[i] = at[32 * i];
    for (uint32_t base = begin; base < end; base += 32 * TOGETHER, at += 32 * TOGETHER) {
        uint32_t invalid = 0;
#pragma unroll
        for (uint32_t i = 0; i < TOGETHER; i++) { /* nothing waits for what is loaded here */
            before[i] = table[hashes[i] % (1u << TABLE_LOG2)];
            invalid |= (uint32_t)((hashes[i] & IS_INVALID) != 0) << i;
            __syncwarp();
            if (hashes[i] & IS_LAST && base + 32 * i < end)
                table[hashes[i] % (1u << TABLE_LOG2)] = (uint16_t)(base + 32 * i + lane());
            __syncwarp();
        }
        if (base + 32 * TOGETHER < end)
#pragma unroll
            for (uint32_t i = 0; i < TOGETHER; i++)
                hashes[i] = at[32 * (TOGETHER + i)];
#pragma unroll
        for (uint32_t i = 0; i < TOGETHER; i++)
            at[32 * i] = (uint16_t)(invalid >> i & 1 ? NONE : before[i]);
    }
}

/* A match at a position: its offset, the agreeing bytes before it << 16, its length << 24. 0: there
 * is none. */
__device__ inline uint32_t length_of(uint32_t match)
{
    return match >> 24;
}

/* The bytes around a position, four by four: of[k] are those from 4 (BEFORE - k) before it on. */
template <uint32_t BEFORE> struct around {
    static constexpr uint32_t FOURS = BEFORE + MEASURED / 4;
    uint32_t of[FOURS];

    __device__ around(const encode_shared *s, uint32_t p)
    {
        const uint32_t *at = s->words + (p + BEFORE_BYTES) / 4 - BEFORE, shift = 8 * (p % 4);
        uint32_t word = at[0];

#pragma unroll
        for (uint32_t k = 0; k < FOURS; k++) {
            const uint32_t next = at[k + 1];
            of[k] = __funnelshift_r(word, next, shift);
            word = next;
        }
    }
};

/* How many bytes from the position on agree, of MEASURED, of which the first four KNOWN do. */
template <uint32_t KNOWN, uint32_t BEFORE>
__device__ inline uint32_t agree_after(const around<BEFORE> &a, const around<BEFORE> &b)
{
    uint32_t n = 0, differ = 0;

#pragma unroll
    for (uint32_t k = around<BEFORE>::FOURS; k-- > BEFORE + KNOWN;) {
        const uint32_t now = a.of[k] ^ b.of[k];
        n = now != 0 ? 4 * (k - BEFORE) : n;
        differ = now != 0 ? now : differ;
    }
    return differ != 0 ? n + ((uint32_t)__ffs((int)differ) - 1) / 8 : MEASURED;
}

/* How many bytes before it agree, of 4 BEFORE. */
template <uint32_t BEFORE>
__device__ inline uint32_t agree_before(const around<BEFORE> &a, const around<BEFORE> &b)
{
    uint32_t n = 4 * BEFORE, differ = 0;

#pragma unroll
    for (uint32_t k = 0; k < BEFORE; k++) {
        const uint32_t now = a.of[k] ^ b.of[k];
        n = now != 0 ? 4 * (BEFORE - 1 - k) : n;
        differ = now != 0 ? now : differ;
    }
    return n + (differ != 0 ? (uint32_t)__clz((int)differ) / 8 : 0);
}

/* By a warp: the matches at base + lane(). own: the candidates in the positions' own part. The
 * nearest table comes first, and in it what agrees in four bytes. */
__device__ inline uint32_t match_batch(const encode_shared *s, uint32_t length, uint32_t base,
                                       uint32_t own)
{
    const uint32_t p = base + lane();
    const bool valid = p + TAIL <= length;
    const around<BEFORE_FOURS> here(s, p);
    const uint32_t four = here.of[BEFORE_FOURS];
    const uint32_t h = hash_of(four, here.of[BEFORE_FOURS + 1] & 255);
    const uint16_t *table = s->tables + (base / PART << TABLE_LOG2) + h;
    uint32_t q = own; /* the bytes at NONE may be read */
    bool fine = valid & (q != NONE) & (s->bytes(q) == four);

    for (uint32_t part = base / PART; part > 0 && __any_sync(ALL, valid && !fine); part--) {
        table -= 1 << TABLE_LOG2;
        if (valid && !fine) {
            q = *table;
            fine = (q != NONE) & (s->bytes(q) == four);
        }
    }
    if (!__any_sync(ALL, fine))
        return 0;
    const around<BEFORE_FOURS> there(s, fine ? q : p);
    const uint32_t n = min(agree_after<1>(here, there), length - p);
    const uint32_t before = min(agree_before(here, there), min(q, BEFORE_MOST));
    return fine ? (p - q) | before << 16 | n << 24 : 0;
}

/* By a warp: match: that of each lane, after: those of the batch behind. A position takes the match
 * `by` bytes behind it if that reaches it and is longer then. */
__device__ inline uint32_t inherit(uint32_t match, uint32_t after, uint32_t by)
{
    const uint32_t other = __shfl_sync(ALL, lane() < by ? after : match, (int)((lane() + by) % 32));
    const uint32_t longer = other + (by << 24) - (by << 16);
    const bool reaches = (other & (16 - by) << 16) != 0; /* by or more bytes before it agree */

    return reaches && longer > (match | 0xffffff) ? longer : match;
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
        insert(warp * PART, min(length, (warp + 1) * PART), s->tables + (warp << TABLE_LOG2),
               f->offset);
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
