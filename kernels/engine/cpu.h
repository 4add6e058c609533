/* The CPU engine, for an engine of the same program that uses it (kernels/engine/dispatch.h).
 * Handles are those of bale_engine_cpu_create. */
#ifndef BALE_KERNELS_ENGINE_CPU_H
#define BALE_KERNELS_ENGINE_CPU_H

#include "kernels/engine/costs.h"
#include "kernels/engine/work_queue.h"

/* Its work queue, in which the caller may offer items to another engine. */
struct bale_work_queue *bale_engine_cpu_queue(struct bale_engine *engine);

/* The workers that one user gets; there is one more, for others. */
unsigned bale_engine_cpu_threads(const struct bale_engine *engine);

/* Totals of what it has done. */
const struct bale_work_count *bale_engine_cpu_count(const struct bale_engine *engine);

/* From now on adds the time of each item to costs, which outlives the engine. */
void bale_engine_cpu_measure(struct bale_engine *engine, struct bale_costs *costs);

#endif
