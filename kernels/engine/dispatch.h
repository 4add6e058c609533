/* The engine of a volume: the CPU engine and, once it is open, a GPU engine (kernels/engine/gpu.h) beside
 * it. Where an item is done is decided by what it has cost on either side; what comes out is the
 * same. Whatever the GPU engine does not do, the CPU does, and nobody is told but the log. */
#ifndef BALE_KERNELS_ENGINE_DISPATCH_H
#define BALE_KERNELS_ENGINE_DISPATCH_H

#include "format/reason.h"
#include "kernels/engine/gpu.h"

enum bale_engine_choice {
    BALE_ENGINE_AUTO, /* whichever is done first */
    BALE_ENGINE_GPU,  /* the GPU all that it takes, but for what somebody waits for */
    BALE_ENGINE_CPU,
};

struct bale_dispatch_options {
    unsigned threads; /* of the CPU engine, as there */
    enum bale_engine_choice choice;
    struct bale_gpu_options gpu; /* insist is set here */
    bool untrusted;              /* frames are somebody else's: the CPU decodes */
    bool wary;                   /* the same for codecs whose decoder is not ours */
    const char *plugin;          /* absolute path, or NULL: as bale_plugin_load */
    /* The GPU engine is open: called once, from a thread of its own, before destroy returns. May be
     * NULL. */
    void (*opened)(void *arg);
    void *arg;
};

/* Until bale_dispatch_open all is the CPU engine's. gpu.log is never NULL. */
int bale_dispatch_create(const struct bale_dispatch_options *options, struct bale_engine **engine);

/* Begins to open the GPU engine, unless the choice is BALE_ENGINE_CPU; the log says how it went.
 * Once; returns at once. */
void bale_dispatch_open(struct bale_engine *engine);

/* After bale_dispatch_open: waits until the GPU engine is open, and that was BALE_OK, or it is known that
 * it will not be: a negative bale_err with why. One that hangs for a minute will not. */
int bale_dispatch_wait(struct bale_engine *engine, struct bale_reason *why);

/* After opened: the plug-in, and *device, its engine. */
const struct bale_gpu *bale_dispatch_gpu(struct bale_engine *engine, struct bale_engine **device);

/* Another choice than the one it was made with; that one was not BALE_ENGINE_CPU. No item is under way. */
void bale_dispatch_choose(struct bale_engine *engine, enum bale_engine_choice choice);

/* After opened: makes memory the GPU's, as pin of struct bale_gpu. destroy need not wait for one that
 * hangs: there is enough left for it to come back to. */
int bale_dispatch_pin(struct bale_engine *engine, void *memory, size_t size);

/* Whether destroy has left a thread behind, because the driver of a GPU hangs. Then the process must end
 * without exit handlers, as _exit does: those of the driver may wait for that thread. */
bool bale_dispatch_hangs(void);

/* Whether decodes, of the kind that there were last, are now collected for the GPU, if only to find out
 * what it makes of them: then the more of them are under way, the better. */
bool bale_dispatch_collects(struct bale_engine *engine);

struct bale_dispatch_work {
    uint64_t items, encoded, decoded; /* raw bytes */
};

struct bale_dispatch_stats {
    struct bale_dispatch_work cpu, gpu;
    uint64_t batches; /* given to the GPU */
    uint64_t redone;  /* items that the GPU was given and the CPU did */
    uint64_t
        unable; /* of these, BALE_E_ENGINE or BALE_E_QUARANTINED: a device may still be at them */
    bool used;  /* the GPU engine is open, and is asked */
    struct bale_gpu_stats device;
};
void bale_dispatch_stats(struct bale_engine *engine, struct bale_dispatch_stats *stats);

#endif
