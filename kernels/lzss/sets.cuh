/* LZSS (lzss.cuh): the symbols before a symbol that equal it, as sets of distances. */
#ifndef BALE_KERNELS_LZSS_SETS_CUH
#define BALE_KERNELS_LZSS_SETS_CUH

#include "kernels/lzss/lzss.cuh"

namespace bale_lzss
{
/* Distances from 1 to 32 WORDS, the nearest first: bit 31 - j of word k stands for 32 k + j + 1. */
template <unsigned WORDS> struct distances {
    uint32_t word[WORDS];

    __device__ bool any() const
    {
        uint32_t some = 0;
#pragma unroll
        for (unsigned k = 0; k < WORDS; k++)
            some |= word[k];
        return some != 0;
    }

    /* The least distance of a set that is not empty. */
    __device__ uint32_t least() const
    {
        uint32_t w[WORDS], distance = 1;
#pragma unroll
        for (unsigned k = 0; k < WORDS; k++)
            w[k] = word[k];
#pragma unroll
        for (unsigned half = WORDS / 2; half >= 1; half /= 2) {
            uint32_t some = 0;
#pragma unroll
            for (unsigned k = 0; k < half; k++)
                some |= w[k];
            distance += some != 0 ? 0 : 32 * half;
#pragma unroll
            for (unsigned k = 0; k < half; k++)
                w[k] = some != 0 ? w[k] : w[k + half];
        }
        return distance + (uint32_t)__clz((int)w[0]);
    }
};

template <unsigned WORDS>
__device__ inline distances<WORDS> operator&(const distances<WORDS> &a, const distances<WORDS> &b)
{
    distances<WORDS> both;
#pragma unroll
    for (unsigned k = 0; k < WORDS; k++)
        both.word[k] = a.word[k] & b.word[k];
    return both;
}

template <unsigned WORDS>
__device__ inline distances<WORDS> choose(bool first, const distances<WORDS> &a,
                                          const distances<WORDS> &b)
{
    distances<WORDS> one;
#pragma unroll
    for (unsigned k = 0; k < WORDS; k++)
        one.word[k] = first ? a.word[k] : b.word[k];
    return one;
}

/* All distances up to the window. */
template <unsigned WORDS> __device__ inline distances<WORDS> within(uint32_t window)
{
    distances<WORDS> all;
#pragma unroll
    for (unsigned k = 0; k < WORDS; k++) {
        const int left = (int)window - 32 * (int)k;
        all.word[k] = left >= 32 ? ALL : left <= 0 ? 0 : ~(ALL >> left);
    }
    return all;
}

/* The sets of the last 64 positions, in shared memory, which a warp accesses without bank
 * conflicts. */
template <unsigned WORDS> class set_ring
{
    static constexpr unsigned WIDE = WORDS >= 4 ? 4 : WORDS;
    struct alignas(4 * WIDE) part {
        uint32_t word[WIDE];
    };

  public:
    __device__ void put(uint32_t position, const distances<WORDS> &set)
    {
#pragma unroll
        for (unsigned p = 0; p < WORDS / WIDE; p++) {
            part some;
#pragma unroll
            for (unsigned k = 0; k < WIDE; k++)
                some.word[k] = set.word[WIDE * p + k];
            parts_[p][position % 64] = some;
        }
    }

    __device__ distances<WORDS> get(uint32_t position) const
    {
        distances<WORDS> set;
#pragma unroll
        for (unsigned p = 0; p < WORDS / WIDE; p++) {
            const part some = parts_[p][position % 64];
#pragma unroll
            for (unsigned k = 0; k < WIDE; k++)
                set.word[WIDE * p + k] = some.word[k];
        }
        return set;
    }

  private:
    part parts_[WORDS / WIDE][64];
};

/* For each value of each nibble, a row of bits: where it occurred among the last 32 (WORDS + 1)
 * symbols. A symbol's set is the intersection of its nibbles' rows. Rows are an odd number of
 * words apart, so that lanes with different values have no bank conflicts. */
template <unsigned LOG2, unsigned WORDS> class nibble_rows
{
    static constexpr unsigned SYMBOL = 1u << LOG2, GROUPS = WORDS + 1;
    using symbol_type = typename symbol<LOG2>::type;

  public:
    __device__ void clear()
    {
        for (uint32_t k = lane(); k < sizeof rows_ / 4; k += 32)
            ((uint32_t *)rows_)[k] = 0;
    }

    /* group: groups of 32 symbols, counted from 0; x is this lane's symbol, if there is one. */
    __device__ distances<WORDS> next(uint32_t group, symbol_type x, bool there)
    {
        const uint32_t slot = group % GROUPS;
        const uint32_t valid = __ballot_sync(ALL, there);

#pragma unroll
        for (unsigned b = 0; b < SYMBOL; b++)
            set_rows(b, slot, (uint32_t)(x >> 8 * b), valid);
        __syncwarp();
        return gather(slot, x, there);
    }

  private:
    /* Sets the rows of the byte's two nibbles, a lane for each value. Each word is stored twice,
     * so that the last groups lie side by side wherever they begin. */
    __device__ void set_rows(unsigned byte, uint32_t slot, uint32_t value, uint32_t valid)
    {
        uint32_t planes[8], row = valid;
#pragma unroll
        for (unsigned j = 0; j < 8; j++)
            planes[j] = __ballot_sync(ALL, value >> j & 1);
#pragma unroll
        for (unsigned j = 0; j < 4; j++)
            row &= (lane() < 16 ? planes[j] : planes[j + 4]) ^ (lane() >> j & 1 ? 0 : ALL);
        uint32_t *to = &rows_[2 * byte + lane() / 16][lane() % 16][slot];
        to[0] = row;
        to[GROUPS] = row;
    }

    __device__ distances<WORDS> gather(uint32_t slot, symbol_type x, bool there) const
    {
        uint32_t same[GROUPS]; /* the newest group first; bit l: its symbol l */
        distances<WORDS> set;
#pragma unroll
        for (unsigned k = 0; k < GROUPS; k++)
            same[k] = there ? ALL : 0;
#pragma unroll
        for (unsigned n = 0; n < 2 * SYMBOL; n++) {
            const uint32_t *row = &rows_[n][(uint32_t)(x >> 4 * n) & 15][slot + 1];
#pragma unroll
            for (unsigned k = 0; k < GROUPS; k++)
                same[k] &= row[WORDS - k];
        }
#pragma unroll
        for (unsigned k = 0; k < WORDS; k++)
            set.word[k] = __funnelshift_r(same[k + 1], same[k], lane());
        return set;
    }

    uint32_t rows_[2 * SYMBOL][16][2 * GROUPS + 1];
};

/* The same for a window of 32: comparing symbols of four bytes and more one by one is faster. */
template <unsigned LOG2> class near_symbols
{
    using symbol_type = typename symbol<LOG2>::type;

  public:
    __device__ void clear()
    {
    }

    __device__ distances<1> next(uint32_t group, symbol_type x, bool there)
    {
        uint32_t same = 0;

        if (group > 0)
            last_[lane()] = last_[32 + lane()];
        last_[32 + lane()] = x;
        __syncwarp();
#pragma unroll
        for (unsigned d = 1; d <= 32; d++)
            if (last_[32 + lane() - d] == x)
                same |= 0x80000000u >> (d - 1);
        if (group == 0)
            same &= ~(ALL >> lane());
        return distances<1>{{there ? same : 0}};
    }

  private:
    symbol_type last_[64];
};

template <unsigned LOG2, unsigned WORDS> struct equal_symbols {
    using type = nibble_rows<LOG2, WORDS>;
};
template <> struct equal_symbols<2, 1> {
    using type = near_symbols<2>;
};
template <> struct equal_symbols<3, 1> {
    using type = near_symbols<3>;
};
} // namespace bale_lzss

#endif
