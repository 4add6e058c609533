/* cusz on the device: the matches of a segment (spec.md, Matches), which kernels/lzss finds in its
 * folded words. A warp for a segment. */
#ifndef BALE_KERNELS_CUSZ_MATCH_CUH
#define BALE_KERNELS_CUSZ_MATCH_CUH

#include "kernels/cusz/groups.cuh"
#include "kernels/lzss/encode.cuh"

namespace bale_cusz
{
constexpr uint32_t PIECE = 1u << CUSZ_PIECE_LOG2, WINDOW = 255;
/* What a word is, by place: to be written itself, or one of a match but not its first. That one has
 * its distance less one, and 256 times its length less CUSZ_MATCH_LESS, which is 512 or more. */
constexpr uint32_t ALONE = 0, COVERED = 1;

/* Of a warp, in shared memory. Places are made when the sets are done with. */
struct alignas(16) matcher {
    union {
        bale_lzss::encoder_shared<1, 8> sets;
        uint16_t places[PIECE];
        uint32_t pairs[PIECE / 2];
    };
    uint16_t symbols[PIECE];
    uint32_t flags[PIECE / 32];
    uint16_t payload[PIECE];
};

/* By a warp: parses the segment [begin, end). Returns its LZSS tokens; 0: its words are written one
 * by one. */
template <typename WORD>
__device__ inline uint32_t parse(const differences<WORD, false> &d, stage *st, uint32_t begin,
                                 uint32_t end, matcher *m)
{
    group_reader<WORD, false> words(d, st, begin);
    bool large = false;

    __syncwarp();
    for (uint32_t at = begin; at < end; at += GROUP) {
        const words_of_lane<WORD> own = words.next(end);
        for (uint32_t k = 0; k < own.there; k++) {
            m->symbols[at - begin + EACH * bale_warp::lane() + k] = (uint16_t)own.words[k];
            large = large || own.words[k] >= CUSZ_SYMBOL_MAX;
        }
    }
    __syncwarp();
    if (__any_sync(ALL, large))
        return 0;
    bale_lzss::piece_encoder<1, 8> piece(&m->sets, (const uint8_t *)m->symbols, end - begin, WINDOW,
                                         (uint8_t *)m->flags, (uint8_t *)m->payload);
    return piece.encode().tokens;
}

/* By a warp: makes the places of so many tokens' words, with matches of least words or more. */
__device__ inline void place_matches(matcher *m, uint32_t tokens, uint32_t least)
{
    uint32_t done = 0;

    __syncwarp();
    for (uint32_t k = bale_warp::lane(); k < PIECE / 2; k += 32)
        m->pairs[k] = 0;
    __syncwarp();
    for (uint32_t first = 0; first < tokens; first += 32) {
        const uint32_t k = first + bale_warp::lane();
        const bool points = k < tokens && m->flags[k / 32] >> k % 32 & 1;
        const uint32_t value = points ? m->payload[k] : 0;
        const uint32_t length = points ? (value >> 8) + CUSZ_MATCH_LESS : k < tokens;
        const uint32_t upto = done + bale_warp::inclusive_sum(length), at = upto - length;
        if (points && length >= least) {
            m->places[at] = (uint16_t)value;
            for (uint32_t i = at + 1; i < upto; i++)
                m->places[i] = COVERED;
        }
        done = __shfl_sync(ALL, upto, 31);
    }
    __syncwarp();
}

/* The token of a match's first place. */
__device__ inline uint32_t match_token(uint32_t place)
{
    const uint32_t length = place >> 8, log2 = 31 - (uint32_t)__clz((int)(length | 1));

    if ((place & 255) > 0)
        return log2 + CUSZ_FAR - 1;
    return length == CUSZ_MATCH_MOST - CUSZ_MATCH_LESS ? CUSZ_LONGEST : log2;
}

/* How many low bits of a match's length follow its token. */
__device__ inline uint32_t match_low(uint32_t token)
{
    return token == CUSZ_LONGEST ? 0 : token < CUSZ_FAR ? token : token - CUSZ_FAR + 1;
}

/* And of its distance. */
__device__ inline uint32_t match_distance_bits(uint32_t token)
{
    return token >= CUSZ_FAR && token < CUSZ_LONGEST ? CUSZ_DISTANCE_BITS : 0;
}
} // namespace bale_cusz

#endif
