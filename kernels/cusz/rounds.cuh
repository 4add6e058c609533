/* cusz on the device: elements that are rounded as the sample is taken, with fewer operations where
 * these do (kernels/round/spec.md). Their array begins at a multiple of their size. */
#ifndef BALE_KERNELS_CUSZ_ROUNDS_CUH
#define BALE_KERNELS_CUSZ_ROUNDS_CUH

#include "kernels/codec/equality.cuh"
#include "kernels/cusz/subject.cuh"
#include "kernels/round/round.cuh"

namespace bale_cusz
{
/* How a chunk's elements are rounded; others before the array begins are not. */
template <typename WORD> struct rounder {
    bale_round::rounding exact;
    typename type_of<WORD>::element bound;
    uint32_t begin; /* the array's first element, counted in the chunk */
    bool quick;     /* fewer operations do */
};

template <typename WORD>
__device__ inline rounder<WORD> rounder_of(const subject &s, const cuda_frame &frame,
                                           const cuda_chunk &chunk)
{
    const uint64_t at = frame.offset + (uint64_t)(chunk.first - frame.first) * BALE_CUDA_CELL;
    const uint64_t before = frame.field.offset > at ? (frame.field.offset - at) / sizeof(WORD) : 0;
    rounder<WORD> o = {};

    o.exact = bale_round::rounding_of(frame.field);
    o.bound = (typename type_of<WORD>::element)o.exact.bound;
    o.begin = (uint32_t)min(before, (uint64_t)CUSZ_CHUNK);
    o.quick = may_be_quick(s) && s.r.step >= 0x1p-100 && s.r.step <= 0x1p100;
    return o;
}

/* How far two elements are from each other, rounded to their type. */
__device__ inline float distance(float x, float y)
{
    return fabsf(__fadd_rn(x, -y));
}

__device__ inline double distance(double x, double y)
{
    return fabs(__dadd_rn(x, -y));
}

/* The multiple that is nearest to an element, in fewer operations. Returns whether the element
 * becomes that, which has a quick word; else it may, or not. */
template <typename WORD>
__device__ inline bool round_quickly(const rounder<WORD> &o, WORD raw, WORD *to)
{
    constexpr double MAGIC = 0x1.8p52;
    constexpr uint64_t HALF = (uint64_t)1 << (type_of<WORD>::QUICK_LOG2 - 1);
    typedef typename type_of<WORD>::element element;
    uint64_t sum_bits, magic_bits;
    element x;

    memcpy(&x, &raw, sizeof x);
    const double sum = __dadd_rn(__dmul_rn((double)x, o.exact.inverse), MAGIC), magic = MAGIC;
    const element y = (element)__dmul_rn(__dadd_rn(sum, -MAGIC), o.exact.step);
    memcpy(&sum_bits, &sum, sizeof sum_bits);
    memcpy(&magic_bits, &magic, sizeof magic_bits);
    memcpy(to, &y, sizeof y);
    return distance(x, y) < o.bound && sum_bits - magic_bits + HALF < 2 * HALF;
}

/* What becomes of element i of the chunk. */
template <typename WORD>
__device__ inline WORD rounded(const rounder<WORD> &o, WORD raw, uint32_t i)
{
    return i >= o.begin ? bale_round::rounded(o.exact, raw) : raw;
}

/* The bytes of an element for compare_bytes(), again and again. */
__device__ inline uint4 repeated(uint32_t word)
{
    return make_uint4(word, word, word, word);
}

__device__ inline uint4 repeated(uint64_t word)
{
    const uint32_t lower = (uint32_t)word, upper = (uint32_t)(word >> 32);

    return make_uint4(lower, upper, lower, upper);
}

/* Stores 16 bytes element by element, as other blocks may load them meanwhile: each is the old one
 * or the new one. */
__device__ inline void store_elements(uint4 *to, const uint32_t words[4])
{
    *to = make_uint4(words[0], words[1], words[2], words[3]);
}

__device__ inline void store_elements(uint4 *to, const uint64_t words[2])
{
    *(ulonglong2 *)to = make_ulonglong2(words[0], words[1]);
}
} // namespace bale_cusz

#endif
