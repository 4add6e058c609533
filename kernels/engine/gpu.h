/* What libbalefs_cuda.so, the GPU engine, gives to the program: a plug-in that is opened at run time
 * (kernels/engine/plugin_loader.h). No type of CUDA's is in here. Its only symbol is
 *
 *     extern const struct bale_gpu bale_gpu_plugin;
 *
 * The program and its plug-in are built together: BALE_GPU_ABI changes with anything here, in
 * kernels/engine/engine.h, in kernels/codec/codec.h or in format/frame.h that both see, and a plug-in with
 * another number is not used.
 *
 * The engine that open gives keeps what kernels/engine/engine.h asks of one, and besides:
 *   - submit takes its list as one batch. It may be called from within a done, and from several
 *     threads at once.
 *   - done is called from a thread of the plug-in's, with no lock of its held; it is short.
 *     here returns false, done_may_wait is false.
 *   - An item is done only when no device will write its memory any more: a late copy must not land
 *     in what has become somebody else's. Or, if its batch was given up as it was being written, with
 *     BALE_E_QUARANTINED: its output stays out of use until late says that it may be used.
 *   - A device may read an item's memory after it is done, if its batch was given up before it wrote
 *     anything: what it reads is dropped, so the memory may be used again at once. But it has to be
 *     there: what was pinned is unpinned only by the engine, when no device is at work, and its owner
 *     keeps it mapped until the process ends, since destroy may leave a device at work.
 *   - Any status but BALE_OK means that the item is to be done elsewhere: the input is as it was,
 *     the output may be anything. BALE_E_ENGINE: the engine could not, whatever the item is.
 *     BALE_E_NO_DEVICE: no device is open just now, and the item was not touched; it is no failure.
 *     BALE_E_CORRUPT is believed by nobody: the CPU looks again.
 *   - What a frame holds is hostile until its checksums were compared. One of another raw length
 *     than the item's is BALE_E_CORRUPT, and nothing of it is written to raw.
 *   - Where destroy is called, no item is under way and nobody else uses the engine. A device that has
 *     not come back from a batch that was given up is left alone, with all that it may touch. */
#ifndef BALE_KERNELS_ENGINE_GPU_H
#define BALE_KERNELS_ENGINE_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/reason.h"
#include "kernels/engine/engine.h"

#define BALE_GPU_ABI 7u

enum { BALE_GPU_DEVICES = 16, BALE_GPU_NAME = 64 };
enum { BALE_GPU_TRIAL = 2048 }; /* chunks of a trial that are measured, at most */

/* Of messages; the numbers are those of fs/base/log.h. */
enum bale_gpu_level { BALE_GPU_ERROR, BALE_GPU_WARNING, BALE_GPU_INFO };

struct bale_gpu_options {
    int devices[BALE_GPU_DEVICES]; /* ordinals */
    unsigned device_count;         /* 0: the nearest visible one */
    /* Bytes of each device's memory at most, the context counted in; 0: 1/16 of what it has, at least
     * 2 GiB, but no more than a quarter. */
    uint64_t memory;
    bool insist; /* also where the compute mode is exclusive, or the device busy */
    bool verify; /* decode what was encoded, and compare, before done */
    /* The process has work of its own on the devices: their contexts stay when the engine's memory goes,
     * and wait as the process has said. */
    bool shared;
    /* Without work for so long the context goes; it comes again with the next batch. */
    unsigned release_ms;
    unsigned watchdog_ms; /* a batch that takes longer to read or to write is given up */
    /* level: enum bale_gpu_level; from any thread. The text reads "what: what happened: what to do". */
    void (*log)(int level, const char *text);
    /* Whether a device may write yet to the output of items that were done with BALE_E_QUARANTINED: true
     * comes before the first of them, false when no context is left that could. Short, and calls
     * nothing of the engine. May be NULL. */
    void (*quarantine)(void *arg, bool may);
    void *arg;
};

/* Since it was opened. */
struct bale_gpu_stats {
    uint64_t batches, items;
    uint64_t raw_bytes_encoded, raw_bytes_decoded;
    uint64_t failed;            /* items whose status was not BALE_OK */
    uint64_t mismatches;        /* of those, the ones that verify found */
    uint64_t device_memory;     /* bytes held now, the context counted in, of all devices */
    uint64_t batch_ns;          /* in all batches, from submit to the last done */
    uint64_t pinned;            /* bytes */
    bool open;                  /* a context is there: the next batch need not wait for one */
    bool lost;                  /* for good: nothing more is to be asked of it */
    uint32_t codecs;            /* bit i: it encodes with settings of codec i, and decodes it */
    char device[BALE_GPU_NAME]; /* its name; of several, the first one's and how many */
};

/* A device's compute mode: for all, for one process alone, for none. */
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
    unsigned chosen;                                  /* what open takes if it is not told */
    struct bale_reason missing; /* why nvCOMP's codecs would stay with the CPU; "": they do not */
    uint32_t codecs;            /* bit i: it has codec i, if there is memory for it */
};

/* A codec's kernels, to be measured. */
struct bale_gpu_trial_chunk {
    const uint8_t *raw; /* any host memory */
    uint32_t length;
    uint16_t parameter; /* as in frames: nothing is open */
};

struct bale_gpu_trial {
    uint8_t codec; /* id */
    const struct bale_gpu_trial_chunk *chunks;
    size_t count;
    unsigned runs; /* 1 or more: the median counts */

    /* Out. BALE_E_INVALID: the device does not take the codec, or a chunk's parameter or length.
     * BALE_E_CORRUPT: other bytes came back than went in. The rest is there with BALE_OK. */
    int status;
    size_t measured; /* chunks, the first ones: as many as a batch has room for */
    uint64_t stored; /* bytes of those: the raw length of one that is not worth compressing */
    uint64_t encode_ns, decode_ns;
};

struct bale_gpu_copy {
    void *to;
    const void *from; /* NULL: zeros, to a device's memory */
    size_t length;
};

struct bale_gpu {
    uint32_t abi; /* BALE_GPU_ABI; first in every version */
    /* Returns at once or after seconds: 0 and an engine that is as fast as it will be, or a negative
     * bale_err and why. After the process has forked; with shared any number of times, without it one at a
     * time. */
    int (*open)(const struct bale_gpu_options *options, struct bale_engine **engine,
                struct bale_reason *why);

    /* Looks for what open without options would find, and makes nothing on a device: 0, or a negative
     * bale_err and why open would fail; found has what could be seen all the same. */
    int (*find)(struct bale_gpu_found *found, struct bale_reason *why);

    /* Opens the first of the options' devices, or the nearest, for itself alone, and measures what its
     * kernels do with data in its memory: a batch of each trial's chunks is encoded and decoded,
     * and nothing of the copies to and from the host counts. What is stored raw is copied instead of
     * decoded. tick, which may be NULL, is called before each trial. May take long. 0, whatever
     * became of each trial; or a negative bale_err and why, as from open. */
    int (*measure)(const struct bale_gpu_options *options, struct bale_gpu_trial *trials,
                   size_t count, void (*tick)(void *argument, size_t trial), void *argument,
                   struct bale_reason *why);

    /* The rest on what open gave, from any thread, until its destroy. */

    /* Whether codec, direction and places are the engine's, and it has not given them up. Short.
     * Memory that was not pinned is not. A decode may say its codec in frame.codec; what the frame
     * itself says counts. */
    bool (*takes)(struct bale_engine *engine, const struct bale_item *item);
    /* Makes memory the devices'. May take long; once for each range, which stays so until destroy
     * and is mapped, the same pages, until the process ends. An item may lie across ranges that touch.
     * 0, or a negative bale_err: it is as it was. */
    int (*pin)(struct bale_engine *engine, void *memory, size_t size);
    /* Short: called before each batch. */
    void (*stats)(struct bale_engine *engine, struct bale_gpu_stats *stats);

    /* What follows is for a process that has memory of its own on the devices, in CUDA's primary contexts,
     * and waits until it is done. 0, or BALE_E_DEVICE. */

    /* BALE_MEMORY_HOST, also for what the host and a device share, or BALE_MEMORY_DEVICE and its ordinal. */
    int (*memory_kind)(struct bale_engine *engine, const void *memory, enum bale_memory_kind *place,
                       int *device);
    /* Waits for all that is now in the stream, a cudaStream_t. */
    int (*wait)(struct bale_engine *engine, void *stream);
    /* Between the host's memory and a device's, in any order. */
    int (*copy)(struct bale_engine *engine, const struct bale_gpu_copy *copies, size_t count);
};

#endif
