/* Opens the GPU as a mount does, to see how long it takes. */
#ifndef BALE_TOOLS_DOCTOR_GPU_OPENING_H
#define BALE_TOOLS_DOCTOR_GPU_OPENING_H

#include "format/reason.h"
#include "kernels/engine/gpu.h"

struct bale_doctor_opening {
    int err; /* why says more, or is empty */
    struct bale_reason why;
    struct bale_gpu_timeline timeline;
};

/* Opens the engine, pins memory, does a batch, and closes the engine. begin_ns: when loading the
 * plug-in began. May hang, as drivers do: for a process that can be left alone. */
void bale_doctor_open_gpu(const struct bale_gpu *gpu, uint64_t begin_ns,
                          struct bale_doctor_opening *opening);

#endif
