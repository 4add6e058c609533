/* fsst on the device: learning the symbols of a frame (spec.md, Learning), a block for a frame. No
 * result depends on the order in which threads come: sums are of integers, of candidates with a
 * slot the best stays, and the best of all are found by comparing with a border. */
#ifndef BALE_KERNELS_FSST_LEARN_CUH
#define BALE_KERNELS_FSST_LEARN_CUH

#include "kernels/codec/lists.h"
#include "kernels/fsst/learn_shared.cuh"
#include "kernels/fsst/select.cuh"

namespace bale_fsst
{
/* The log2 of the quarters of the sample that a round looks at. The first rounds find short
 * strings, which are frequent. */
__device__ inline uint32_t quarters_log2(uint32_t round)
{
    return round < 2 ? 0 : round == 2 ? 1 : 2;
}

/* ---- Counting ---- */

__device__ inline void count_pair(learn_shared *s, uint32_t a, uint32_t b)
{
    const uint32_t pair = a * ITEMS + b, fresh = pair << COUNT_BITS | 1;
    uint32_t at = pair * 0x9e3779b1u >> (32 - PAIR_WORDS_LOG2);

    for (;; at = (at + 1) % PAIR_WORDS) {
        const uint32_t there = atomicCAS(&s->pairs[at], 0u, fresh);
        if (there == 0)
            return;
        if (there >> COUNT_BITS == pair) {
            atomicAdd(&s->pairs[at], 1u);
            return;
        }
    }
}

/* By a thread: counts step k of the i-th piece. */
__device__ inline void count_step(learn_shared *s, uint32_t k, uint32_t i, bool pairs)
{
    const uint32_t item = s->p.items[k * PIECES + i];

    atomicAdd(&s->once[item], 1u);
    if (!pairs || k == 0)
        return;
    const uint32_t before = s->p.items[(k - 1) * PIECES + i];
    count_pair(s, before, item);
    if (item < LITERAL && s->m.s.length[item] > 1)
        count_pair(s, before, LITERAL + (uint32_t)(s->m.s.bytes[item] & 0xff));
}

/* By a block: parses the pieces of a round and counts their items, and pairs of them if asked. */
__device__ inline void count_sample(learn_shared *s, uint32_t round, bool pairs)
{
    const uint32_t log2 = quarters_log2(round), pieces = PIECES / 4 << log2;

    for (uint32_t i = threadIdx.x; pairs && i < PAIR_WORDS; i += LEARN_THREADS)
        s->pairs[i] = 0;
    for (uint32_t i = threadIdx.x; i < ITEMS; i += LEARN_THREADS)
        s->once[i] = 0;
    if (threadIdx.x == 0)
        s->cost = s->most_steps = s->frequent_count = 0;
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < pieces; i += LEARN_THREADS) {
        const uint32_t piece = i >> log2 << 2 | (i & ((1u << log2) - 1));
        if (round == 0) /* there are no symbols yet */
            spell_piece(&s->s, piece, i, &s->p);
        else
            atomicAdd(&s->cost, parse_piece(&s->s, &s->m, piece, i, &s->p));
        atomicMax(&s->most_steps, (uint32_t)s->p.steps[i]);
    }
    __syncthreads();
    for (uint32_t at = threadIdx.x; at < s->most_steps * pieces; at += LEARN_THREADS) {
        const uint32_t k = at / (PIECES / 4) >> log2, i = at & (pieces - 1);
        if (k < s->p.steps[i])
            count_step(s, k, i, pairs);
    }
    __syncthreads();
}

/* ---- Candidates ---- */

__device__ inline uint32_t item_length(const learn_shared *s, uint32_t item)
{
    return item < LITERAL ? s->m.s.length[item] : 1;
}

__device__ inline uint64_t item_bytes(const learn_shared *s, uint32_t item)
{
    return item < LITERAL ? s->m.s.bytes[item] : item - LITERAL;
}

/* By a block: lists the frequent pairs that a symbol can have. */
__device__ inline void list_frequent(learn_shared *s)
{
    for (uint32_t i = threadIdx.x; i < PAIR_WORDS; i += LEARN_THREADS) {
        const uint32_t word = s->pairs[i];
        if ((word & ((1u << COUNT_BITS) - 1)) >= FREQUENT &&
            item_length(s, (word >> COUNT_BITS) / ITEMS) < SYMBOL)
            s->frequent[atomicAdd(&s->frequent_count, 1u)] = word;
    }
    __syncthreads();
}

__device__ inline void set_candidate(learn_shared *s, uint32_t i, uint64_t bytes, uint32_t length,
                                     uint32_t gain)
{
    s->c.bytes[i] = bytes;
    s->c.length[i] = (uint8_t)length;
    s->c.gain[i] = gain;
}

/* By a thread: the candidate of an item, or of a pair. */
__device__ inline void make_candidate(learn_shared *s, uint32_t i)
{
    if (i < ITEMS) {
        const uint32_t n = s->once[i], length = n > 0 ? item_length(s, i) : 0;
        set_candidate(s, i, item_bytes(s, i), length, n * (length == 1 ? SINGLE_WEIGHT : length));
        return;
    }
    const uint32_t word = s->frequent[i - ITEMS], pair = word >> COUNT_BITS;
    const uint32_t a = pair / ITEMS, b = pair % ITEMS, first = item_length(s, a);
    const uint32_t length = min(first + item_length(s, b), SYMBOL);
    set_candidate(s, i, item_bytes(s, a) | item_bytes(s, b) << 8 * first, length,
                  (word & ((1u << COUNT_BITS) - 1)) * length);
}

/* By a thread: one of the candidates with the same string gets the gains of all; the others end. */
__device__ inline void join_candidate(learn_shared *s, uint32_t i)
{
    candidates *c = &s->c;
    const uint32_t length = c->length[i];

    if (length == 0)
        return;
    uint32_t at = (uint32_t)((c->bytes[i] * 0x9e3779b97f4a7c15u + length) >> (64 - STRINGS_LOG2));
    for (;; at = (at + 1) % STRINGS) {
        const uint32_t there = atomicCAS(&c->string[at], 0u, i + 1);
        if (there == 0)
            return;
        if (c->bytes[there - 1] == c->bytes[i] && c->length[there - 1] == length) {
            atomicAdd(&c->gain[there - 1], c->gain[i]);
            c->length[i] = 0; /* nobody looks at one that is not in the table */
            return;
        }
    }
}

/* By a block: makes the candidates; count: of the entries, some of which have none. */
__device__ inline uint32_t make_candidates(learn_shared *s, bool pairs)
{
    if (pairs)
        list_frequent(s);
    const uint32_t count = ITEMS + s->frequent_count;
    for (uint32_t i = threadIdx.x; i < count; i += LEARN_THREADS)
        make_candidate(s, i);
    for (uint32_t i = threadIdx.x; i < STRINGS; i += LEARN_THREADS)
        s->c.string[i] = 0;
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < count; i += LEARN_THREADS)
        join_candidate(s, i);
    __syncthreads();
    return count;
}

/* ---- Symbols ---- */

/* By a block: drops candidates that do not pay for their bytes in the part. */
__device__ inline void drop_unpaid(own_slots *own, uint32_t raw_length)
{
    const uint32_t length = sample_length(raw_length);

    for (uint32_t j = 0; j < OF_THREAD; j++) {
        const uint32_t gain = own->rank[j] >> LENGTH_BITS, bytes = own->rank[j] & LENGTH_MASK;
        if ((uint64_t)gain * raw_length < (uint64_t)PAYS * bytes * length)
            own->rank[j] = 0;
    }
}

/* By a block: the candidates become the symbols, in any order. Returns how many. */
__device__ inline uint32_t take_symbols(learn_shared *s, const own_slots &own)
{
    uint32_t mine = 0, count;

    for (uint32_t j = 0; j < OF_THREAD; j++)
        mine += own.rank[j] != 0;
    uint32_t code = sum_before(mine, s->sums, &count);
    clear_slots(&s->m);
    for (uint32_t i = threadIdx.x; i < 256; i += LEARN_THREADS)
        s->m.s.length[i] = 0;
    __syncthreads();
    for (uint32_t j = 0; j < OF_THREAD; j++)
        if (own.rank[j] != 0) {
            const uint32_t length = own.rank[j] & LENGTH_MASK;
            s->m.s.bytes[code] = own.bytes[j];
            s->m.s.length[code] = (uint8_t)length;
            set_slot(&s->m, code++, own.bytes[j], length);
        }
    __syncthreads();
    return count;
}

/* ---- The part ---- */

/* By a block: writes the symbols in the order of their codes. Returns the part's length. Four
 * threads find out what lies before a symbol. */
__device__ inline uint32_t write_part(learn_shared *s, uint32_t count, uint8_t *part)
{
    const symbols *sym = &s->m.s;
    const uint32_t code = threadIdx.x / 4, length = code < count ? sym->length[code] : 0;
    const uint64_t bytes = code < count ? sym->bytes[code] : 0;
    uint32_t at = 0, same = 0;

    if (count == 0)
        return 0;
    for (uint32_t i = threadIdx.x % 4; i < count; i += 4) {
        const uint32_t its = sym->length[i];
        at += its < length || (its == length && sym->bytes[i] < bytes) ? its : 0;
        same += its == code + 1;
    }
    for (uint32_t by = 1; by < 4; by *= 2) {
        at += __shfl_xor_sync(bale_warp::ALL, at, by);
        same += __shfl_xor_sync(bale_warp::ALL, same, by);
    }
    for (uint32_t i = threadIdx.x % 4; i < length; i += 4)
        part[PART_HEAD + at + i] = (uint8_t)(bytes >> 8 * i);
    if (code < PART_HEAD && threadIdx.x % 4 == 0)
        part[code] = (uint8_t)same;
    return PART_HEAD + sum_of_all(threadIdx.x % 4 == 0 ? length : 0, s->sums);
}

/* By a block: learns symbols whose part has capacity bytes at most. Returns how many. */
__device__ inline uint32_t learn_symbols(learn_shared *s, uint32_t raw_length, uint32_t capacity)
{
    const uint32_t length = sample_length(raw_length);
    uint32_t count = take_symbols(s, own_slots{});

    for (uint32_t round = 0; round < ROUNDS; round++) {
        const bool last = round + 1 == ROUNDS;
        count_sample(s, round, !last);
        keep_best_of_slots(s, make_candidates(s, !last));
        own_slots own = take_slots(s);
        keep_best(s, &own, false, SYMBOLS);
        if (last) {
            if (s->cost > length - length / 32)
                return 0;
            drop_unpaid(&own, raw_length);
            keep_best(s, &own, true, capacity - min(capacity, PART_HEAD));
        }
        count = take_symbols(s, own);
    }
    return count;
}

/* A block for each frame. */
__global__ void __launch_bounds__(LEARN_THREADS, 1)
    learn(const cuda_chunk *chunks, const cuda_frame *frames, cuda_lists lists)
{
    const cuda_frame frame = frames[blockIdx.x];
    learn_shared *s = (learn_shared *)bale_shared::memory;

    load_sample(&s->s, frame_bytes{lists.raw + (size_t)frame.first * BALE_CUDA_CELL,
                                   chunks[frame.first].raw_length, frame.raw_length});
    __syncthreads();
    const uint32_t count = learn_symbols(s, frame.raw_length, frame.raw_length / 8);
    const uint32_t length = write_part(s, count, lists.parts + (size_t)blockIdx.x * BALE_CUDA_PART);
    if (threadIdx.x == 0)
        lists.made[blockIdx.x].length = length;
}
} // namespace bale_fsst

#endif
