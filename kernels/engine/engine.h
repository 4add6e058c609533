/* Engines encode and decode items and know nothing of files.
 *
 * An engine takes items from any thread, any number at a time, and calls each item's done once,
 * on a thread of its own, in any order. The caller owns an item and the memory it points to, and
 * keeps both valid and unchanged until done. */
#ifndef BALE_KERNELS_ENGINE_ENGINE_H
#define BALE_KERNELS_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/codecs.h"
#include "format/frame.h"
#include "kernels/base/turns.h"

struct bale_scratch;

enum bale_item_kind { BALE_ITEM_ENCODE, BALE_ITEM_DECODE };
enum bale_priority { BALE_PRIORITY_HIGH, BALE_PRIORITY_NORMAL, BALE_PRIORITY_LOW, BALE_PRIORITIES };

/* The memory that an item's bytes lie in. A CPU engine takes BALE_MEMORY_HOST only. With
 * BALE_MEMORY_DEVICE the raw bytes lie in a device's memory and the stored ones in pinned
 * memory, because the host writes the head of a frame. */
enum bale_memory_kind { BALE_MEMORY_HOST, BALE_MEMORY_PINNED, BALE_MEMORY_DEVICE };

struct bale_item {
    enum bale_item_kind kind;
    enum bale_priority priority;
    struct bale_turn turn; /* whose item it is; the link is the submitter's, then the engine's */
    enum bale_memory_kind memory_kind;
    int device; /* ordinal, with BALE_MEMORY_DEVICE */

    /* Encode: raw[0, frame.raw_length) -> stored[0, capacity >= bale_frame_bound()).
     * Decode: stored[0, stored_length), a whole frame -> raw[0, frame.raw_length). */
    struct bale_setting setting; /* encode; an open one comes back as the one that was chosen */
    /* Encode, with BALE_MEMORY_DEVICE and a lossy setting whose field has the type f32 or f64 and
     * no end: what is encoded is what bale_round_piece makes of the raw bytes, which stay as they
     * are. The frame's offset is a multiple of 4096. */
    bool rounds;
    /* In: offset, generation, raw_length, chunk_log2 (of an encode, what is asked for:
     * bale_codec_chunk_log2); for a decode also codec and parameter, as far as they are known: they
     * only help to choose an engine. Out: all members. */
    struct bale_frame frame;
    uint8_t *raw;
    uint8_t *stored;
    size_t capacity;      /* encode: of stored */
    size_t stored_length; /* decode: in; encode: out */

    /* Out: 0 or a negative bale_err. BALE_E_QUARANTINED, only of an engine with a GPU: the item was
     * not done, and a device may write to its output until quarantine of struct bale_gpu_options
     * reports that none does. To have it done, the owner submits it again with other memory; the
     * other members are as they were. */
    int status;
    /* Called once, on a thread of the engine's, which holds no lock of the engine. The item is the
     * owner's again. Must not wait for a file, because items that others need wait meanwhile. May
     * submit items. */
    void (*done)(struct bale_item *item);
    bool more; /* out: the thread that calls done goes on with another item's done at once */
    /* In: nobody waits for it. So it need not be done soon, but should cost little. */
    bool background;
    /* In, of a decode: this process made the frame, and nobody else can have changed it. */
    bool trusted;
    /* The engine's: set by run_inline when it leaves the item to submit, which then need not ask
     * again. */
    bool collected;
    void *owner;            /* the caller's */
    struct bale_item *next; /* the engine's between submit and done; else the caller's */
};

struct bale_engine;
struct bale_engine_ops {
    const char *name;
    /* Takes a list, linked by next. Any thread. Never fails and never blocks for long: errors
     * arrive in the items' status. */
    void (*submit)(struct bale_engine *engine, struct bale_item *list);
    /* Does the item on the calling thread, with that thread's scratch, unless the engine has a
     * better way: switching threads costs as much as a small item. True: the result is in status,
     * and done is not called. False: nothing was done; submit the item. */
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

/* threads: how many work for one user, and one more for others while they do; 0 means as many as
 * the affinity mask and the cgroup's CPU limit allow. The order is by priority; within a priority
 * users take turns by the time that their items took, and a user's items are first in, first out.
 * BALE_OK or BALE_E_NOMEM. */
int bale_engine_cpu_create(unsigned threads, struct bale_engine **engine);

/* CPUs this process may use: affinity mask and cgroup v2 (or v1) CPU limit; at least 1. */
unsigned bale_cpus(void);

#endif
