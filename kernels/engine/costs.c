#include "kernels/engine/costs.h"

#define CPU_WEIGHT 8    /* a new item counts as 1/8 */
#define BATCH_WEIGHT 8u /* a new batch counts as 1/8, the first ones more */

void bale_costs_cpu(struct bale_costs *costs, unsigned work, uint64_t bytes, uint64_t ns)
{
    if (work >= BALE_WORKS || bytes == 0)
        return;
    uint64_t now = ns * 1000 / bytes + 1;
    uint64_t old = atomic_load_explicit(&costs->cpu[work], memory_order_relaxed);
    /* If two threads store at once, one measurement is lost. */
    atomic_store_explicit(&costs->cpu[work],
                          old ? (old * (CPU_WEIGHT - 1) + now + CPU_WEIGHT - 1) / CPU_WEIGHT : now,
                          memory_order_relaxed);
}

void bale_costs_batch(struct bale_costs *costs, unsigned work, uint64_t bytes, uint64_t ns)
{
    struct bale_cost_batch *c = &costs->batch[work];

    if (c->batches < BATCH_WEIGHT)
        c->batches++;
    double weight = 1.0 / c->batches;
    double x = (double)bytes - c->bytes;
    double y = (double)ns - c->ns;
    c->bytes += weight * x;
    c->ns += weight * y;
    c->spread = (1 - weight) * (c->spread + weight * x * x);
    c->together = (1 - weight) * (c->together + weight * x * y);
}

void bale_costs_forget(struct bale_costs *costs, unsigned work)
{
    costs->batch[work] = (struct bale_cost_batch){0};
}

double bale_costs_cpu_ns(struct bale_costs *costs, unsigned work, uint64_t bytes)
{
    return (double)atomic_load_explicit(&costs->cpu[work], memory_order_relaxed) / 1000 *
           (double)bytes;
}

/* While all batches were of about the same size, their time is taken as independent of the size:
 * how much more larger ones cost shows when one is tried. */
double bale_costs_batch_ns(const struct bale_costs *costs, unsigned work, uint64_t bytes)
{
    const struct bale_cost_batch *c = &costs->batch[work];
    double each = 0;

    if (c->spread > c->bytes * c->bytes / 100)
        each = c->together / c->spread;
    double most = c->bytes > 0 ? c->ns / c->bytes : 0;
    each = each < 0 ? 0 : each > most ? most : each;
    return c->ns + each * ((double)bytes - c->bytes);
}

void bale_work_add_bytes(struct bale_work_count *count, enum bale_item_kind kind, uint64_t bytes)
{
    atomic_fetch_add_explicit(&count->items, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(kind == BALE_ITEM_ENCODE ? &count->encoded : &count->decoded, bytes,
                              memory_order_relaxed);
}

void bale_work_add(struct bale_work_count *count, const struct bale_item *item)
{
    bale_work_add_bytes(count, item->kind, item->frame.raw_length);
}
