/* cusz on the device: the codes of a frame, and what is encoded with them. */
#ifndef BALE_KERNELS_CUSZ_CODER_CUH
#define BALE_KERNELS_CUSZ_CODER_CUH

#include "kernels/cusz/layout.cuh"
#include "kernels/cusz/learn.cuh"
#include "kernels/cusz/match.cuh"

namespace bale_cusz
{
constexpr unsigned ENCODE_THREADS = 256, ENCODE_WARPS = ENCODE_THREADS / 32;

constexpr uint32_t SHORT_RUNS = 256, CODED_RUNS = 64; /* zeros of a run, less than */

/* Codes one behind the other; length 0: they are longer than 32 bits. */
struct run_code {
    uint32_t bits, length;
};

/* Codes: code << 4 | length. */
struct alignas(8) coder {
    uint32_t tokens[CUSZ_TOKENS];
    uint32_t words[CUSZ_LITERALS]; /* of folded words */
    run_code runs[CODED_RUNS];
    uint16_t gaps[1 << EACH]; /* bits of the zeros between the words of a lane that are not */
    uint16_t short_bits[SHORT_RUNS];                               /* bits of so many zeros */
    uint16_t long_bits[(1 << CUSZ_SEGMENT_MAX) / SHORT_RUNS + 1]; /* of SHORT_RUNS times as many */
};

/* By a thread: bits of a run of zeros. */
__device__ inline uint32_t run_bits(const coder &codes, uint32_t run)
{
    return codes.short_bits[run % SHORT_RUNS] + codes.long_bits[run / SHORT_RUNS];
}

/* The same, before that is known. */
__device__ inline uint32_t sum_of_run(const coder &codes, uint32_t run)
{
    uint32_t bits = 0;

    for (; run; run &= run - 1)
        bits += codes.tokens[31 - __clz((int)(run & (0 - run)))] & 15;
    return bits;
}

__device__ inline uint32_t sum_of_gaps(const coder &codes, uint32_t nonzero)
{
    uint32_t bits = 0;

    while (nonzero & (nonzero - 1)) {
        nonzero >>= __ffs((int)nonzero);
        bits += sum_of_run(codes, (uint32_t)__ffs((int)nonzero) - 1);
    }
    return bits;
}

__device__ inline run_code code_of_run(const coder &codes, uint32_t run)
{
    run_code made = {0, 0};

    while (run) {
        const uint32_t token = 31 - (uint32_t)__clz((int)run), code = codes.tokens[token];
        if (made.length + (code & 15) > 32)
            return {0, 0};
        made = {made.bits << (code & 15) | code >> 4, made.length + (code & 15)};
        run -= 1u << token;
    }
    return made;
}

/* By a block. */
__device__ inline void load_codes(coder *codes, const plan &p)
{
    const uint32_t thread = threadIdx.x;

    for (uint32_t i = thread; i < CUSZ_TOKENS; i += ENCODE_THREADS)
        codes->tokens[i] = p.code[i];
    __syncthreads();
    if (thread < CUSZ_LITERALS)
        codes->words[thread] = codes->tokens[thread ? CUSZ_RUNS - 1 + thread : 0];
    if (thread < CODED_RUNS)
        codes->runs[thread] = code_of_run(*codes, thread);
    if (thread < sizeof codes->long_bits / sizeof *codes->long_bits)
        codes->long_bits[thread] = (uint16_t)sum_of_run(*codes, thread * SHORT_RUNS);
    codes->gaps[thread] = (uint16_t)sum_of_gaps(*codes, thread);
    codes->short_bits[thread] = (uint16_t)sum_of_run(*codes, thread);
    __syncthreads();
}
static_assert(ENCODE_THREADS == 1 << EACH && ENCODE_THREADS == SHORT_RUNS, "a thread for each");

/* By a thread: the code of a folded word; *low: how many of its low bits follow. */
template <typename WORD>
__device__ inline uint32_t code_of(const coder &codes, WORD word, uint32_t *low)
{
    *low = 0;
    return word < CUSZ_LITERALS ? codes.words[(uint32_t)word] : codes.tokens[token_of(word, low)];
}

/* The subject of a chunk as the codec works on it. */
template <typename WORD, bool QUICK, bool MATCHES> struct work {
    differences<WORD, QUICK> d;
    layout l;
    const coder *codes;
    bool runs;  /* zeros are written as runs */
    stage *st;  /* of the warp */
    matcher *m; /* the same, with matches */

    __device__ uint32_t groups() const
    {
        return (l.elements - 1) / GROUP + 1;
    }

    __device__ uint32_t groups_of_segment() const
    {
        return 1u << (l.segment_log2 - CUSZ_SEGMENT_MIN);
    }

    /* Words of a group. */
    __device__ uint32_t words_of(uint32_t group) const
    {
        return min(l.elements - group * GROUP, GROUP);
    }

    /* Whether runs of zeros end behind the group. */
    __device__ bool ends_segment(uint32_t group) const
    {
        return (group + 1) % groups_of_segment() == 0 || group + 1 == groups();
    }
};

/* By a warp: finds the matches of the segment that begins with a group. Returns its places; NULL:
 * there are none. */
template <typename WORD, bool QUICK, bool MATCHES>
__device__ inline const uint16_t *places_of(const work<WORD, QUICK, MATCHES> &w, uint32_t group)
{
    if constexpr (MATCHES) {
        const uint32_t begin = group * GROUP;
        const uint32_t end = min(begin + (1u << w.l.segment_log2), w.l.elements);
        const uint32_t tokens = parse(w.d, w.st, begin, end, w.m);
        if (tokens > 0) {
            place_matches(w.m, tokens,
                          w.codes->tokens[1] & 15 ? CUSZ_MATCH_FEW : CUSZ_MATCH_MANY);
            return w.m->places;
        }
    }
    return nullptr;
}

/* What a word of a lane is, with matches; places: of the group. */
__device__ inline uint32_t place_of(const uint16_t *places, uint32_t k)
{
    return places ? places[EACH * bale_warp::lane() + k] : ALONE;
}
} // namespace bale_cusz

#endif
