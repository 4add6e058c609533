/* The interface of libbalefs_cuda.so, the GPU engine: a plug-in that the program opens at run time
 * (kernels/engine/plugin_loader.h). It has no type of CUDA's. The plug-in's only symbol is
 *
 *     extern const struct bale_gpu bale_gpu_plugin;
 *
 * The program and its plug-in are built together. BALE_GPU_ABI changes whenever something changes
 * here, in kernels/engine/engine.h, in kernels/codec/codec.h or in format/frame.h that both see,
 * and a plug-in with another number is not used.
 *
 * The engine that open returns keeps the contract of kernels/engine/engine.h, and besides:
 *   - submit may be called from within a done, and from several threads at once.
 *   - done is called on a thread of the plug-in's, which holds no lock of the engine; it must be
 *     short. run_inline returns false.
 *   - done is called only when no device will write to the item's memory any more, because a late
 *     copy must not land in memory that has another owner by then. The exception is
 *     BALE_E_QUARANTINED: the batch was given up while its items were being written, and the output
 *     must not be used until quarantine reports that it may be.
 *   - A device may read an item's memory after done, if its batch was given up before it wrote
 *     anything. What it reads is dropped, so the memory may be used again at once, but it must stay
 *     mapped: only the engine unpins memory, when no device works, and the owner of pinned memory
 *     keeps it mapped until the process ends, since destroy may leave a device at work.
 *   - Any status but BALE_OK means that another engine has to do the item: the input is as it was,
 *     the output may be anything. BALE_E_ENGINE: the engine failed, whatever the item is.
 *     BALE_E_NO_DEVICE: no device that does it is open just now, and the item was not touched; it
 *     is no failure.
 *     BALE_E_CORRUPT is not final: the CPU decodes the frame again.
 *   - A frame is hostile until its checksums were compared. If its raw length is not the item's,
 *     the status is BALE_E_CORRUPT and nothing is written to raw.
 *   - destroy is called while no item is in flight and no other thread uses the engine. A device
 *     that has not come back from a batch that was given up is abandoned, with all memory that it
 *     may access. */
#ifndef BALE_KERNELS_ENGINE_GPU_H
#define BALE_KERNELS_ENGINE_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/reason.h"
#include "kernels/engine/engine.h"

#define BALE_GPU_ABI 19u

enum { BALE_GPU_DEVICES = 16, BALE_GPU_NAME = 64 };
enum { BALE_GPU_TRIAL = 2048 }; /* chunks of a trial that are measured, at most */

/* Levels of messages; the numbers are those of fs/base/log.h. */
enum bale_gpu_level { BALE_GPU_ERROR, BALE_GPU_WARNING, BALE_GPU_INFO, BALE_GPU_DEBUG };

struct bale_gpu_options {
    int devices[BALE_GPU_DEVICES]; /* ordinals */
    unsigned device_count;         /* 0: the nearest visible one */
    /* The most bytes of each device's memory, including the context; 0: 1/16 of what it has, or
     * half of what is free if that is less, but at least 2 GiB, and no more than a quarter. */
    uint64_t memory;
    bool insist;  /* also if the compute mode is exclusive, or too little memory is free */
    bool if_free; /* but with insist, too, not if too little memory is free */
    bool verify;  /* decode and compare each encoded item before done */
    /* The process uses the devices itself: their contexts stay when the engine frees its memory,
     * and wait in the way that the process has set. */
    bool shared;
    /* After this long without work the context is destroyed, and host memory unpinned; the next
     * batch brings all back. 0: 30000. */
    unsigned release_ms;
    /* After this long without work the memory for batches is freed, and the context kept: then
     * the next batch has milliseconds to wait for. 0: as release_ms. A device that is set to serve
     * one process alone is not kept, nor one that has less memory free than batches need. */
    unsigned slots_ms;
    unsigned watchdog_ms; /* a batch that reads or writes for longer is given up; 0: 10000 */
    /* When the caller began to load the plug-in, by the monotonic clock; 0: opening begins with
     * open. */
    uint64_t begin_ns;
    /* level: enum bale_gpu_level. The text reads "what: what happened: what to do". Any thread,
     * with locks of the engine's held: short, and calls nothing of the engine. */
    void (*log)(int level, const char *text);
    /* Reports whether a device may still write to the output of items that were done with
     * BALE_E_QUARANTINED: true before the first of them is done, false when no context is left
     * that could write. On a thread of the engine's, with its mutex held: short, and calls
     * nothing of the engine. May be NULL. */
    void (*quarantine)(void *arg, bool may);
    void *arg;
};

/* What opening the devices consists of, in this order. */
enum bale_gpu_phase {
    BALE_GPU_PLUGIN,  /* the plug-in is loaded */
    BALE_GPU_DRIVER,  /* the driver starts, and says what devices there are */
    BALE_GPU_NVCOMP,  /* nvCOMP is loaded */
    BALE_GPU_CONTEXT, /* of each device, as all down to the slots */
    BALE_GPU_CODECS,  /* a batch of every codec loads its kernels */
    BALE_GPU_SLOTS,   /* device memory for batches */
    BALE_GPU_PINS,    /* ranges that were pinned for an earlier context */
    BALE_GPU_PHASES
};

/* The last opening of the devices, and what followed. Times are from its beginning; 0: not yet. */
struct bale_gpu_timeline {
    uint64_t begin_ns;                  /* by the monotonic clock */
    uint64_t phase_ns[BALE_GPU_PHASES]; /* how long each took, for all devices; 0: there was none */
    uint64_t open_ns;                   /* the devices were ready */
    uint64_t pinned_ns;                 /* the first range was pinned */
    uint64_t taken_ns, done_ns;         /* a worker took the first batch, and had done it */
};

/* Totals since the engine was opened. */
struct bale_gpu_stats {
    uint64_t batches, items;
    uint64_t raw_bytes_encoded, raw_bytes_decoded;
    uint64_t failed;        /* items whose status was not BALE_OK */
    uint64_t mismatches;    /* of those, the ones that verify refused */
    uint64_t device_memory; /* bytes allocated now on all devices, including contexts */
    uint64_t batch_ns;      /* the sum over batches of the time in their steps */
    uint64_t pinned;        /* bytes of host memory, now */
    bool open;              /* there is memory for batches: the next one need not wait for it */
    bool kept;              /* there is not, but the context is there */
    bool lost;              /* a device failed for good: the engine does nothing any more */
    uint32_t codecs;        /* bit i: it encodes with settings of codec i, and decodes it */
    struct bale_gpu_timeline opening;
    char
        device[BALE_GPU_NAME]; /* its name; of several devices, the first one's and how many more */
};

/* A device's compute mode: for all processes, for one, for none. */
enum bale_gpu_mode { BALE_GPU_SHARED, BALE_GPU_EXCLUSIVE, BALE_GPU_PROHIBITED };

struct bale_gpu_device {
    char name[BALE_GPU_NAME];
    uint64_t memory;
    uint64_t free; /* of that; UINT64_MAX: unknown */
    enum bale_gpu_mode mode;
};

struct bale_gpu_found {
    unsigned device_count;
    struct bale_gpu_device devices[BALE_GPU_DEVICES]; /* by ordinal */
    unsigned chosen;                                  /* the one that open takes by default */
    struct bale_reason missing; /* why the CPU would do nvCOMP's codecs; "": it would not */
    uint32_t codecs;            /* bit i: the device does codec i, if its memory is enough */
};

/* A measurement of a codec's kernels. */
struct bale_gpu_trial_chunk {
    const uint8_t *raw; /* any host memory */
    uint64_t offset;    /* in the file */
    uint32_t length;
    uint16_t parameter; /* a frame's */
    /* Whether it begins an extent, as the first chunk always does: a codec with an extent part
     * makes one for the chunks from here to the next such. All of an extent's but the last one have
     * the same length. */
    bool begins;
};

struct bale_gpu_trial {
    uint8_t codec; /* id */
    struct bale_field field;
    const struct bale_gpu_trial_chunk *chunks;
    size_t count;
    unsigned runs; /* 1 or more: the result is the median */

    /* Out. BALE_E_INVALID: the device does not take the codec, or a chunk's parameter or length.
     * BALE_E_CORRUPT: what was decoded differs from what was encoded. The members below are set
     * with BALE_OK. */
    int status;
    size_t measured; /* the first so many chunks: as many as a batch has room for */
    uint64_t stored; /* bytes of those and of their extents' parts; a chunk that is stored raw
                      * counts with its raw length, as does an extent whose part gains nothing */
    uint64_t encode_ns, decode_ns;
    uint64_t round_ns; /* with a lossy codec, whose encode_ns includes rounding: a kernel that only
                        * rounds the elements, whose field has the type f32 or f64; else 0 */
};

struct bale_gpu_copy {
    void *to;
    const void *from; /* NULL: zeros, to a device's memory */
    size_t length;
};

struct bale_gpu {
    uint32_t abi; /* BALE_GPU_ABI; first in every version */
    /* Opens the devices and returns 0 and an engine that is ready, or a negative bale_err and why.
     * BALE_E_NOMEM: the devices lack memory now, and a later call may succeed. May take seconds. Do
     * not call it before a fork whose child uses the engine. With shared any number of engines may
     * be open, without it one at a time. */
    int (*open)(const struct bale_gpu_options *options, struct bale_engine **engine,
                struct bale_reason *why);

    /* Finds what open without options would find, and allocates nothing on a device: 0, or a
     * negative bale_err and why open would fail. found is filled as far as possible in both
     * cases. */
    int (*find)(struct bale_gpu_found *found, struct bale_reason *why);

    /* Opens the first of the options' devices, or the nearest, with an engine of its own, and
     * measures its kernels on data in its memory: a batch of each trial's chunks is encoded and
     * decoded, without the copies to and from the host. Chunks that are stored raw are copied
     * instead of decoded. tick, which may be NULL, is called on this thread before each trial.
     * May take long. 0, whatever the status of each trial; or a negative bale_err and why, as
     * from open. */
    int (*measure)(const struct bale_gpu_options *options, struct bale_gpu_trial *trials,
                   size_t count, void (*tick)(void *argument, size_t trial), void *argument,
                   struct bale_reason *why);

    /* The rest is for the engine that open returned, from any thread, until its destroy. */

    /* Whether the engine does the item's codec and direction now, and its devices reach the
     * item's memory: host memory must have been pinned. The codec of a decode is the one in the
     * frame, not frame.codec. Short. */
    bool (*takes)(struct bale_engine *engine, const struct bale_item *item);
    /* Pins memory, so that the devices read and write it where it is. May take long. Once for each
     * range; it stays pinned until destroy, and the caller keeps it mapped, with the same pages but
     * for while_unpinned, until the process ends. An item may lie across ranges that touch. 0, or a
     * negative bale_err and nothing has changed. */
    int (*pin)(struct bale_engine *engine, void *memory, size_t size);
    /* Short, as the next two: the dispatcher calls it before and after each batch. */
    void (*stats)(struct bale_engine *engine, struct bale_gpu_stats *stats);
    /* Gives the context back as soon as no work is waiting or under way, as after release_ms. */
    void (*release)(struct bale_engine *engine);
    /* Work is about to come: opens what was given back, in the background. */
    void (*wake)(struct bale_engine *engine);
    /* Unpins all memory, in the background, if the context is kept without memory for batches; the
     * next work has it pinned again, as with a new context. Else nothing happens. Short. */
    void (*unpin)(struct bale_engine *engine);
    /* Calls call(arg) if no memory is pinned, because there is no context or unpin was called: it
     * may give back the pages of ranges that pin was called for, until it returns. Returns whether
     * it was called. call calls nothing of the engine. */
    bool (*while_unpinned)(struct bale_engine *engine, void (*call)(void *arg), void *arg);

    /* The rest is for a process that has memory of its own on the devices, in CUDA's primary
     * contexts. The calls wait for the device. 0, or BALE_E_DEVICE. */

    /* BALE_MEMORY_DEVICE and the device's ordinal, or BALE_MEMORY_HOST, which includes memory
     * that the host and a device share. */
    int (*memory_kind)(struct bale_engine *engine, const void *memory, enum bale_memory_kind *place,
                       int *device);
    /* Waits for all work that is in the stream, a cudaStream_t, at the time of the call. */
    int (*wait)(struct bale_engine *engine, void *stream);
    /* Copies between host memory and a device's, in any order. */
    int (*copy)(struct bale_engine *engine, const struct bale_gpu_copy *copies, size_t count);
};

#endif
