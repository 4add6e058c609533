/* cusz on the device: the codes of a frame, and what is encoded with them. */
#ifndef BALE_KERNELS_CUSZ_CODER_CUH
#define BALE_KERNELS_CUSZ_CODER_CUH

#include "kernels/cusz/layout.cuh"
#include "kernels/cusz/learn.cuh"
#include "kernels/cusz/match.cuh"

namespace bale_cusz
{
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

    for (uint32_t i = thread; i < CUSZ_TOKENS; i += blockDim.x)
        codes->tokens[i] = p.code[i];
    __syncthreads();
    if (thread < CUSZ_LITERALS)
        codes->words[thread] = codes->tokens[thread ? CUSZ_RUNS - 1 + thread : 0];
    if (thread < 1 << EACH)
        codes->gaps[thread] = (uint16_t)gap_bits(*codes, thread);
    __syncthreads();
}
static_assert(CELL_THREADS >= 1 << EACH, "a thread for each");

/* By a thread: the code of a folded word; *low: how many of its low bits follow. LITERALS: the word
 * has a token of its own. */
template <bool LITERALS, typename WORD>
__device__ inline uint32_t code_of(const coder &codes, WORD word, uint32_t *low)
{
    *low = 0;
    return LITERALS || word < CUSZ_LITERALS ? codes.words[(uint32_t)word]
                                            : codes.tokens[token_of(word, low)];
}

/* The subject of a chunk as the codec works on it. */
template <typename WORD, bool QUICK, bool MATCHES> struct work {
    differences<WORD, QUICK> d;
    layout l;
    const coder *codes;
    bool runs;              /* zeros are written as runs */
    stage *st;              /* of the warp */
    matcher *m;             /* the same, with matches */
    const kept_group *kept; /* NULL: none are kept */

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

    /* How many words are kept, and CLASSES_KEPT. */
    __device__ uint32_t kept_of(uint32_t group) const
    {
        uint32_t number;
        const cell_work &cell = d.cell_of(group, &number);

        return kept ? cell.kept[number] : NONE_KEPT | CLASSES_KEPT;
    }

    /* Whether runs of zeros end behind the group. */
    __device__ bool ends_segment(uint32_t group) const
    {
        return (group + 1) % groups_of_segment() == 0 || group + 1 == groups();
    }
};

/* By a warp: goes through some groups, up to 32 that follow each other. The first words that are
 * kept of a group are loaded before it is that group's turn. */
template <typename WORK> class kept_reader
{
  public:
    __device__ kept_reader(const WORK &w, uint32_t begin, uint32_t end)
        : w_(w), begin_(begin), end_(end), group_(begin)
    {
        const uint32_t own = begin + bale_warp::lane();

        counts_ = own < end ? w.kept_of(own) : 0;
        ahead_ = load(begin);
    }

    /* How many are kept of the next group; *entry: the lane's one of the first 32; *literals: all
     * words have tokens of their own. */
    __device__ uint32_t next(uint32_t *entry, bool *literals)
    {
        const uint32_t count = __shfl_sync(ALL, counts_, (int)(group_ - begin_));

        *entry = ahead_;
        *literals = !(count & CLASSES_KEPT);
        ahead_ = load(++group_);
        return count & (CLASSES_KEPT - 1);
    }

  private:
    __device__ uint32_t load(uint32_t group) const
    {
        return w_.kept && group < end_ ? w_.kept[group].few[bale_warp::lane()] : 0;
    }

    const WORK &w_;
    const uint32_t begin_, end_;
    uint32_t group_, counts_, ahead_;
};

/* By a warp: a group's words, of which all or so many are kept. */
template <typename WORD, bool QUICK, bool MATCHES>
__device__ inline words_of_lane<uint32_t> kept_words(const work<WORD, QUICK, MATCHES> &w,
                                                     uint32_t group, uint32_t kept)
{
    const uint32_t first = EACH * bale_warp::lane(), there = w.words_of(group);
    words_of_lane<uint32_t> own;

    if (kept == ALL_KEPT)
        load_words(w.kept[group].words, own.words);
    else
        load_few(w.kept[group], kept, w.st, own.words);
    own.there = first < there ? min(there - first, EACH) : 0;
    return own;
}

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
