/* The kinds of vectors that float is compiled for. */
#ifndef BALE_TESTS_UNIT_KERNELS_FLOAT_STEPS_H
#define BALE_TESTS_UNIT_KERNELS_FLOAT_STEPS_H

#include <string.h>

#include "format/err.h"
#include "kernels/float/learn.h"
#include "tests/check.h"
#include "tests/codecs/data.h"

enum { CHUNK = 1 << 16 };

extern const struct bale_codec bale_codec_float;
static struct float_work *work;

static const struct float_steps *const all_steps[] = {
    float_plain,
#if defined(__x86_64__)
    float_avx2,
    float_avx512,
#endif
};

/* Those that this processor has: the best and what comes before it. */
static inline unsigned steps_count(void)
{
    unsigned count = 1;

    while (all_steps[count - 1] != float_steps_best())
        count++;
    return count;
}

#endif
