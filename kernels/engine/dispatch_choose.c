#include "kernels/base/clock.h"
#include "kernels/engine/dispatch_internal.h"

/* A kind of work whose cost on the GPU is unknown is tried once so many bytes are offered. */
#define TRY_BYTES ((uint64_t)2 << 20)
/* Less than this in the background is no work for a GPU: a batch costs the CPUs time as well. */
#define BACKGROUND_BYTES ((uint64_t)2 << 20)
/* Costs that are older are not trusted, because the device may have been shared when they were
 * measured. After a trial that finds the GPU slow the next one comes soon, since the CPUs may have
 * kept it waiting; each further one doubles the time. */
#define TRUST_NS ((uint64_t)10 * 1000000000u)
#define TRUST_SLOW_NS ((uint64_t)100 * 1000000u)
#define TRUST_MOST_NS (32 * TRUST_NS)
/* What opening takes while no opening was measured; and what it takes where the context was
 * kept. */
#define OPENING_NS ((uint64_t)300 * 1000000u)
#define KEPT_NS ((uint64_t)10 * 1000000u)
/* An open GPU is not looked at again before this: it stays so for longer without work. */
#define LOOK_NS ((uint64_t)100 * 1000000u)
#define LARGE_BYTES ((uint64_t)128 << 20)
/* CPUs that read or write have to copy as well, which leaves one in so many to codecs. */
#define CPU_PART 2

static bool is_stale(struct bale_dispatch *d, unsigned work)
{
    return bale_clock_ns() - atomic_load(&d->tried_ns[work]) > atomic_load(&d->trust_ns[work]);
}

bool bale_dispatch_wants(struct bale_dispatch *d, unsigned work)
{
    return d->options.choice == BALE_ENGINE_GPU ||
           (atomic_load_explicit(&d->promising[work], memory_order_relaxed) &&
            bale_is_busy(&d->busy));
}

bool bale_dispatch_wants_offered(struct bale_dispatch *d, unsigned work)
{
    const struct bale_offered *offered = &d->queue->offered[work];
    bool much = offered->bytes >= BACKGROUND_BYTES || d->batches_of[work] > 0;

    return bale_dispatch_wants(d, work) ||
           (offered->awaited == 0 && much &&
            atomic_load_explicit(&d->promising[work], memory_order_relaxed));
}

/* While CPUs are idle, decoding on them slows nothing down; what nobody waits for takes their time
 * all the same. */
bool bale_dispatch_collects_work(struct bale_dispatch *d, unsigned work, bool background)
{
    bool busy = bale_is_busy(&d->busy);

    return bale_dispatch_wants(d, work) || ((busy || background) && is_stale(d, work)) ||
           (background && atomic_load_explicit(&d->promising[work], memory_order_relaxed));
}

/* The time that the workers need for everything that is offered. Under the lock. */
static double cpu_ns(struct bale_dispatch *d)
{
    double ns = 0;

    for (unsigned work = 0; (work = bale_works_next(&d->queue->works, work)) < BALE_WORKS; work++)
        ns += bale_costs_cpu_ns(&d->costs, work, d->queue->offered[work].bytes);
    return ns / d->threads;
}

void bale_dispatch_look(struct bale_dispatch *d)
{
    uint64_t now = bale_clock_ns();
    struct bale_gpu_stats stats;

    if (d->looked_ns > 0 && d->wait_ns == 0 && now - d->looked_ns < LOOK_NS)
        return;
    d->looked_ns = now;
    d->gpu->stats(d->device, &stats);
    if (stats.opening.open_ns > 0 && stats.opening.phase_ns[BALE_GPU_CONTEXT] > 0)
        d->opening_ns = stats.opening.open_ns;
    d->wait_ns = stats.open ? 0 : stats.kept ? KEPT_NS : d->opening_ns ? d->opening_ns : OPENING_NS;
}

/* Meanwhile the workers go on with what is offered, so little is lost if the costs have changed. */
static uint64_t share_of_closed(struct bale_dispatch *d, unsigned work, uint64_t bytes)
{
    double ns = (double)d->wait_ns + bale_costs_batch_ns(&d->costs, work, d->in_flight + bytes);

    if (bytes < TRY_BYTES || d->batches_of[work] > 0)
        return 0;
    return bale_is_busy(&d->busy) || ns < cpu_ns(d) ? TRY_BYTES : 0;
}

/* Everything; but a GPU that was not measured gets one batch at a time, and half is left to the
 * workers until one has shown what such items take. */
static uint64_t share_of_wanted(const struct bale_dispatch *d, unsigned work, uint64_t bytes)
{
    if (d->costs.batch[work].batches == 0 && d->batches_of[work] > 0)
        return 0;
    return atomic_load(&d->costs.cpu[work]) > 0 ? bytes : bytes / 2;
}

uint64_t bale_dispatch_gpu_share(struct bale_dispatch *d, unsigned work, uint64_t bytes)
{
    if (d->options.choice == BALE_ENGINE_GPU)
        return bytes;
    if (d->wait_ns > 0)
        return share_of_closed(d, work, bytes);
    if (bale_dispatch_wants_offered(d, work))
        return share_of_wanted(d, work, bytes);
    if (is_stale(d, work))
        return bytes >= TRY_BYTES && d->batches_of[work] == 0 ? TRY_BYTES : 0;
    if (d->costs.batch[work].batches == 0)
        return 0;
    return bale_costs_batch_ns(&d->costs, work, d->in_flight + bytes) < cpu_ns(d) ? bytes : 0;
}

void bale_dispatch_batch_begins(struct bale_dispatch *d, struct bale_batch *batch)
{
    struct bale_gpu_stats stats;

    d->gpu->stats(d->device, &stats);
    batch->warming = !stats.open;
    batch->stale = is_stale(d, batch->work);
    batch->slowed = atomic_load(&d->pins) > 0;
    batch->pinned = stats.pinned;
    batch->begin_ns = bale_clock_ns();
    atomic_store(&d->tried_ns[batch->work], batch->begin_ns);
}

static uint64_t trust_after(struct bale_dispatch *d, unsigned work, bool promising)
{
    uint64_t twice = 2 * atomic_load(&d->trust_ns[work]);

    if (promising)
        return TRUST_NS;
    if (twice == 0 || atomic_load(&d->promising[work]))
        return TRUST_SLOW_NS;
    return twice < TRUST_MOST_NS ? twice : TRUST_MOST_NS;
}

/* Whether a large batch would beat all CPUs. What was taken to be so stays so while it is unknown
 * what the CPUs need, or as long as only slowed batches say something else. */
static bool is_promising(struct bale_dispatch *d, unsigned work)
{
    double gpu = bale_costs_batch_ns(&d->costs, work, LARGE_BYTES);
    double cpus = CPU_PART * bale_costs_cpu_ns(&d->costs, work, LARGE_BYTES) / d->threads;
    bool unsure = cpus == 0 || d->slowed[work];

    return gpu < cpus || (unsure && atomic_load(&d->promising[work]));
}

void bale_dispatch_learn(struct bale_dispatch *d, const struct bale_batch *batch, uint64_t pinned)
{
    unsigned work = batch->work;
    uint64_t ns = bale_clock_ns() - batch->begin_ns;

    if (batch->warming || batch->no_device > 0) { /* no measurement: try again */
        atomic_store(&d->tried_ns[work], 0);
        return;
    }
    if (batch->unable == batch->count)
        return;
    /* While memory is pinned the driver does little else. */
    bool slowed = batch->slowed || atomic_load(&d->pins) > 0 || pinned != batch->pinned;
    bool known = d->costs.batch[work].batches > 0 && !d->slowed[work] && !batch->stale;
    if (slowed && known)
        return;
    if (!known)
        bale_costs_forget(&d->costs, work);
    d->slowed[work] = slowed;
    /* Items that the CPU has to do again cost its time as well. */
    ns += (uint64_t)bale_costs_cpu_ns(&d->costs, work, batch->bytes * batch->failed / batch->count);
    bale_costs_batch(&d->costs, work, batch->in_flight, ns);
    bool promising = is_promising(d, work);
    if (promising || batch->stale || atomic_load(&d->promising[work]))
        atomic_store(&d->trust_ns[work], trust_after(d, work, promising));
    atomic_store(&d->promising[work], promising);
}
