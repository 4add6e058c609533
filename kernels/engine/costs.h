/* Measured costs of work on the CPU and on the GPU. They decide only where work is done. */
#ifndef BALE_KERNELS_ENGINE_COSTS_H
#define BALE_KERNELS_ENGINE_COSTS_H

#include <stdatomic.h>

#include "kernels/engine/work_queue.h"

/* The cost of batches of one kind of work: ns = fixed + slope * bytes in flight, by least
 * squares over the batches, with more weight for later ones. Bytes in flight are the batch's own
 * and those of the batches that were not done when it began. The members are running means and
 * sums of deviations from them. */
struct bale_cost_batch {
    unsigned batches; /* 0: unknown */
    double bytes, ns, spread, together;
};

struct bale_costs {
    /* Picoseconds a byte of one worker; 0: unknown. Any thread. */
    atomic_uint_fast64_t cpu[BALE_WORKS];
    struct bale_cost_batch batch[BALE_WORKS]; /* the caller locks */
};

/* Adds a measurement. */
void bale_costs_cpu(struct bale_costs *costs, unsigned work, uint64_t bytes, uint64_t ns);
void bale_costs_batch(struct bale_costs *costs, unsigned work, uint64_t bytes, uint64_t ns);

/* Drops the measurements of batches of this kind of work. */
void bale_costs_forget(struct bale_costs *costs, unsigned work);

/* Expected ns of one worker for so many bytes, and of a batch with so many bytes in flight. */
double bale_costs_cpu_ns(struct bale_costs *costs, unsigned work, uint64_t bytes);
double bale_costs_batch_ns(const struct bale_costs *costs, unsigned work, uint64_t bytes);

/* Totals of what an engine has done. */
struct bale_work_count {
    atomic_uint_fast64_t items, encoded, decoded; /* raw bytes */
};

/* Adds an item whose status is BALE_OK, or bytes that were done without an item. */
void bale_work_add(struct bale_work_count *count, const struct bale_item *item);
void bale_work_add_bytes(struct bale_work_count *count, enum bale_item_kind kind, uint64_t bytes);

#endif
