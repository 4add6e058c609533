/* The parts of the GPU that is none. */
#ifndef BALE_TESTS_SUPPORT_FAKE_GPU_H
#define BALE_TESTS_SUPPORT_FAKE_GPU_H

#include "format/reason.h"
#include "kernels/engine/gpu.h"

/* All that there are, or without nvCOMP's: bits as in bale_gpu_found. */
uint32_t fake_codecs(void);

/* kernels/engine/gpu.h's measure. */
int fake_measure(const struct bale_gpu_options *options, struct bale_gpu_trial *trials,
                 size_t count, void (*tick)(void *argument, size_t trial), void *argument,
                 struct bale_reason *why);

#endif
