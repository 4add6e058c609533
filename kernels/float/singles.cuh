/* float on the device: blocks of singles, numbers that have lengths of their own (spec.md, Chunk).
 * Eight neighbouring threads have such a block, each a group of it. */
#ifndef BALE_KERNELS_FLOAT_SINGLES_CUH
#define BALE_KERNELS_FLOAT_SINGLES_CUH

#include <string.h>

#include "kernels/float/block.cuh"
#include "kernels/float/planes.cuh"

namespace bale_float
{
/* Whether an encoder makes such blocks of elements of that size. */
template <typename T> constexpr bool HAS_SINGLES = element<T>::BITS > FLOAT_SINGLES_ABOVE;

/* ---- Classes ---- */

/* The class of a number of so many bits. */
__device__ inline uint32_t class_of(uint32_t length, uint32_t most)
{
    return length == 0 ? FLOAT_CLASSES : min(most - length, FLOAT_CLASSES - 1u);
}

/* Low bits of a number of class c. */
__device__ inline uint32_t low_bits(uint32_t c, uint32_t most)
{
    return c == FLOAT_CLASSES ? 0 : most - 1 - min(c, FLOAT_CLASSES - 2u);
}

__device__ inline uint32_t count_ones(uint32_t x)
{
    return (uint32_t)__popc(x);
}

__device__ inline uint32_t count_ones(uint64_t x)
{
    return (uint32_t)__popcll(x);
}

/* Low bits of so many numbers, which are all that the classes can have. */
template <typename W>
__device__ inline uint32_t low_bits_of(const classes<W> &c, uint32_t count, uint32_t most)
{
    const W both = c.bit[1] & c.bit[2];
    const uint32_t less = count_ones(c.bit[0]) + 2 * count_ones(c.bit[1]) +
                          4 * count_ones(c.bit[2]) - count_ones((W)(both & ~c.bit[0]));

    return count * (most - 1) - less -
           (most - FLOAT_CLASSES - 1) * count_ones((W)(both & c.bit[0]));
}

/* By a warp, eight threads with a value each: the sum of those before the `own`-th. */
__device__ inline uint32_t sum_before_of_eight(uint32_t value, uint32_t own)
{
    uint32_t upto = value;

#pragma unroll
    for (uint32_t by = 1; by < 8; by *= 2) {
        const uint32_t other = __shfl_up_sync(bale_warp::ALL, upto, by);
        upto += own >= by ? other : 0;
    }
    return upto - value;
}

/* ---- Encoding ---- */

/* A group's numbers as they are, where others have planes. */
template <typename T> __device__ inline planes<T> kept(const group<T> &x)
{
    planes<T> p;

    static_assert(sizeof p == sizeof x, "as many bytes");
    memcpy(&p, &x, sizeof p);
    return p;
}

template <typename T> __device__ inline group<T> kept(const planes<T> &p)
{
    group<T> x;

    memcpy(&x, &p, sizeof x);
    return x;
}

/* By a warp, each thread with a group: the bits of all low bits of its block, whose longest number
 * needs more than groups of a width can have; else anything. need: of the group. */
template <typename T> __device__ inline uint32_t low_bits_needed(const group<T> &x, uint32_t need)
{
    uint32_t most = need, bits = 0;

#pragma unroll
    for (uint32_t by = 1; by < 8; by *= 2)
        most = max(most, __shfl_xor_sync(bale_warp::ALL, most, by));
    most = width_of_code(code_of_width(most), element<T>::BITS);
    if (!__any_sync(bale_warp::ALL, most > FLOAT_SINGLES_ABOVE))
        return 0;
#pragma unroll
    for (uint32_t k = 0; k < FLOAT_GROUP; k++)
        bits += x.at[k] == 0 ? 0 : max(length_of(x.at[k]) - 1, most - (FLOAT_CLASSES - 1));
#pragma unroll
    for (uint32_t by = 1; by < 8; by *= 2)
        bits += __shfl_xor_sync(bale_warp::ALL, bits, by);
    return bits;
}

/* By the threads of a block of elements, the `own`-th of eight: zeros to the bytes [at, end). */
__device__ inline void clear_low_bits(uint32_t *words, uint32_t at, uint32_t end, uint32_t own)
{
    for (uint32_t k = at / 4 + own; 4 * k < end; k += 8) {
        if (4 * k >= at && 4 * k + 4 <= end) {
            words[k] = 0;
            continue;
        }
        for (uint32_t i = max(4 * k, at); i < min(4 * k + 4, end); i++)
            ((uint8_t *)words)[i] = 0;
    }
}

/* Puts bits one behind the other into words that are zero there; other threads may put some into
 * the same words. */
class bit_writer
{
  public:
    __device__ bit_writer(uint32_t *words, uint32_t at) : to_(words + at / 32), have_(at % 32)
    {
    }

    /* The lowest n bits, less than those of x. */
    template <typename T> __device__ void put(T x, uint32_t n)
    {
        x &= (T)(((T)1 << n) - 1);
        put_word((uint32_t)x, min(n, 32u));
        if (sizeof(T) == 8)
            put_word((uint32_t)((uint64_t)x >> 32), n - min(n, 32u));
    }

    __device__ void end()
    {
        if (have_ > 0)
            atomicOr(to_, (uint32_t)bits_);
    }

  private:
    uint32_t *to_;
    uint64_t bits_ = 0; /* that are to follow */
    uint32_t have_;     /* so many, less than 32 */

    __device__ void put_word(uint32_t x, uint32_t n)
    {
        bits_ |= (uint64_t)x << have_;
        have_ += n;
        if (have_ >= 32) {
            atomicOr(to_++, (uint32_t)bits_);
            bits_ >>= 32;
            have_ -= 32;
        }
    }
};

/* By a warp, each thread with a group, the `own`-th of its block; what others have than those of
 * singles does not count. Their low bits to words that are zero, from byte `at` on, and what they
 * have of the deltas of their cell. */
template <typename T>
__device__ inline void put_singles(const group<T> &x, uint64_t widths, uint32_t own, uint32_t at,
                                   uint32_t *words, uint8_t *deltas)
{
    const uint32_t most = longest_of(widths);
    classes<uint32_t> c = {};

#pragma unroll
    for (uint32_t k = 0; k < FLOAT_GROUP; k++)
        c.set(k, class_of(length_of(x.at[k]), most));
    const uint32_t bits = low_bits_of(c, FLOAT_GROUP, most);
    const uint32_t before = sum_before_of_eight(bits, own);
    if (!is_of_singles(widths))
        return;
#pragma unroll
    for (uint32_t i = 0; i < CLASS_BITS; i++)
        deltas[deltas_of(widths) + 8 * i + own] = (uint8_t)c.bit[i];
    bit_writer to(words, 8 * at + before);
#pragma unroll
    for (uint32_t k = 0; k < FLOAT_GROUP; k++)
        to.put(x.at[k], low_bits(c.at(k), most));
    to.end();
}

/* ---- Decoding ---- */

/* Reads the deltas of such a block, at a byte of the cell; it has so many elements. False: a rule is
 * broken. */
__device__ inline bool read_singles(uint32_t header, const uint8_t *cell, uint32_t at,
                                    uint32_t elements, unsigned size_bits, widths *w)
{
    const uint32_t most = width_of_code(header & 63, size_bits);
    const uint64_t there = UINT64_MAX >> (FLOAT_BLOCK - min(elements, (uint32_t)FLOAT_BLOCK));
    bale_bytes::unaligned_words<FLOAT_SINGLES_DELTAS / 4> words;

    words.load((const uint32_t *)cell, at, FLOAT_SINGLES_DELTAS);
#pragma unroll
    for (uint32_t i = 0; i < CLASS_BITS; i++)
        w->singles.bit[i] = (uint64_t)words.word(2 * i + 1) << 32 | words.word(2 * i);
    const uint64_t zeros = w->singles.bit[0] & w->singles.bit[1] & w->singles.bit[2];
    w->widths = widths_of_singles(most, low_bits_of(w->singles, FLOAT_BLOCK, most));
    return most <= size_bits && (zeros | there) == UINT64_MAX;
}

/* Bits from bit `at` on, less than those of an element; words are of as many. */
template <typename S> __device__ inline S bits_between(S low, S high, uint32_t at)
{
    return sizeof(S) == 4 ? (S)__funnelshift_r((uint32_t)low, (uint32_t)high, at)
                          : low >> at | high << 1 << (63 - at);
}

/* A group's numbers, whose low bits are in the words, from bit `at` on, less than 8. */
template <typename T>
__device__ inline group<T>
numbers_of_singles(const bale_bytes::unaligned_words<2 * sizeof(T)> &from, uint32_t at,
                   const classes<uint32_t> &c, uint32_t most)
{
    using S = typename wide<T>::type;
    S word[FLOAT_GROUP + 1] = {};
    group<T> x;

#pragma unroll
    for (uint32_t k = 0; k < FLOAT_GROUP; k++)
        word[k] = sizeof(S) == 4 ? (S)from.word(k)
                                 : (S)((uint64_t)from.word(2 * k + 1) << 32 | from.word(2 * k));
#pragma unroll
    for (uint32_t k = 0; k < FLOAT_GROUP; k++) {
        const uint32_t its = c.at(k), n = low_bits(its, most);
        const S top = (S)1 << n;
        x.at[k] = (T)((bits_between(word[0], word[1], at) & (top - 1)) |
                      (its < FLOAT_CLASSES - 1 ? top : 0));
        at += n;
        if (at >= 8 * sizeof(S)) {
            at -= 8 * sizeof(S);
#pragma unroll
            for (uint32_t i = 0; i < FLOAT_GROUP; i++)
                word[i] = word[i + 1];
        }
    }
    return x;
}
} // namespace bale_float

#endif
