/* Floating point as every choice of bytes needs it: to the nearest, ties to even, denormals kept,
 * no traps. Strangers' threads may have set something else. */
#ifndef BALE_KERNELS_ROUND_MODE_H
#define BALE_KERNELS_ROUND_MODE_H

#include <fenv.h>

struct bale_float_mode {
    fenv_t was;
};

/* Sets the mode for the calling thread, until bale_float_mode_leave. Where a compiler could move
 * arithmetic over the calls, that arithmetic belongs in a function that is not inlined. */
static inline void bale_float_mode_enter(struct bale_float_mode *mode)
{
    fegetenv(&mode->was);
    fesetenv(FE_DFL_ENV);
}

/* Restores what the thread had, its exception flags as well. */
static inline void bale_float_mode_leave(const struct bale_float_mode *mode)
{
    fesetenv(&mode->was);
}

#endif
