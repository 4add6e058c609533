/* lzr on the device: the search of level 2. Every position looks for a match of eight bytes, or
 * else of four. */
#ifndef BALE_KERNELS_LZR_FULL_CUH
#define BALE_KERNELS_LZR_FULL_CUH

#include "kernels/lzr/search.cuh"

namespace bale_lzr
{
constexpr uint32_t EIGHTS_LOG2 = 11; /* half the positions are inserted, those at even places */
constexpr uint32_t MATCH_MOST = 256; /* bytes */
constexpr uint32_t OFFSETS_LOG2 = 16;

/* Level 2 needs more than level 1. */
struct full_shared {
    encode_shared s;
    union {
        uint16_t eights[PARTS << EIGHTS_LOG2];
        struct {
            uint32_t taken[BALE_CUDA_CELL / 32]; /* a bit for each position: a match begins there */
            /* How often each occurs: literals; classes of lengths; the last offset again, and
             * offsets by their log2. */
            uint32_t literals[256], lengths[MATCHES], offsets[1 + OFFSETS_LOG2];
            /* Prices: of a length, with its raw bits and with the run before it. */
            uint16_t literal_price[256], length_price[MATCH_MOST + 1], offset_price[OFFSETS_LOG2];
            uint16_t repeat_price;
        };
    };
};

static_assert(sizeof(full_shared) <= 113 << 10, "two blocks share a multiprocessor's 228 KiB");

__device__ inline uint32_t hash_of_four(uint32_t four)
{
    return four * 0x9e3779b1u >> (32 - TABLE_LOG2);
}

__device__ inline uint32_t hash_of_eight(uint32_t four, uint32_t next)
{
    return (four * 0x9e3779b1u + next * 0x85ebca6bu) >> (32 - EIGHTS_LOG2);
}

/* By a block: the hashes of four and of eight bytes at each position; with IS_LAST if it is the
 * last one of its batch that is inserted with this hash. Those of four bytes are inserted in
 * batches of 32, those of eight in batches of 64. Of hashes of a batch that agree in their low
 * bits, the last alone counts. */
__device__ inline void hash_full(full_shared *f, uint32_t length, uint32_t *notes)
{
    constexpr uint32_t BATCHES = 2, LATEST = 256; /* entries for each */
    uint32_t *latest = (uint32_t *)f->s.tables + threadIdx.x / 32 * LATEST * BATCHES;
    uint32_t *latest_eights = (uint32_t *)f->eights + threadIdx.x / 32 * LATEST;
    const uint32_t first = threadIdx.x / 32 * 32 * BATCHES + lane();

    for (uint32_t i = lane(); i < LATEST; i += 32)
        latest[i] = latest[LATEST + i] = latest_eights[i] = 0;
    __syncwarp();
    for (uint32_t p = first; p - lane() < length; p += ENCODE_THREADS * BATCHES) {
        uint32_t four[BATCHES], eight[BATCHES];
#pragma unroll
        for (uint32_t k = 0; k < BATCHES; k++) {
            const uint32_t at = p + 32 * k, bytes = f->s.bytes(at);
            const bool valid = at + TAIL <= length;
            four[k] = valid ? hash_of_four(bytes) : IS_INVALID;
            eight[k] = valid ? hash_of_eight(bytes, f->s.bytes(at + 4)) : IS_INVALID;
            if (valid)
                atomicMax(&latest[k * LATEST + four[k] % LATEST], (at + 1) << TABLE_LOG2 | four[k]);
            if (valid && at % 2 == 0)
                atomicMax(&latest_eights[eight[k] % LATEST], (at + 1) << EIGHTS_LOG2 | eight[k]);
        }
        __syncwarp();
#pragma unroll
        for (uint32_t k = 0; k < BATCHES; k++) {
            const uint32_t at = p + 32 * k;
            const bool valid = at + TAIL <= length;
            if (valid &&
                latest[k * LATEST + four[k] % LATEST] == ((at + 1) << TABLE_LOG2 | four[k]))
                four[k] |= IS_LAST;
            if (valid && latest_eights[eight[k] % LATEST] == ((at + 1) << EIGHTS_LOG2 | eight[k]))
                eight[k] |= IS_LAST;
            notes[at] = four[k] | eight[k] << 16;
        }
        __syncwarp();
    }
}

/* By a warp: replaces the hash of each position of a part by the last position before it with the
 * same hash, of earlier batches, and leaves the last of all in the table. notes: the halves of
 * words. A batch is WIDE times 32 positions. */
template <uint32_t LOG2, uint32_t WIDE>
__device__ inline void insert_notes(uint32_t length, uint32_t part, uint16_t *table,
                                    uint16_t *notes)
{
    constexpr uint32_t TOGETHER = 8; /* times 32 positions, whose hashes are loaded together */
    const uint32_t end = min(length, (part + 1) * PART);
    uint16_t *at = notes + 2 * (part * PART + lane());
    uint32_t hashes[TOGETHER], before[TOGETHER];

#pragma unroll
    for (uint32_t i = 0; i < TOGETHER; i++)
        hashes[i] = at[64 * i];
    for (uint32_t base = part * PART; base < end; base += 32 * TOGETHER, at += 64 * TOGETHER) {
        uint32_t invalid = 0;
#pragma unroll
        for (uint32_t i = 0; i < TOGETHER; i += WIDE) {
#pragma unroll
            for (uint32_t k = i; k < i + WIDE; k++) {
                before[k] = table[hashes[k] % (1u << LOG2)];
                invalid |= (uint32_t)((hashes[k] & IS_INVALID) != 0) << k;
            }
            __syncwarp();
#pragma unroll
            for (uint32_t k = i; k < i + WIDE; k++)
                if (hashes[k] & IS_LAST && base + 32 * k < end)
                    table[hashes[k] % (1u << LOG2)] = (uint16_t)(base + 32 * k + lane());
            __syncwarp();
        }
        if (base + 32 * TOGETHER < end)
#pragma unroll
            for (uint32_t i = 0; i < TOGETHER; i++)
                hashes[i] = at[64 * (TOGETHER + i)];
#pragma unroll
        for (uint32_t i = 0; i < TOGETHER; i++)
            at[64 * i] = (uint16_t)(invalid >> i & 1 ? NONE : before[i]);
    }
}

/* The bytes from a position on, four by four. */
struct ahead {
    static constexpr uint32_t FOURS = MEASURED / 4;
    uint32_t of[FOURS];

    __device__ ahead(const encode_shared *s, uint32_t p)
    {
        const uint32_t *at = s->words + (p + BEFORE_BYTES) / 4, shift = 8 * (p % 4);
        uint32_t word = at[0];

#pragma unroll
        for (uint32_t k = 0; k < FOURS; k++) {
            const uint32_t next = at[k + 1];
            of[k] = __funnelshift_r(word, next, shift);
            word = next;
        }
    }
};

/* How many bytes agree, of MEASURED. */
__device__ inline uint32_t agreeing(const ahead &a, const ahead &b)
{
    uint32_t n = 0, differ = 0;

#pragma unroll
    for (uint32_t k = ahead::FOURS; k-- > 0;) {
        const uint32_t now = a.of[k] ^ b.of[k];
        n = now != 0 ? 4 * k : n;
        differ = now != 0 ? now : differ;
    }
    return differ != 0 ? n + ((uint32_t)__ffs((int)differ) - 1) / 8 : MEASURED;
}

constexpr uint32_t RANK_OF_BYTE = 4;

/* How good a match is: four for each byte, less the log2 of the offset. 0: there is none. */
__device__ inline uint32_t rank_of(uint32_t length, uint32_t offset)
{
    return length > 0 ? RANK_OF_BYTE * length + (uint32_t)__clz((int)offset) : 0;
}

/* By a warp: the nearest candidate that agrees in four bytes, or in eight, of those lanes that want
 * one; returns whether there is one. own: the candidate in the position's own part. table: of the
 * own part, the entry of the hash. */
template <uint32_t LOG2, bool IS_EIGHT>
__device__ inline bool nearest(const encode_shared *s, const ahead &here, bool wanted, uint32_t own,
                               uint32_t part, const uint16_t *table, uint32_t *candidate)
{
    const auto agrees = [&](uint32_t q) { /* the bytes at NONE may be read */
                                          return (q != NONE) & (s->bytes(q) == here.of[0]) &
                                                 (!IS_EIGHT || s->bytes(q + 4) == here.of[1]);
    };
    uint32_t q = own;
    bool fine = wanted && agrees(q);

    for (; part > 0 && __any_sync(ALL, wanted && !fine); part--) {
        table -= 1 << LOG2;
        if (wanted && !fine) {
            q = *table;
            fine = agrees(q);
        }
    }
    *candidate = fine ? q : *candidate;
    return fine;
}

/* By a warp: the match at base + lane(): with a candidate that agrees in eight bytes, otherwise
 * with one that agrees in four. */
__device__ inline uint32_t match_full(const full_shared *f, uint32_t length, uint32_t base,
                                      uint32_t notes)
{
    const uint32_t p = base + lane(), part = base / PART;
    const bool valid = p + TAIL <= length;
    const ahead here(&f->s, p);
    const uint16_t *eights =
        f->eights + (part << EIGHTS_LOG2) + hash_of_eight(here.of[0], here.of[1]);
    const uint16_t *fours = f->s.tables + (part << TABLE_LOG2) + hash_of_four(here.of[0]);
    uint32_t q = p;
    bool fine = nearest<EIGHTS_LOG2, true>(&f->s, here, valid, notes >> 16, part, eights, &q);

    fine |=
        nearest<TABLE_LOG2, false>(&f->s, here, valid && !fine, notes & 0xffff, part, fours, &q);
    if (!__any_sync(ALL, fine))
        return 0;
    uint32_t n = agreeing(here, ahead(&f->s, q));
    if (__any_sync(ALL, fine && n == MEASURED)) {
        const uint32_t more = agreeing(ahead(&f->s, p + MEASURED), ahead(&f->s, q + MEASURED));
        n += n == MEASURED ? more : 0;
    }
    return fine ? (p - q) | min(n, length - p) << 16 : 0;
}

/* By a block: no position has been inserted. */
__device__ inline void clear_tables(full_shared *f)
{
    for (uint32_t i = threadIdx.x; i < (PARTS << TABLE_LOG2) / 2; i += ENCODE_THREADS)
        ((uint32_t *)f->s.tables)[i] = NONE << 16 | NONE;
    for (uint32_t i = threadIdx.x; i < (PARTS << EIGHTS_LOG2) / 2; i += ENCODE_THREADS)
        ((uint32_t *)f->eights)[i] = NONE << 16 | NONE;
    __syncthreads();
}

/* By the first warps of a block: a warp for each part and table. */
__device__ inline void insert_all(full_shared *f, uint32_t length, uint32_t *notes)
{
    const uint32_t warp = threadIdx.x / 32, part = warp % PARTS;

    if (warp >= 2 * PARTS || part * PART >= length)
        return;
    if (warp < PARTS)
        insert_notes<TABLE_LOG2, 1>(length, part, f->s.tables + (part << TABLE_LOG2),
                                    (uint16_t *)notes);
    else
        insert_notes<EIGHTS_LOG2, 2>(length, part, f->eights + (part << EIGHTS_LOG2),
                                     (uint16_t *)notes + 1);
}

/* By a warp: the matches of a piece. */
__device__ inline void match_full_piece(const full_shared *f, uint32_t length, uint32_t piece,
                                        uint32_t *notes)
{
    const uint32_t end = min(piece + PIECE, (length + 31) / 32 * 32);
    uint32_t next = piece < end ? notes[piece + lane()] : 0;

    for (uint32_t base = piece; base < end; base += 32) {
        const uint32_t now = next;
        if (base + 32 < end)
            next = notes[base + 32 + lane()];
        notes[base + lane()] = match_full(f, length, base, now);
    }
}

/* By a block: from bytes to the matches of all positions. */
__device__ inline void search_full(full_shared *f, uint32_t length, uint32_t *notes)
{
    const uint32_t warp = threadIdx.x / 32;

    hash_full(f, length, notes);
    __syncthreads();
    clear_tables(f);
    insert_all(f, length, notes);
    __syncthreads();
    match_full_piece(f, length, warp * PIECE, notes);
    match_full_piece(f, length, (2 * ENCODE_WARPS - 1 - warp) * PIECE, notes);
    __syncthreads();
}
} // namespace bale_lzr

#endif
