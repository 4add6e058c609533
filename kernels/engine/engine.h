/* Engines run batches of encode and decode items and know nothing of files.
 *
 * An engine takes items from any thread, any number at a time, and calls each item's done once,
 * from a thread of its own, in any order. Memory an item points to belongs to the caller and stays
 * valid and unchanged until done. */
#ifndef BALE_KERNELS_ENGINE_ENGINE_H
#define BALE_KERNELS_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/codecs.h"
#include "format/frame.h"

struct bale_scratch;

enum bale_item_kind { BALE_ITEM_ENCODE, BALE_ITEM_DECODE };
enum bale_priority { BALE_PRIORITY_HIGH, BALE_PRIORITY_NORMAL, BALE_PRIORITY_LOW, BALE_PRIORITIES };

/* Where an item's bytes lie. A CPU engine takes BALE_MEMORY_HOST only. With BALE_MEMORY_DEVICE the raw bytes
 * lie in a device's memory; the stored ones are pinned, for the head of a frame is the host's work. */
enum bale_memory_kind { BALE_MEMORY_HOST, BALE_MEMORY_PINNED, BALE_MEMORY_DEVICE };

struct bale_item {
    enum bale_item_kind kind;
    enum bale_priority priority;
    enum bale_memory_kind memory_kind;
    int device; /* ordinal, with BALE_MEMORY_DEVICE */

    /* Encode: raw[0, frame.raw_length) -> stored[0, capacity >= bale_frame_bound()).
     * Decode: stored[0, stored_length), a whole frame -> raw[0, frame.raw_length). */
    struct bale_setting setting; /* encode; an open one may come back as what was chosen */
    /* In: offset, generation, raw_length, chunk_log2; for a decode also codec, as far as is known:
     * it only says where to do it. Out: all. */
    struct bale_frame frame;
    uint8_t *raw;
    uint8_t *stored;
    size_t capacity;      /* encode: of stored */
    size_t stored_length; /* decode: in; encode: out */

    /* Out: 0 or a negative bale_err. BALE_E_QUARANTINED, of an engine with a GPU: it was not done, and a
     * device may write to the output until gpu.h's late says that none does. Whoever wants it done
     * submits it again, with other memory; the rest is as it was. */
    int status;
    void (*done)(struct bale_item *item);
    bool more;              /* out: the thread that says done says so of another item right after */
    void *owner;            /* the caller's */
    struct bale_item *next; /* the engine's between submit and done; the caller's otherwise */
};

struct bale_engine;
struct bale_engine_ops {
    const char *name;
    /* done may wait for a file: the engine's threads are many, and each does one item at a time. */
    bool done_may_wait;
    /* Takes the list linked by next. Never fails and never blocks for long: errors arrive as
     * status. */
    void (*submit)(struct bale_engine *engine, struct bale_item *list);
    /* Does the item on the calling thread, with its scratch, if no other place is better: a switch of
     * threads costs as much as a small item. True: status says how it went, done is not called.
     * False: nothing was done; submit it. */
    bool (*run_inline)(struct bale_engine *engine, struct bale_item *item,
                       struct bale_scratch *scratch);
    /* Waits for all items, then frees. */
    void (*destroy)(struct bale_engine *engine);
};
struct bale_engine {
    const struct bale_engine_ops *ops;
};

static inline void bale_engine_submit(struct bale_engine *engine, struct bale_item *list)
{
    engine->ops->submit(engine, list);
}

static inline bool bale_engine_run_inline(struct bale_engine *engine, struct bale_item *item,
                                          struct bale_scratch *scratch)
{
    return engine->ops->run_inline(engine, item, scratch);
}

/* NULL is fine. */
void bale_engine_destroy(struct bale_engine *engine);

/* threads: 0 means as many as the affinity mask and the cgroup's CPU limit allow. Items of higher
 * priority first, within a priority first in, first out. */
int bale_engine_cpu_create(unsigned threads, struct bale_engine **engine);

/* CPUs this process may use: affinity mask and cgroup v2 (or v1) CPU limit; at least 1. */
unsigned bale_cpus(void);

#endif
