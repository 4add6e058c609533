/* cusz on the device: what is encoded of 32 words at a time, and how many bits that takes. */
#ifndef BALE_KERNELS_CUSZ_STEP_CUH
#define BALE_KERNELS_CUSZ_STEP_CUH

#include "kernels/cusz/layout.cuh"
#include "kernels/cusz/match.cuh"

namespace bale_cusz
{
/* The subject of a chunk as the codec works on it. */
template <typename WORD, bool MATCHES> struct work {
    differences<WORD> d;
    layout l;
    const uint32_t *code;
    bool runs;  /* zeros are written as runs */
    matcher *m; /* with matches: of the warp */
};

/* By a warp: finds a segment's matches. Returns its places; NULL: there are none. */
template <typename WORD, bool MATCHES>
__device__ inline const uint16_t *places_of(const work<WORD, MATCHES> &w, uint32_t begin,
                                            uint32_t end)
{
    if constexpr (MATCHES) {
        const uint32_t tokens = parse(w.d, begin, end, w.m);
        if (tokens > 0) {
            place_matches(w.m, tokens, w.code[1] & 15 ? CUSZ_MATCH_FEW : CUSZ_MATCH_MANY);
            return w.m->places;
        }
    }
    return nullptr;
}

/* By a thread: bits of a match. */
__device__ inline uint32_t match_bits(const uint32_t *code, uint32_t place)
{
    const uint32_t token = match_token(place);

    return (code[token] & 15) + match_low(token) + match_distance_bits(token);
}

/* By a thread: bits of a run of zeros. */
__device__ inline uint32_t run_bits(const uint32_t *code, uint32_t run)
{
    uint32_t bits = 0;

    for (; run; run &= run - 1)
        bits += code[31 - __clz((int)(run & (0 - run)))] & 15;
    return bits;
}

/* By a thread: bits of a word, folded. */
template <typename WORD> __device__ inline uint32_t word_bits(const uint32_t *code, WORD word)
{
    uint32_t low = 0;
    const uint32_t token = word ? token_of(word, &low) : 0;

    return (code[token] & 15) + low;
}

/* 32 words of a segment, folded; a lane writes its word, behind the zeros before it. */
template <typename WORD> struct step {
    WORD word;
    bool listed;
    bool writes;  /* the lane writes a word */
    uint32_t run; /* zeros before it, if they are written as runs */
    uint32_t bits;
    uint32_t place; /* what the word is, with matches */
};

/* By a warp: the next words of a segment, as far as they are there. places: of the next words. */
template <typename WORD, bool MATCHES>
__device__ inline step<WORD> next_step(const work<WORD, MATCHES> &w, stretch<WORD> *words,
                                       zero_runs *open, const uint16_t *places, uint32_t there)
{
    const bool is_there = bale_warp::lane() < there;
    step<WORD> s;

    s.word = folded(words->next(&s.listed));
    s.listed = s.listed && is_there;
    if constexpr (MATCHES) {
        s.place = is_there && places ? places[bale_warp::lane()] : ALONE;
        s.writes = is_there && s.place != COVERED;
        s.run = 0;
        s.bits = !s.writes          ? 0
                 : s.place != ALONE ? match_bits(w.code, s.place)
                                    : word_bits(w.code, s.word);
        return s;
    }
    s.place = ALONE;
    s.writes = is_there && (s.word != 0 || !w.runs);
    const uint32_t writing = __ballot_sync(ALL, s.writes);
    s.run = s.writes && w.runs ? open->before(writing) : 0;
    s.bits = s.writes ? run_bits(w.code, s.run) + word_bits(w.code, s.word) : 0;
    if (w.runs)
        open->go_on(writing, there);
    return s;
}
} // namespace bale_cusz

#endif
