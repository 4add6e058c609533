/* What a GPU's kernels do with the data of a bench, once it is in the GPU's memory. */
#ifndef BALE_TOOLS_BENCH_GPU_H
#define BALE_TOOLS_BENCH_GPU_H

#include "format/reason.h"
#include "kernels/engine/dispatch.h"
#include "tools/bench/measure.h"

enum { BALE_BENCH_NOTE = BALE_REASON_SIZE + 64 };

/* Measures the settings of results[0, count) that the nearest GPU takes, and sets their gpu. device: its
 * name, "" if there is none. note: what is to be said, once the bar is away, or "". False: it is a
 * failure; without a GPU with BALE_ENGINE_GPU alone. */
bool bale_bench_gpu(const struct bale_bench_data *data, enum bale_engine_choice engine,
                    struct bale_bench_result *results, size_t count, char device[BALE_GPU_NAME],
                    char note[BALE_BENCH_NOTE]);

#endif
