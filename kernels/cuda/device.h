/* One device: its context, its memory, and its slots. A slot has a stream and memory for a batch of
 * chunks of one codec and direction; all of it is allocated when the device is opened. A batch runs in
 * two steps with one look at the results between them: the first reads the items and writes nothing
 * but the slot's memory, the second writes the items.
 *
 * A slot is one thread's at a time. Errors: BALE_E_NOMEM, BALE_E_DEVICE; after the second, ask
 * bale_cuda_device_alive(). */
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
enum { BALE_CUDA_CELLS_MIN = 16 };   /* a slot of less is not worth its while */
enum { BALE_CUDA_CELLS_MAX = 2048 }; /* 128 MiB: with more nvCOMP is no faster on an H100 */

struct bale_cuda_device;
struct bale_cuda_slot;

/* What the host reads and writes of a slot. */
struct bale_cuda_host {
    struct cuda_chunk *chunks;
    const struct cuda_result *results;
    struct cuda_move *moves;
    uint32_t cells; /* entries in each */
    uint64_t raw;   /* device memory: the cells */
    uint64_t packed;
    uint64_t raw_cell; /* bytes from one to the next */
    uint64_t packed_cell;
};

struct cuda_pinned;

struct bale_cuda_settings {
    int ordinal;
    struct cuda_pinned *pinned;  /* the engine's; NULL: what is copied lies in one range each */
    uint64_t memory;             /* bytes at most, the context counted in */
    const struct nvcomp *nvcomp; /* NULL: without the codecs that it does */
    bool verify;
    bool shared; /* the context is the process's as well */
};

struct bale_gpu_copy;

/* Makes a context and allocates. A codec whose working memory leaves too little for
 * batches is left out. BALE_E_NOMEM and BALE_E_DEVICE come with why. */
int bale_cuda_device_open(const struct bale_cuda_settings *settings,
                          struct bale_cuda_device **device, struct bale_reason *why);

/* Frees all, the context as well. NULL is fine. Nobody waits for a slot of it. */
void bale_cuda_device_close(struct bale_cuda_device *device);

bool bale_cuda_device_has(const struct bale_cuda_device *device, enum cuda_codec codec);
uint64_t bale_cuda_device_memory(const struct bale_cuda_device *device); /* bytes, of all */
/* Batches that are computed at a time. */
unsigned bale_cuda_device_workspaces(const struct bale_cuda_device *device);
struct bale_cuda_slot *bale_cuda_device_slot(struct bale_cuda_device *device, unsigned i);

/* Whether the context still answers: no error that sticks. */
bool bale_cuda_device_alive(struct bale_cuda_device *device);

/* Host memory that the devices read and write where it is, for all contexts there are. */
int bale_cuda_pin(int ordinal, void *memory, size_t size);
void bale_cuda_unpin(int ordinal, void *memory);

/* memory.cu: memory and streams of the process's own, as in kernels/engine/gpu.h. */
int bale_cuda_memory_kind(int ordinal, const void *memory, bool *on_device, int *device);
int bale_cuda_wait_stream(int ordinal, void *stream);
int bale_cuda_copy(int ordinal, const struct bale_gpu_copy *copies, size_t count);

const struct bale_cuda_host *bale_cuda_slot_host(const struct bale_cuda_slot *slot);

/* Makes the calling thread the slot's. */
int bale_cuda_slot_use(struct bale_cuda_slot *slot);

/* The first step, for chunks[0, count): results[0, count) are there when bale_cuda_wait() is back. What is
 * stored raw is then in its raw cell after an encode and after a decode of CUDA_STORE, else in its packed one. */
int bale_cuda_encode(struct bale_cuda_slot *slot, enum cuda_codec codec, uint32_t count);
int bale_cuda_decode(struct bale_cuda_slot *slot, enum cuda_codec codec, uint32_t count);

/* The second step: moves[0, count). */
int bale_cuda_scatter(struct bale_cuda_slot *slot, uint32_t count);

/* Sleeps until the step is done. */
int bale_cuda_wait(struct bale_cuda_slot *slot);

/* Runs the kernels of a codec, not store, on chunks[0, count), whose places may be any host memory, in
 * a device that verifies and has no other batch: nanoseconds[0, runs) of each, without copies.
 * results[0, count) are as after an encode; CUDA_MISMATCH says so of any run. */
int bale_cuda_measure(struct bale_cuda_slot *slot, enum cuda_codec codec, uint32_t count,
                      unsigned runs, double *encode_ns, double *decode_ns);

#ifdef __cplusplus
}
#endif

#endif
