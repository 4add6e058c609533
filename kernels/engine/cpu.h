/* The CPU engine as another engine of the program's has it behind it (kernels/engine/dispatch.h). */
#ifndef BALE_KERNELS_ENGINE_CPU_H
#define BALE_KERNELS_ENGINE_CPU_H

#include "kernels/engine/costs.h"
#include "kernels/engine/work_queue.h"

/* Of an engine that bale_engine_cpu_create made. */

struct bale_work_queue *bale_engine_cpu_queue(struct bale_engine *engine);

unsigned bale_engine_cpu_threads(const struct bale_engine *engine);

/* What it has done. */
const struct bale_work_count *bale_engine_cpu_count(const struct bale_engine *engine);

/* From now on what items take is noted there, which outlives the engine. */
void bale_engine_cpu_measure(struct bale_engine *engine, struct bale_costs *costs);

#endif
