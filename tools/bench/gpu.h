/* Measures the kernels of a GPU on the data of a bench, in the GPU's memory. */
#ifndef BALE_TOOLS_BENCH_GPU_H
#define BALE_TOOLS_BENCH_GPU_H

#include "format/reason.h"
#include "kernels/engine/dispatch.h"
#include "tools/bench/measure.h"

enum { BALE_BENCH_NOTE = BALE_REASON_SIZE + 64 };

/* Measures those settings of results[0, count) that the nearest GPU takes, and sets their gpu.
 * device: its name, or "" if there is none. note: a message to print when the progress bar is gone,
 * or "". False on failure; that there is no GPU is a failure only with BALE_ENGINE_GPU. */
bool bale_bench_gpu(const struct bale_bench_data *data, enum bale_engine_choice engine,
                    struct bale_bench_result *results, size_t count, char device[BALE_GPU_NAME],
                    char note[BALE_BENCH_NOTE]);

#endif
