/* Rounding the elements of an array to multiples of a step, within an error bound: what makes a
 * file lossy, and the only thing that does. spec.md has it operation by operation. */
#ifndef BALE_KERNELS_ROUND_ROUND_H
#define BALE_KERNELS_ROUND_ROUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum bale_round_type {
    BALE_ROUND_F32,
    BALE_ROUND_F64,
};

struct bale_rounding {
    double step;    /* g = 2E */
    double inverse; /* f: the nearest to 1 / g */
    double bound;   /* E */
    enum bale_round_type type;
    bool big_endian;
};

/* step: the bits of a binary64. BALE_E_INVALID unless 2^-1021 <= step <= 2^1021. */
int bale_rounding_make(struct bale_rounding *rounding, enum bale_round_type type, bool big_endian,
                       uint64_t step);

/* Bytes of an element. */
static inline size_t bale_rounding_width(const struct bale_rounding *rounding)
{
    return rounding->type == BALE_ROUND_F32 ? 4 : 8;
}

/* Rounds count elements of in to out, which is in or does not overlap it, and never holds one that
 * is not rounded; neither needs alignment. An element that no multiple is near enough to stays:
 * NaN, infinities, the type's edges. Done twice it changes nothing. Sets the thread's
 * floating-point mode and restores it. */
void bale_round(const struct bale_rounding *rounding, uint8_t *out, const uint8_t *in,
                size_t count);

/* The ways in which this processor can do it, the fastest first: i from 0 until NULL. They make the
 * same bytes; bale_round takes the first. The caller sets the mode. */
typedef void bale_round_way(const struct bale_rounding *rounding, uint8_t *out, const uint8_t *in,
                            size_t count);
bale_round_way *bale_round_way_at(size_t i);

#endif
