/* The dispatcher: the engine of a volume. It has the CPU engine and, once that is open, a GPU
 * engine (kernels/engine/gpu.h), and decides by measured cost which of them does an item; the bytes
 * are the same. The CPU does what the GPU engine does not do, and only the log shows it. */
#ifndef BALE_KERNELS_ENGINE_DISPATCH_H
#define BALE_KERNELS_ENGINE_DISPATCH_H

#include "format/reason.h"
#include "kernels/engine/gpu.h"

enum bale_engine_choice {
    BALE_ENGINE_AUTO, /* the one that would finish first */
    BALE_ENGINE_GPU,  /* the GPU, for all items that it takes and nobody waits for */
    BALE_ENGINE_CPU,
};

struct bale_dispatch_options {
    unsigned threads; /* of bale_engine_cpu_create */
    enum bale_engine_choice choice;
    struct bale_gpu_options gpu; /* insist and if_free are ignored; log is not NULL */
    /* Frames may be hostile: the CPU decodes all; or those of codecs whose decoder on GPUs is
     * closed, unless the item is trusted. */
    bool untrusted_store, untrusted_input;
    const char *plugin; /* the file argument of bale_plugin_load */
    /* The GPU engine is open. Called once at most, on the thread that opened it, with no lock
     * held, and before destroy and a bale_dispatch_wait that found it open return. NULL: it is
     * tried once only. */
    void (*opened)(void *arg);
    void *arg;
};

/* Copies the options. Without bale_dispatch_open the CPU does everything. BALE_OK or
 * BALE_E_NOMEM. */
int bale_dispatch_create(const struct bale_dispatch_options *options, struct bale_engine **engine);

/* Begins to open the GPU engine on a thread of its own, unless the choice is BALE_ENGINE_CPU,
 * and logs the result. If the devices lack memory, work that comes later has it tried again, if
 * there is an opened to call. Once; does not wait. */
void bale_dispatch_open(struct bale_engine *engine);

/* The end is near: no try to open the GPU engine begins any more. One that opens from here on
 * gets no work, and opened is not called for it; a call that began before may still run. Any
 * thread; does not wait. */
void bale_dispatch_end_tries(struct bale_engine *engine);

/* After bale_dispatch_open: waits until the GPU engine is open and returns BALE_OK, or a
 * negative bale_err with why if the last try failed or the first takes longer than `ms`. */
#define BALE_DISPATCH_PATIENCE_MS 60000u /* the driver hangs */
int bale_dispatch_wait(struct bale_engine *engine, unsigned ms, struct bale_reason *why);

/* After opened was called: the plug-in, and in *device its engine. Both stay the dispatcher's. */
const struct bale_gpu *bale_dispatch_gpu(struct bale_engine *engine, struct bale_engine **device);

/* Changes the choice while no item is in flight. Neither the old nor the new choice is
 * BALE_ENGINE_CPU. */
void bale_dispatch_set_choice(struct bale_engine *engine, enum bale_engine_choice choice);

/* After opened was called: pins memory for the GPU, as pin of struct bale_gpu does. destroy does
 * not wait for a call that hangs in the driver; it leaves what the call needs when it returns. */
int bale_dispatch_pin(struct bale_engine *engine, void *memory, size_t size);

/* Gives the GPU's context back as soon as the engine has nothing to do on it; the next batch takes
 * it again. Any thread. */
void bale_dispatch_release_gpu(struct bale_engine *engine);

/* Much work is about to come: a GPU that was given back, or that was refused for lack of memory, is
 * opened in the background. Any thread; short. */
void bale_dispatch_wake_gpu(struct bale_engine *engine);

/* Unpins memory, as unpin of struct bale_gpu. Any thread; short. */
void bale_dispatch_unpin(struct bale_engine *engine);

/* Calls call(arg) if no memory is pinned now, and keeps it so meanwhile: as while_unpinned of
 * struct bale_gpu. Returns whether it was called. */
bool bale_dispatch_while_unpinned(struct bale_engine *engine, void (*call)(void *arg), void *arg);

/* Whether destroy has abandoned a thread that hangs in the driver of a GPU. The process must
 * then end without exit handlers, as _exit does: those of the driver may wait for that thread. */
bool bale_dispatch_hangs(void);

/* Whether decodes of the kind that was submitted last are now collected for batches, even if only
 * for a trial. If so, the caller should have more of them in flight. */
bool bale_dispatch_collects(struct bale_engine *engine);

struct bale_dispatch_work {
    uint64_t items, encoded, decoded; /* raw bytes */
};

struct bale_dispatch_stats {
    struct bale_dispatch_work cpu, gpu;
    uint64_t batches; /* submitted to the GPU */
    uint64_t redone;  /* items that the GPU did not do */
    uint64_t
        unable; /* of these, BALE_E_ENGINE or BALE_E_QUARANTINED: a device may still access them */
    bool used;  /* the GPU engine is open and gets work */
    struct bale_gpu_stats device;
};
void bale_dispatch_stats(struct bale_engine *engine, struct bale_dispatch_stats *stats);

#endif
