/* cusz on the device: what a block that decodes has in shared memory: the codes by the bits that
 * they begin with. */
#ifndef BALE_KERNELS_CUSZ_LOOK_CUH
#define BALE_KERNELS_CUSZ_LOOK_CUH

#include "kernels/cusz/layout.cuh"
#include "kernels/cusz/sums.cuh"

namespace bale_cusz
{
constexpr uint32_t ROW = 128; /* bytes of a segment's words that are written at once */

/* One row for each lane, and a word more, so that lanes use different banks. */
struct tile {
    uint64_t words[32 * (ROW / 8 + 1)];
};

struct decode_shared {
    head h;
    book b;
    /* By the next CUSZ_LOOK bits: what the first code there stands for. Length | word << 16, or
     * length | ZEROS | how many << 16, or length | OTHER | token << 16; 0 for longer codes. */
    uint32_t look[1 << CUSZ_LOOK];
    union {
        /* And what several codes there do. Length | words << 4 | places of two words << 8 and
         * << 12, and these << 16 and << 24; the others are 0. 0: not even one. */
        uint32_t several[1 << CUSZ_LOOK];
        uint64_t sums[SEGMENTS / 2]; /* of the words before a segment, or half as many bits */
    };
    uint32_t ends[SEGMENTS + 1]; /* where segments begin and end, in bits */
    tile tiles[1];               /* one for each warp; then what threads have added up */
};
constexpr uint32_t ZEROS = 16, OTHER = 32;
constexpr uint32_t SEVERAL = 15; /* words at most */

constexpr size_t decode_room(uint32_t threads)
{
    return sizeof(decode_shared) + (threads / 32 - 1) * sizeof(tile);
}
static_assert(sizeof(tile) >= 32 * sizeof(uint64_t), "a warp's threads have a word each");
static_assert(decode_room(THREADS_MAX) <= 163 << 10,
              "of a multiprocessor of compute capability 8.0");

/* What a token stands for, besides the length of its code. */
__device__ inline uint32_t entry_of(uint32_t token, const head &h)
{
    if ((token > 0 && token < CUSZ_RUNS && (h.matches || h.low_runs)) || token >= CUSZ_CLASSES)
        return token << 16 | OTHER;
    return token < CUSZ_RUNS ? 1u << token << 16 | ZEROS : unfolded(token - CUSZ_RUNS + 1) << 16;
}

/* The entry of CUSZ_LOOK bits that begin with the code of a token: with the low bits of a run, if
 * these are there. */
__device__ inline uint32_t whole_entry_of(uint32_t bits, uint32_t token, uint32_t length,
                                          const head &h)
{
    if (!h.low_runs || token >= CUSZ_RUNS || length + token > CUSZ_LOOK)
        return length | entry_of(token, h);
    const uint32_t low = bits >> (CUSZ_LOOK - length - token) & ((1u << token) - 1);
    return (length + token) | ZEROS | ((1u << token) + low) << 16;
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

/* As many codes as these bits have as a whole, while two words at most are not 0. */
__device__ inline uint32_t several_of(const decode_shared *s, uint32_t bits)
{
    uint32_t used = 0, words = 0, count = 0, places = 0, values = 0;

    for (;;) {
        const uint32_t entry = s->look[bits << used & ((1u << CUSZ_LOOK) - 1)];
        const uint32_t length = entry & 15, value = entry & ZEROS ? 0 : entry >> 16;
        const uint32_t more = entry & ZEROS ? entry >> 16 : 1;
        if (length == 0 || entry & OTHER || used + length > CUSZ_LOOK || words + more > SEVERAL ||
            (value && count == 2))
            break;
        if (value && count++ == 0) { /* if there is no second one, it is the first again */
            places = words * 0x11;
            values = (value & 255) * 0x101;
        } else if (value) {
            places = (places & 15) | words << 4;
            values = (values & 255) | (value & 255) << 8;
        }
        used += length;
        words += more;
    }
    return used | words << 4 | places << 8 | values << 16;
}

/* By a block. */
__device__ inline void make_look(decode_shared *s)
{
    for (uint32_t i = threadIdx.x; i < 1u << CUSZ_LOOK; i += blockDim.x) {
        uint32_t length;
        const uint32_t token =
            find_code(&s->b, i << (CUSZ_LENGTH_MAX - CUSZ_LOOK), 1, CUSZ_LOOK, &length);
        s->look[i] = length ? whole_entry_of(i, token, length, s->h) : 0;
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < 1u << CUSZ_LOOK; i += blockDim.x)
        s->several[i] = several_of(s, i);
}
} // namespace bale_cusz

#endif
