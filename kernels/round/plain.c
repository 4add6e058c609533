/* Rounding on any processor. */
#include "kernels/round/loops.h"

/* rint for processors that have no instruction for it. Above 2^52 all numbers are integers. */
static inline double plain_rint(double t)
{
    const double magnitude = fabs(t);

    return copysign(magnitude < 0x1p52 ? (magnitude + 0x1p52) - 0x1p52 : magnitude, t);
}

BALE_DEFINE_EXACT(plain_rint)

void bale_round_plain(const struct bale_rounding *rounding, uint8_t *out, const uint8_t *in,
                      size_t count)
{
    (rounding->type == BALE_ROUND_F32 ? f32_exact : f64_exact)(rounding, out, in, count);
}
