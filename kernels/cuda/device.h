/* One device: its context, its memory, and its slots. A slot has a stream and memory for a batch of
 * chunks of one codec and direction, all allocated when the device is opened. A batch runs in two
 * steps: the first reads the items and writes only the slot's memory; then the host reads the
 * results; the second writes the items.
 *
 * One thread at a time uses a slot. Errors are BALE_E_NOMEM and BALE_E_DEVICE; after the latter
 * bale_cuda_device_alive() says whether the device can still be used. */
#ifndef BALE_KERNELS_CUDA_DEVICE_H
#define BALE_KERNELS_CUDA_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/reason.h"
#include "kernels/codec/nvcomp.h"
#include "kernels/codec/tables.h"
#include "kernels/cuda/codecs.h"
#include "kernels/cuda/driver.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { BALE_CUDA_SLOTS = 4 };        /* one copies in, two compute, one copies out */
enum { BALE_CUDA_CELLS_MIN = 16 };   /* a smaller slot is not worth its memory */
enum { BALE_CUDA_CELLS_MAX = 2048 }; /* 128 MiB: nvCOMP is no faster with more on an H100 */

struct bale_cuda_device;
struct bale_cuda_slot;

/* The part of a slot that the host reads and writes. The tables are pinned host memory. */
struct bale_cuda_host {
    struct cuda_chunk *chunks;
    struct cuda_frame *frames;
    const struct cuda_result *results;
    const struct cuda_part *made; /* only of a codec with an extent part */
    struct cuda_move *moves;      /* twice as many: one for each chunk and each frame's part */
    uint32_t cells;               /* entries in each */
    uint64_t raw;                 /* device address of the raw cells */
    uint64_t packed;              /* of the packed ones */
    uint64_t parts;               /* of the cells of extent parts, BALE_CUDA_PART bytes each */
    uint64_t raw_cell;            /* bytes from one cell to the next */
    uint64_t packed_cell;
};

struct cuda_pinned;

struct bale_cuda_settings {
    int ordinal;
    struct cuda_pinned *pinned;  /* the engine's; NULL: each copy lies in one range */
    uint64_t memory;             /* bytes at most, including the context */
    const struct nvcomp *nvcomp; /* NULL: without nvCOMP's codecs */
    bool verify;
    bool shared;        /* the process uses the context as well */
    uint64_t *phase_ns; /* BALE_GPU_PHASES of them: opening adds the time of its phases */
};

struct bale_gpu_copy;

/* Makes a context and allocates everything. A codec whose working memory leaves too little for
 * batches is left out. Errors come with why. */
int bale_cuda_device_open(const struct bale_cuda_settings *settings,
                          struct bale_cuda_device **device, struct bale_reason *why);

/* Frees the memory of the slots, whose batches have ended, and allocates it again. Between the two
 * there are no slots. */
void bale_cuda_device_free_slots(struct bale_cuda_device *device);
int bale_cuda_device_allocate_slots(struct bale_cuda_device *device, struct bale_reason *why);

/* Frees everything, with the context unless it is shared. NULL is fine. No thread uses a slot of
 * it. */
void bale_cuda_device_close(struct bale_cuda_device *device);

bool bale_cuda_device_has(const struct bale_cuda_device *device, enum cuda_codec codec);
/* Whether its multiprocessors are enough for the codec, and have the shared memory. */
bool bale_cuda_device_fits(const struct bale_cuda_device *device, enum cuda_codec codec);
uint64_t bale_cuda_device_memory(const struct bale_cuda_device *device); /* all bytes */
/* How many batches are computed at a time. */
unsigned bale_cuda_device_workspaces(const struct bale_cuda_device *device);
struct bale_cuda_slot *bale_cuda_device_slot(struct bale_cuda_device *device, unsigned i);

/* Whether the context still works: it has no sticky error. */
bool bale_cuda_device_alive(struct bale_cuda_device *device);

/* Pins host memory for all contexts, so that the devices read and write it where it is. */
int bale_cuda_pin(int ordinal, void *memory, size_t size);
void bale_cuda_unpin(int ordinal, void *memory);

/* memory.cu: memory and streams of the process itself, as in kernels/engine/gpu.h. */
int bale_cuda_memory_kind(int ordinal, const void *memory, bool *on_device, int *device);
int bale_cuda_wait_stream(int ordinal, void *stream);
int bale_cuda_copy(int ordinal, const struct bale_gpu_copy *copies, size_t count);

/* The slot's memory on the host, which lives as long as the slot. */
const struct bale_cuda_host *bale_cuda_slot_host(const struct bale_cuda_slot *slot);

/* Sets the calling thread's device to the slot's. */
int bale_cuda_slot_use(struct bale_cuda_slot *slot);

/* Starts the first step for chunks[0, count) and their frames. When bale_cuda_wait() returns,
 * results[0, count) are there, and made of the frames. A frame whose part is damaged has CUDA_BAD
 * in the result of its first chunk. A chunk that is stored raw is then in its raw cell after an
 * encode and after a decode of CUDA_STORE, else in its packed cell. */
int bale_cuda_encode(struct bale_cuda_slot *slot, enum cuda_codec codec, uint32_t count);
int bale_cuda_decode(struct bale_cuda_slot *slot, enum cuda_codec codec, uint32_t count);

/* Starts the second step: moves[0, count). */
int bale_cuda_scatter(struct bale_cuda_slot *slot, uint32_t count);

/* Sleeps until the step is done, and frees its workspace. */
int bale_cuda_wait(struct bale_cuda_slot *slot);

/* For each run: of a kernel that only rounds, of encoding with rounding, and of decoding. */
struct bale_cuda_times {
    double *round_ns, *encode_ns, *decode_ns;
};

/* Runs the kernels of a codec, not store, on chunks[0, count) in any host memory, on a device
 * that was opened with verify and has no other batch. times[0, runs) are without copies.
 * results[0, count) are as after an encode, with CUDA_MISMATCH if any run had one. */
int bale_cuda_measure(struct bale_cuda_slot *slot, enum cuda_codec codec, uint32_t count,
                      unsigned runs, const struct bale_cuda_times *times);

#ifdef __cplusplus
}
#endif

#endif
