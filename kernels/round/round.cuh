/* Rounding on a device: the bytes of spec.md. Each operation rounds by itself, to the nearest, as
 * the intrinsics and conversions do whatever the compiler's options are. */
#ifndef BALE_KERNELS_ROUND_ROUND_CUH
#define BALE_KERNELS_ROUND_ROUND_CUH

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "format/field.h"
#include "kernels/base/swapped.cuh"

namespace bale_round
{
using bale_base::swapped;

struct rounding {
    double step, inverse, bound; /* as in round.h */
    bool big_endian;
};

/* Of a field whose step bale_rounding_make takes. */
__device__ inline rounding rounding_of(const bale_field &field)
{
    double step;

    memcpy(&step, &field.step, sizeof step);
    return rounding{step, __ddiv_rn(1, step), __dmul_rn(step, 0.5), field.big_endian};
}

template <typename WORD> struct element_of;
template <> struct element_of<uint32_t> {
    typedef float type;
};
template <> struct element_of<uint64_t> {
    typedef double type;
};

/* R(x) */
template <typename T> __device__ inline T multiple(const rounding &r, T x)
{
    const double q = __dadd_rn(rint(__dmul_rn((double)x, r.inverse)), 0);

    return (T)__dmul_rn(q, r.step);
}

/* What becomes of an element; both as they lie in the array. */
template <typename WORD> __device__ inline WORD rounded(const rounding &r, WORD raw)
{
    typedef typename element_of<WORD>::type element;
    const WORD bits = r.big_endian ? swapped(raw) : raw;
    WORD once_bits, again_bits;
    element x;

    memcpy(&x, &bits, sizeof x);
    const element once = multiple(r, x), again = multiple(r, once);
    memcpy(&once_bits, &once, sizeof once);
    memcpy(&again_bits, &again, sizeof again);
    if (!(fabs(__dadd_rn((double)x, -(double)once)) <= r.bound) || once_bits != again_bits)
        return raw;
    return r.big_endian ? swapped(once_bits) : once_bits;
}
} // namespace bale_round

#endif
