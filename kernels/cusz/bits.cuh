/* cusz on the device: codes on their way into a chunk. */
#ifndef BALE_KERNELS_CUSZ_BITS_CUH
#define BALE_KERNELS_CUSZ_BITS_CUH

#include "kernels/cusz/coder.cuh"

namespace bale_cusz
{
/* What is written of a chunk by one block: the words [begin, end) of its stored bytes, in which the
 * codes of its groups begin. What is left of the last word is the next groups', so the block goes
 * on with these as far as it needs. last: the chunk's last word with codes, of which only bytes are
 * written, for behind them the list begins; the block keeps it in shared memory. */
struct target {
    uint32_t *words;
    uint32_t begin, end, last;
    uint32_t *last_word;

    /* partial: other groups have bits in it. */
    __device__ void put(uint32_t at, uint32_t bits, bool partial) const
    {
        if (at < begin || at >= end)
            return;
        if (at == last)
            atomicOr(last_word, bits);
        else if (partial)
            atomicOr(&words[at], swapped(bits));
        else
            words[at] = swapped(bits);
    }
};

/* By a lane: its codes one behind the other, if they have 64 bits at most. */
struct packed_codes {
    uint64_t bits = 0;
    uint32_t count = 0;

    /* 63 bits at most. */
    __device__ void put(uint64_t value, uint32_t length)
    {
        bits = bits << length | value;
        count += length;
    }
};

/* By a lane: adds 64 bits at most, of which the lowest are 0, to the words of a buffer. */
__device__ inline void place_bits(uint32_t *buffer, uint32_t at, uint64_t left_aligned)
{
    const uint32_t upper = (uint32_t)(left_aligned >> 32), lower = (uint32_t)left_aligned;
    uint32_t *to = buffer + at / 32;
    const uint32_t first = upper >> at % 32, second = __funnelshift_r(lower, upper, at % 32),
                   third = at % 32 ? lower << (32 - at % 32) : 0;

    if (first)
        atomicOr(to, first);
    if (second)
        atomicOr(to + 1, second);
    if (third)
        atomicOr(to + 2, third);
}

/* By a lane: its codes one after the other into a buffer. */
struct placed_codes {
    uint32_t *buffer;
    uint32_t at;

    __device__ void put(uint64_t value, uint32_t length)
    {
        if (length > 0)
            place_bits(buffer, at, value << (64 - length));
        at += length;
    }
};

/* The code of a run of zeros with its low bits, 30 bits at most; *length: of it. */
__device__ inline uint32_t code_of_run(const coder &codes, uint32_t run, uint32_t *length)
{
    const uint32_t log2 = 31 - (uint32_t)__clz((int)(run | 1)), code = codes.tokens[log2];

    *length = run > 0 ? (code & 15) + log2 : 0;
    return run > 0 ? code >> 4 << log2 | (run - (1u << log2)) : 0;
}

/* By a lane. */
template <typename SINK> __device__ inline void put_run(SINK *to, const coder &codes, uint32_t run)
{
    uint32_t length;
    const uint32_t code = code_of_run(codes, run, &length);

    to->put(code, length);
}

/* By a lane: a run of zeros, as far as there is one, and a word, folded. */
template <typename SINK, typename WORD>
__device__ inline void put_word(SINK *to, const coder &codes, uint32_t run, WORD word)
{
    uint32_t low, before;
    const uint64_t zeros = code_of_run(codes, run, &before);
    const uint32_t code = code_of<false>(codes, word, &low), length = code & 15;

    to->put(zeros << length | code >> 4, before + length);
    if (low > 0)
        to->put((uint64_t)word & (((uint64_t)1 << low) - 1), low);
}

/* By a lane: a match. */
template <typename SINK>
__device__ inline void put_match(SINK *to, const coder &codes, uint32_t place)
{
    const uint32_t token = match_token(place), low = match_low(token);

    to->put(codes.tokens[token] >> 4, codes.tokens[token] & 15);
    to->put((place >> 8) & ((1u << low) - 1), low);
    if (match_distance_bits(token))
        to->put(place & 255, match_distance_bits(token));
}

/* By a lane: the words [FROM, TO) of those of a group that it has. run: zeros before them. Returns
 * those behind the last that is not zero. */
template <uint32_t FROM, uint32_t TO, typename SINK, typename WORD, bool QUICK, bool MATCHES,
          typename NUMBER>
__device__ inline uint32_t put_words(SINK *to, const work<WORD, QUICK, MATCHES> &w,
                                     const words_of_lane<NUMBER> &own, uint32_t nonzero,
                                     const uint16_t *places, uint32_t run)
{
    const uint32_t writes = w.runs ? nonzero : (1u << own.there) - 1;

#pragma unroll
    for (uint32_t k = FROM; k < TO; k++) {
        if (!(writes >> k & 1)) {
            run++;
            continue;
        }
        if constexpr (MATCHES) {
            const uint32_t place = place_of(places, k);
            if (place > COVERED)
                put_match(to, *w.codes, place);
            if (place != ALONE)
                continue;
        }
        put_word(to, *w.codes, w.runs ? run : 0, own.words[k]);
        run = 0;
    }
    return run;
}
} // namespace bale_cusz

#endif
