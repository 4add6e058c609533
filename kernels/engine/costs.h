/* What work costs on each side, as it was measured: it decides where work is done, and nothing
 * else. */
#ifndef BALE_KERNELS_ENGINE_COSTS_H
#define BALE_KERNELS_ENGINE_COSTS_H

#include <stdatomic.h>

#include "kernels/engine/work_queue.h"

/* Of a batch engine for one kind of work: ns = fixed + each * bytes under way, by least squares
 * over batches, of which later ones count more. Bytes under way are the batch's own and those of
 * the batches that were still under way when it began. */
struct bale_cost_batch {
    unsigned batches; /* 0: unknown */
    double bytes, ns, spread, together;
};

struct bale_costs {
    /* Picoseconds a byte of one worker; 0: unknown. Any thread. */
    atomic_uint_fast64_t cpu[BALE_WORKS];
    struct bale_cost_batch batch[BALE_WORKS]; /* the user locks */
};

void bale_costs_cpu(struct bale_costs *costs, unsigned work, uint64_t bytes, uint64_t ns);

void bale_costs_batch(struct bale_costs *costs, unsigned work, uint64_t bytes, uint64_t ns);

/* The work's cost of batches is to be learnt anew. */
void bale_costs_forget(struct bale_costs *costs, unsigned work);

/* Expected ns of one worker for so many bytes, and of a batch with so many bytes under way. */
double bale_costs_cpu_ns(struct bale_costs *costs, unsigned work, uint64_t bytes);
double bale_costs_batch_ns(const struct bale_costs *costs, unsigned work, uint64_t bytes);

/* What an engine has done. */
struct bale_work_count {
    atomic_uint_fast64_t items, encoded, decoded; /* raw bytes */
};

/* Adds an item whose status is BALE_OK; what was done without one. */
void bale_work_add(struct bale_work_count *count, const struct bale_item *item);
void bale_work_add_bytes(struct bale_work_count *count, enum bale_item_kind kind, uint64_t bytes);

#endif
