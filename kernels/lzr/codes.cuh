/* lzr on the device: from sequences to classes and literals, and how often each occurs. */
#ifndef BALE_KERNELS_LZR_CODES_CUH
#define BALE_KERNELS_LZR_CODES_CUH

#include "kernels/lzr/room.cuh"

namespace bale_lzr
{
/* What is to be encoded. */
struct chunk {
    uint32_t length;
    uint32_t sequences, literals;
};

__device__ inline uint32_t run_of(uint32_t sequence)
{
    return sequence >> 25;
}

__device__ inline uint32_t length_of_match(uint32_t sequence)
{
    return sequence >> 16 & 0x1ff;
}

/* The classes of a sequence; *raw: its raw bits. before: the three sequences before it, the last
 * one first. */
__device__ inline uint32_t classify(uint32_t sequence, const uint32_t before[REPEATS],
                                    uint32_t *raw)
{
    const uint32_t run = run_of(sequence), length = length_of_match(sequence);
    const uint32_t offset = sequence & 0xffff, runs = class_of_run(run);
    uint32_t bits = 0, matches = 0, offsets = 0;

    *raw = 0;
    if (length > 0) {
        matches = class_of_length(length);
        offsets = REPEATS;
        for (uint32_t back = REPEATS; back-- > 0;)
            if (offset == (before[back] & 0xffff))
                offsets = back;
        if (offsets == REPEATS) {
            offsets = class_of_offset(offset);
            bits = offset_class(offsets).bits;
            *raw = offset & ((1u << bits) - 1);
        }
        const uint32_t more = match_class(matches).bits;
        *raw |= ((length - 3) & ((1u << more) - 1)) << bits;
        bits += more;
    }
    const uint32_t more = run_class(runs).bits;
    *raw |= (run & ((1u << more) - 1)) << bits;
    return runs | matches << 8 | offsets << 16 | (bits + more) << 24;
}

__device__ inline void count_classes(encode_shared *s, uint32_t codes)
{
    const uint32_t runs = codes & 255, matches = codes >> 8 & 255;

    atomicAdd(&s->run_counts[runs], 1u);
    if (runs != RUN_ONLY)
        atomicAdd(&s->match_counts[matches], 1u);
    if (matches != 0)
        atomicAdd(&s->offset_counts[codes >> 16 & 255], 1u);
}

/* By a thread: the literals of a sequence, from the byte at place on, become those from `first` on. */
__device__ inline void collect(encode_shared *s, uint32_t place, uint32_t run, uint32_t first,
                               room *r)
{
    for (uint32_t n = 0; n < run; n++) {
        const uint32_t byte = s->byte(place + n), table = (place + n) % LITERAL_TABLES;
        r->literals[first + n] = (uint8_t)byte;
        r->table[first + n] = (uint8_t)table;
        atomicAdd(&s->literal_counts[table][byte], 1u);
    }
}

/* By a block: replaces the sequences by raw bits, and writes codes and literals. */
__device__ inline void make_codes(chunk *c, room *r, encode_shared *s)
{
    uint32_t bytes = 0, literals = 0;

    for (uint32_t i = threadIdx.x; i < 256; i += ENCODE_THREADS) {
        for (uint32_t t = 0; t < LITERAL_TABLES; t++)
            s->literal_counts[t][i] = 0;
        if (i < RUNS)
            s->run_counts[i] = 0;
        if (i < MATCHES)
            s->match_counts[i] = 0;
        if (i < OFFSETS)
            s->offset_counts[i] = 0;
        if (i < REPEATS) /* the offsets before the first are 1, 4 and 8 */
            s->last_sequences[i] = i == 0 ? 1 : 4 * i;
    }
    for (uint32_t base = 0; base < c->sequences; base += ENCODE_THREADS) {
        const uint32_t k = base + threadIdx.x;
        const bool there = k < c->sequences;
        const uint32_t sequence = there ? r->sequence[k] : 0;
        const uint32_t run = run_of(sequence);
        uint32_t before[REPEATS], raw, all, all_literals;
        __syncthreads();
        for (uint32_t back = 0; back < REPEATS; back++)
            before[back] = threadIdx.x > back ? (there ? r->sequence[k - 1 - back] : 0)
                                              : s->last_sequences[back - threadIdx.x];
        const uint32_t place = bytes + block_sum(run + length_of_match(sequence), s->sums, &all);
        const uint32_t first = literals + block_sum(run, s->sums, &all_literals);
        if (threadIdx.x >= ENCODE_THREADS - REPEATS)
            s->last_sequences[ENCODE_THREADS - 1 - threadIdx.x] = sequence;
        if (there) {
            const uint32_t codes = classify(sequence, before, &raw);
            r->sequence[k] = raw;
            r->codes[k] = codes;
            count_classes(s, codes);
            if (k % 32 == 0)
                s->round_literal[k / 32] = first;
            collect(s, place, run, first, r);
        }
        bytes += all;
        literals += all_literals;
    }
    c->literals = literals;
    if (threadIdx.x == 0)
        s->round_literal[(c->sequences + 31) / 32] = literals;
    __syncthreads();
}

/* By a thread: where groups end. All but the last have whole rounds. */
__device__ inline void cut_groups(const chunk &c, encode_shared *s, uint32_t streams)
{
    const uint32_t rounds = (c.sequences + 31) / 32;
    uint32_t groups = 0, from = 0, first = 0;

    s->stream_sequences[0] = s->stream_sequences[1] = 0;
    for (uint32_t k = 1; k <= rounds; k++) {
        const uint32_t literal = s->round_literal[k];
        if (k < rounds && k - from < GROUP / 32 && literal - first < GROUP_LITERALS)
            continue;
        s->stream_sequences[groups % streams] += min(32 * k, c.sequences) - 32 * from;
        s->group_round[groups++] = from;
        from = k;
        first = literal;
    }
    s->group_round[groups] = rounds;
    s->groups = groups;
}
} // namespace bale_lzr

#endif
