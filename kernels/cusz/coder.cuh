/* cusz on the device: the codes of a frame, and what is encoded with them. */
#ifndef BALE_KERNELS_CUSZ_CODER_CUH
#define BALE_KERNELS_CUSZ_CODER_CUH

#include "kernels/cusz/layout.cuh"
#include "kernels/cusz/learn.cuh"
#include "kernels/cusz/match.cuh"

namespace bale_cusz
{
constexpr unsigned ENCODE_THREADS = 256, ENCODE_WARPS = ENCODE_THREADS / 32;

/* Codes: code << 4 | length. */
struct coder {
    uint32_t tokens[CUSZ_TOKENS];
    uint32_t words[CUSZ_LITERALS]; /* of folded words */
    uint16_t gaps[1 << EACH];      /* bits of the zeros between the words of a lane that are not */
};

/* By a thread: bits of a run of zeros. */
__device__ inline uint32_t run_bits(const coder &codes, uint32_t run)
{
    const uint32_t log2 = 31 - (uint32_t)__clz((int)(run | 1));

    return run > 0 ? (codes.tokens[log2] & 15) + log2 : 0;
}

__device__ inline uint32_t gap_bits(const coder &codes, uint32_t nonzero)
{
    uint32_t bits = 0;

    while (nonzero & (nonzero - 1)) {
        nonzero >>= __ffs((int)nonzero);
        bits += run_bits(codes, (uint32_t)__ffs((int)nonzero) - 1);
    }
    return bits;
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
    codes->gaps[thread] = (uint16_t)gap_bits(*codes, thread);
    __syncthreads();
}
static_assert(ENCODE_THREADS == 1 << EACH, "a thread for each");

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
            place_matches(w.m, tokens, w.codes->tokens[1] & 15 ? CUSZ_MATCH_FEW : CUSZ_MATCH_MANY);
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
