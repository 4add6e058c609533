/* cusz on the device: what groups become, and the lists of their elements. By a warp. */
#ifndef BALE_KERNELS_CUSZ_WRITE_CUH
#define BALE_KERNELS_CUSZ_WRITE_CUH

#include "kernels/cusz/bits.cuh"
#include "kernels/cusz/measure.cuh"

namespace bale_cusz
{
/* By a warp: what a group becomes. room: of the warp. */
template <typename WORD, bool QUICK, bool MATCHES, typename NUMBER>
__device__ inline void
write_group(const work<WORD, QUICK, MATCHES> &w, const words_of_lane<NUMBER> &own, uint32_t group,
            const uint16_t *places, uint32_t open, uint32_t at, const target &to, uint32_t *room)
{
    const uint32_t lane = bale_warp::lane(), nonzero = w.runs ? own.nonzero() : 0;
    uint32_t run = 0, behind = 0;
    packed_codes first, second; /* halves of the lane's words */

    __syncwarp(); /* the words were there */
    if (w.runs) {
        const uint32_t any = __ballot_sync(ALL, nonzero != 0);
        const uint32_t upto = words_upto_last(nonzero, any), there = w.words_of(group);
        run = zeros_before(nonzero, any, open) - ((uint32_t)__ffs((int)nonzero) - 1);
        if (lane == 31 && w.ends_segment(group))
            behind = any ? there - upto : open + there;
    }
    put_words<EACH / 2, EACH>(&second, w, own, nonzero, places,
                              put_words<0, EACH / 2>(&first, w, own, nonzero, places, run));
    put_run(&second, *w.codes, behind);
    const uint32_t bits = first.count + second.count, upto = bale_warp::inclusive_sum(bits);
    const uint32_t end = at % 32 + __shfl_sync(ALL, upto, 31), count = (end + 31) / 32;
    for (uint32_t k = lane; k < count; k += 32)
        room[k] = 0;
    __syncwarp();
    placed_codes placed = {room, at % 32 + upto - bits};
    if (first.count > 64 || second.count > 64) {
        put_words<EACH / 2, EACH>(&placed, w, own, nonzero, places,
                                  put_words<0, EACH / 2>(&placed, w, own, nonzero, places, run));
        put_run(&placed, *w.codes, behind);
    } else if (bits > 64) {
        placed.put(first.bits, first.count);
        placed.put(second.bits, second.count);
    } else if (bits > 0) {
        placed.put(second.count < 64 ? first.bits << second.count | second.bits : second.bits,
                   bits);
    }
    __syncwarp();
    for (uint32_t k = lane; k < count; k += 32)
        to.put(at / 32 + k, room[k], (k == 0 && at % 32) || (k + 1 == count && end % 32));
    __syncwarp();
}

/* By a lane: bits on their way into a buffer. */
struct lane_bits {
    uint64_t bits;
    uint32_t count;
};

/* By a lane: a run of zeros, and the code of a word of 16 bits. */
template <bool LITERALS>
__device__ inline lane_bits code_of_entry(const coder &codes, uint32_t run, uint32_t word)
{
    uint32_t low, before;
    const uint64_t zeros = code_of_run(codes, run, &before);
    const uint32_t code = code_of<LITERALS>(codes, word, &low), length = code & 15;
    const uint64_t upper = zeros << length | code >> 4;

    return {upper << low | (word & ((1u << low) - 1)), before + length + low};
}

/* By a warp: what a group becomes of which so many words are kept, if zeros are written as runs:
 * the bits [at, end). entry: the lane's one of the first 32. */
template <bool LITERALS, typename WORD, bool QUICK, bool MATCHES>
__device__ inline void write_few(const work<WORD, QUICK, MATCHES> &w, uint32_t group,
                                 uint32_t count, uint32_t entry, uint32_t open, uint32_t at,
                                 uint32_t end, const target &to, uint32_t *room)
{
    const uint32_t lane = bale_warp::lane(), first_word = at / 32;
    const uint32_t words = (end - 32 * first_word + 31) / 32;
    const uint32_t *few = w.kept[group].few;
    uint32_t behind = 0, placed = at % 32;

    for (uint32_t k = lane; k < words; k += 32)
        room[k] = 0;
    __syncwarp();
    for (uint32_t first = 0; first < count; first += 32) {
        const uint32_t i = first + lane;
        if (first > 0)
            entry = i < count ? few[i] : 0;
        const uint32_t place = entry >> 16, other = __shfl_up_sync(ALL, place + 1, 1);
        const uint32_t run = place - (lane == 0 ? behind : other) + (i == 0 ? open : 0);
        const lane_bits own =
            i < count ? code_of_entry<LITERALS>(*w.codes, run, entry & 0xffff) : lane_bits{0, 0};
        const uint32_t upto = bale_warp::inclusive_sum(own.count);
        if (i < count)
            place_bits(room, placed + upto - own.count, own.bits << (64 - own.count));
        placed += __shfl_sync(ALL, upto, 31);
        behind = __shfl_sync(ALL, place + 1, (int)min(31u, count - first - 1));
    }
    if (lane == 0 && w.ends_segment(group)) {
        placed_codes codes = {room, placed};
        put_run(&codes, *w.codes, (count ? 0 : open) + w.words_of(group) - behind);
    }
    __syncwarp();
    for (uint32_t k = lane; k < words; k += 32)
        to.put(first_word + k, room[k], (k == 0 && at % 32) || (k + 1 == words && end % 32));
    __syncwarp();
}

/* By a lane: its listed elements of a group. */
template <typename WORD, bool QUICK>
__device__ inline uint32_t own_listed(const differences<WORD, QUICK> &d, uint32_t group)
{
    uint32_t mask = 0;

    for (uint32_t k = 0; k < EACH; k++)
        mask |= (uint32_t)d.is_listed(group * GROUP + EACH * bale_warp::lane() + k) << k;
    return mask;
}

/* By a warp: the listed elements of a group, of which the first has number `at`. */
template <typename WORD, bool QUICK>
__device__ inline void write_list(const differences<WORD, QUICK> &d, uint32_t group, uint8_t *list,
                                  uint32_t count, uint32_t at)
{
    const row<WORD> elements = {list + 4 * (size_t)count};
    uint32_t mask = own_listed(d, group);

    at += bale_warp::inclusive_sum((uint32_t)__popc(mask)) - (uint32_t)__popc(mask);
    for (; mask; mask &= mask - 1, at++) {
        const uint32_t i =
            group * GROUP + EACH * bale_warp::lane() + (uint32_t)__ffs((int)mask) - 1;
        put32(list + 4 * (size_t)at, i);
        elements.store(at, d.elements.load(i));
    }
}
} // namespace bale_cusz

#endif
