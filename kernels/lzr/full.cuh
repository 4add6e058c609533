/* lzr on the device: the search of level 2. Every position looks for a match by a hash of four
 * bytes, and by one of eight where that match has fewer than eight. */
#ifndef BALE_KERNELS_LZR_FULL_CUH
#define BALE_KERNELS_LZR_FULL_CUH

#include "kernels/lzr/search.cuh"

namespace bale_lzr
{
/* Of the tables of hashes of four bytes and of eight. Into the latter half the positions are inserted,
 * those at even places. */
constexpr uint32_t FOURS_LOG2 = 14, EIGHTS_LOG2 = 13;
/* Positions that look up together, and then are inserted together. */
constexpr uint32_t BATCH = 16;
constexpr uint32_t NOTED = 256; /* positions whose notes lie together */
/* A warp inserts positions, and the others find the matches of those before. */
constexpr uint32_t MATCHERS = ENCODE_WARPS - 1;
constexpr uint32_t STEP = 2 * MATCHERS * NOTED;
constexpr uint32_t MATCH_MOST = 256; /* bytes */
constexpr uint32_t OFFSETS_LOG2 = 16;

/* Level 2 needs more than level 1. */
struct full_shared {
    encode_shared s;
    union {
        uint16_t eights[1 << EIGHTS_LOG2];
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

static_assert(1 << FOURS_LOG2 == PARTS << TABLE_LOG2, "the same memory");
static_assert(IS_LAST >> FOURS_LOG2 > 0, "a hash and a flag");
static_assert(sizeof(full_shared) <= 113 << 10, "two blocks share a multiprocessor's 228 KiB");

__device__ inline uint32_t hash_of_four(uint32_t four)
{
    return four * 0x9e3779b1u >> (32 - FOURS_LOG2);
}

__device__ inline uint32_t hash_of_eight(uint32_t four, uint32_t next)
{
    return (four * 0x9e3779b1u + next * 0x85ebca6bu) >> (32 - EIGHTS_LOG2);
}

/* Notes of NOTED positions, 16 bits each: lane i % BATCH has those of the positions i by hashes of
 * four bytes, and lane BATCH + i % BATCH those by hashes of eight. First they are hashes, then the
 * candidates. */
struct note_lane {
    uint32_t of[NOTED / BATCH / 2]; /* two each */

    __device__ void load(const uint32_t *notes, uint32_t index)
    {
        const uint4 *from = (const uint4 *)notes + 2 * index;
        const uint4 first = from[0], second = from[1];

        of[0] = first.x, of[1] = first.y, of[2] = first.z, of[3] = first.w;
        of[4] = second.x, of[5] = second.y, of[6] = second.z, of[7] = second.w;
    }

    __device__ void store(uint32_t *notes, uint32_t index) const
    {
        uint4 *to = (uint4 *)notes + 2 * index;

        to[0] = uint4{of[0], of[1], of[2], of[3]};
        to[1] = uint4{of[4], of[5], of[6], of[7]};
    }
};

/* By a block: the hashes of four and of eight bytes at each position; with IS_LAST if it is the
 * last one of its batch that is inserted with this hash. Of hashes of a batch that agree in their
 * low bits, the last alone counts. */
__device__ inline void hash_full(full_shared *f, uint32_t length, uint32_t *notes)
{
    constexpr uint32_t PAIRS = 2, LATEST = 128; /* entries for each batch */
    const bool is_low = lane() < BATCH;
    const uint32_t batch = lane() / BATCH;
    uint32_t *latest = (uint32_t *)f->s.tables + (threadIdx.x / 32 * 2 * PAIRS + batch) * LATEST;
    uint32_t *latest_eights =
        (uint32_t *)f->eights + (threadIdx.x / 32 * 2 * PAIRS + batch) * LATEST / 2;

    for (uint32_t i = lane() % BATCH; i < LATEST; i += BATCH)
        for (uint32_t k = 0; k < 2 * PAIRS; k += 2)
            latest[k * LATEST + i] = latest_eights[k * LATEST / 2 + i / 2] = 0;
    __syncwarp();
    for (uint32_t base = threadIdx.x / 32 * NOTED; base < length; base += ENCODE_WARPS * NOTED) {
        note_lane note;
#pragma unroll
        for (uint32_t i = 0; i < NOTED / 32; i += PAIRS) {
            uint32_t four[PAIRS], eight[PAIRS];
#pragma unroll
            for (uint32_t k = 0; k < PAIRS; k++) {
                const uint32_t at = base + 32 * (i + k) + lane(), bytes = f->s.bytes(at);
                const bool valid = at + TAIL <= length;
                four[k] = hash_of_four(bytes);
                eight[k] = hash_of_eight(bytes, f->s.bytes(at + 4));
                if (valid)
                    atomicMax(&latest[2 * k * LATEST + four[k] % LATEST],
                              (at + 1) << FOURS_LOG2 | four[k]);
                if (valid && at % 2 == 0)
                    atomicMax(&latest_eights[k * LATEST + eight[k] % (LATEST / 2)],
                              (at + 1) << EIGHTS_LOG2 | eight[k]);
            }
            __syncwarp();
#pragma unroll
            for (uint32_t k = 0; k < PAIRS; k++) {
                const uint32_t at = base + 32 * (i + k) + lane();
                if (latest[2 * k * LATEST + four[k] % LATEST] == ((at + 1) << FOURS_LOG2 | four[k]))
                    four[k] |= IS_LAST;
                if (latest_eights[k * LATEST + eight[k] % (LATEST / 2)] ==
                    ((at + 1) << EIGHTS_LOG2 | eight[k]))
                    eight[k] |= IS_LAST;
                const uint32_t other =
                    __shfl_xor_sync(ALL, is_low ? eight[k] : four[k], (int)BATCH);
                note.of[i + k] = is_low ? four[k] | other << 16 : other | eight[k] << 16;
            }
            __syncwarp();
        }
        note.store(notes + base, lane());
    }
}

/* By a warp: replaces the hash of each position of [begin, end) by the last position before it with
 * the same hash, of earlier batches. The first lanes do those of four bytes, the others those of
 * eight. */
__device__ inline void insert_noted(full_shared *f, uint32_t begin, uint32_t end, uint32_t *notes)
{
    uint16_t *const table = lane() < BATCH ? f->s.tables : f->eights;
    note_lane now, next;

    if (begin < end)
        next.load(notes + begin, lane());
    for (uint32_t base = begin; base < end; base += NOTED) {
        uint32_t before[NOTED / BATCH];
        now = next;
        if (base + NOTED < end)
            next.load(notes + base + NOTED, lane());
#pragma unroll
        for (uint32_t i = 0; i < NOTED / BATCH; i++) { /* nothing waits for what is loaded here */
            const uint32_t hash = now.of[i / 2] >> 16 * (i % 2);
            before[i] = table[hash % (1u << FOURS_LOG2)];
            __syncwarp();
            if (hash & IS_LAST)
                table[hash % (1u << FOURS_LOG2)] = (uint16_t)(base + BATCH * i + lane() % BATCH);
            __syncwarp();
        }
#pragma unroll
        for (uint32_t i = 0; i < NOTED / BATCH; i += 2)
            now.of[i / 2] = before[i] | before[i + 1] << 16;
        now.store(notes + base, lane());
    }
}

constexpr uint32_t RANK_OF_BYTE = 4;

/* How good a match is: four for each byte, less the log2 of the offset. 0: there is none. */
__device__ inline uint32_t rank_of(uint32_t length, uint32_t offset)
{
    return length > 0 ? RANK_OF_BYTE * length + (uint32_t)__clz((int)offset) : 0;
}

/* By a warp: the match at base + lane(): with the candidate by four bytes, if that agrees in eight
 * or the one by eight does not, otherwise with that. The bytes at NONE may be read. */
__device__ inline uint32_t match_full(const encode_shared *s, uint32_t length, uint32_t base,
                                      uint32_t by_four, uint32_t by_eight)
{
    const uint32_t p = base + lane();
    const bool valid = p + TAIL <= length;
    const around<0> here(s, p);
    uint32_t q = by_four;
    bool fine = valid & (q != NONE) & (s->bytes(q) == here.of[0]);

    if (valid && (!fine || s->bytes(q + 4) != here.of[1]) && by_eight != NONE &&
        s->bytes(by_eight) == here.of[0] && s->bytes(by_eight + 4) == here.of[1]) {
        q = by_eight;
        fine = true;
    }
    if (!__any_sync(ALL, fine))
        return 0;
    q = fine ? q : p;
    uint32_t n = agree_after<1>(here, around<0>(s, q));
    if (__any_sync(ALL, fine && n == MEASURED)) {
        const uint32_t more =
            agree_after<0>(around<0>(s, p + MEASURED), around<0>(s, q + MEASURED));
        n += n == MEASURED ? more : 0;
    }
    return fine ? (p - q) | min(n, length - p) << 16 : 0;
}

/* By a block: no position has been inserted. */
__device__ inline void clear_tables(full_shared *f)
{
    for (uint32_t i = threadIdx.x; i < (1 << FOURS_LOG2) / 2; i += ENCODE_THREADS)
        ((uint32_t *)f->s.tables)[i] = NONE << 16 | NONE;
    for (uint32_t i = threadIdx.x; i < (1 << EIGHTS_LOG2) / 2; i += ENCODE_THREADS)
        ((uint32_t *)f->eights)[i] = NONE << 16 | NONE;
    __syncthreads();
}

/* By a warp: replaces the candidates of NOTED positions by matches, in order. */
__device__ inline void match_noted(const encode_shared *s, uint32_t length, uint32_t base,
                                   uint32_t *notes)
{
    note_lane fours, eights;

    fours.load(notes + base, lane() % BATCH);
    eights.load(notes + base, BATCH + lane() % BATCH);
    __syncwarp();
#pragma unroll
    for (uint32_t i = 0; i < NOTED / 32; i++) /* lanes from BATCH on have the odd ones */
        fours.of[i] = __byte_perm(fours.of[i], eights.of[i], lane() < BATCH ? 0x5410 : 0x7632);
#pragma unroll 1
    for (uint32_t i = 0; i < NOTED / 32 && base + 32 * i < length; i++) {
        const uint32_t now = fours.of[0];
#pragma unroll
        for (uint32_t k = 0; k + 1 < NOTED / 32; k++)
            fours.of[k] = fours.of[k + 1];
        notes[base + 32 * i + lane()] =
            match_full(s, length, base + 32 * i, now & 0xffff, now >> 16);
    }
}

/* By a block: from bytes to the matches of all positions. */
__device__ inline void search_full(full_shared *f, uint32_t length, uint32_t *notes)
{
    const uint32_t warp = threadIdx.x / 32;

    hash_full(f, length, notes);
    __syncthreads();
    clear_tables(f);
    for (uint32_t begin = 0; begin < length + STEP; begin += STEP) {
        if (warp == MATCHERS)
            insert_noted(f, begin, min(begin + STEP, length), notes);
        else if (begin > 0)
            for (uint32_t base = begin - STEP + warp * NOTED; base < min(begin, length);
                 base += MATCHERS * NOTED)
                match_noted(&f->s, length, base, notes);
        __syncthreads();
    }
}
} // namespace bale_lzr

#endif
