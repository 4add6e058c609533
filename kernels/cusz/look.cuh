/* cusz on the device: what a block that decodes has in shared memory: the codes by the bits that
 * they begin with. */
#ifndef BALE_KERNELS_CUSZ_LOOK_CUH
#define BALE_KERNELS_CUSZ_LOOK_CUH

#include "kernels/cusz/layout.cuh"
#include "kernels/cusz/sums.cuh"

namespace bale_cusz
{
constexpr uint32_t CELL_SEGMENTS = BALE_CUDA_CELL / 4 >> CUSZ_SEGMENT_MIN;
constexpr uint32_t STAGE = 22 << 10; /* bytes of codes that are read from shared memory */

struct decode_shared {
    quad<uint64_t> words[BALE_CUDA_CELL / 16];
    /* By the next CUSZ_LOOK bits: what the codes there stand for, with their low bits, as far as
     * they are there as a whole and at most two words are not zero. In the lower half length |
     * words << 4 | a word << 16, in the upper one the places of the two, PLACE_BITS each, and the
     * other word above them. 0: not even one code. */
    uint64_t several[1 << CUSZ_LOOK];
    uint16_t first[1 << CUSZ_LOOK]; /* the first code there: length | token << 4; 0: it is longer */
    head h;
    book b;
    uint32_t ends[CELL_SEGMENTS + 1]; /* where segments begin and end, in bits */
    uint32_t sums[2][DECODE_WARPS];
    union {
        uint32_t stage[STAGE / 4];
        uint64_t partial[DECODE_THREADS]; /* when all is decoded */
    };
};
constexpr uint32_t PLACE_BITS = 10, SEVERAL = (1 << PLACE_BITS) - 1; /* words at most */
constexpr int32_t SMALL = 1 << (31 - 2 * PLACE_BITS); /* of several words: each is less */

static_assert(sizeof(decode_shared) <= 113 << 10, "two blocks on a multiprocessor");

/* How many low bits follow the code of a token, which is no match. */
__device__ inline uint32_t low_bits(uint32_t token, const head &h)
{
    if (token >= CUSZ_CLASSES)
        return (token - CUSZ_CLASSES) / 4 + CUSZ_CLASS_LOG2 - 2;
    return token < CUSZ_RUNS && h.low_runs ? token : 0;
}

/* The token whose code begins these 15 bits, and from this length on; *length: of its code, 0 if
 * there is none. */
__device__ inline uint32_t find_code(const book *b, uint32_t bits, uint32_t from, uint32_t to,
                                     uint32_t *length)
{
    for (uint32_t n = from; n <= to; n++) {
        const uint32_t code = bits >> (CUSZ_LENGTH_MAX - n);
        if (code < b->first[n] || code >= b->end[n])
            continue;
        *length = n;
        return b->sorted[b->at[n] + code - b->first[n]];
    }
    *length = 0;
    return 0;
}

/* What s->several has for these bits. */
__device__ inline uint64_t several_of(const decode_shared *s, uint32_t bits)
{
    constexpr uint32_t MASK = (1 << CUSZ_LOOK) - 1;
    uint32_t used = 0, words = 0, count = 0, places = 0;
    int32_t values[2] = {0, 0};

    for (;;) {
        const uint32_t left = bits << used & MASK, entry = s->first[left];
        const uint32_t token = entry >> 4, length = entry & 15;
        if (length == 0 || (s->h.matches && token > 0 && token < CUSZ_RUNS))
            break;
        const uint32_t low = low_bits(token, s->h), end = used + length + low;
        if (end > CUSZ_LOOK)
            break;
        const uint32_t number = left >> (CUSZ_LOOK - length - low) & ((1u << low) - 1);
        const uint32_t more = token < CUSZ_RUNS ? (1u << token) + number : 1;
        if (words + more > SEVERAL)
            break;
        if (token >= CUSZ_RUNS) {
            const uint32_t folded = token < CUSZ_CLASSES
                                        ? token - CUSZ_RUNS + 1
                                        : (4 + (token - CUSZ_CLASSES) % 4) << low | number;
            if (count == 2 || folded >= 2 * SMALL)
                break;
            values[1] = (int32_t)unfolded(folded);
            places = count == 0 ? words * (1 + (1 << PLACE_BITS))
                                : (places & SEVERAL) | words << PLACE_BITS;
            values[0] = count == 0 ? values[1] : values[0];
            count++;
        }
        used = end;
        words += more;
    }
    return used | words << 4 | (uint32_t)values[0] << 16 |
           (uint64_t)(places | (uint32_t)values[1] << 2 * PLACE_BITS) << 32;
}

/* By a block. */
__device__ inline void make_look(decode_shared *s)
{
    for (uint32_t i = threadIdx.x; i < 1u << CUSZ_LOOK; i += blockDim.x) {
        uint32_t length;
        const uint32_t token =
            find_code(&s->b, i << (CUSZ_LENGTH_MAX - CUSZ_LOOK), 1, CUSZ_LOOK, &length);
        s->first[i] = (uint16_t)(length ? token << 4 | length : 0);
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < 1u << CUSZ_LOOK; i += blockDim.x)
        s->several[i] = several_of(s, i);
}
} // namespace bale_cusz

#endif
