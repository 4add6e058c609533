/* The inside of a device and its slots. */
#ifndef BALE_KERNELS_CUDA_DEVICE_CUH
#define BALE_KERNELS_CUDA_DEVICE_CUH

#include <cuda_runtime.h>
#include <pthread.h>

#include "kernels/codec/codec.cuh"
#include "kernels/codec/lists.h"
#include "kernels/cuda/device.h"

/* The working memory of our codecs on a device, in bytes: five eighths are the pool of rooms for
 * resident blocks, the rest is for chunks, in all workspaces together. A codec that needs much does
 * fewer chunks at a time, and takes nothing from the slots. */
#ifndef BALE_CUDA_ROOMS
#define BALE_CUDA_ROOMS ((size_t)128 << 20)
#endif

/* Working memory of a codec for one batch at a time. For nvCOMP's zstd it takes more than 1 GiB
 * however few the chunks are, so slots share it. */
struct cuda_workspace {
    void *temp;
    size_t temp_bytes;
    cudaEvent_t left; /* the last batch has finished with it */
    unsigned batches; /* that use it or wait for it; guarded by the device's mutex */
};

struct bale_cuda_slot {
    struct bale_cuda_device *device;
    struct cuda_workspace *workspace; /* of the batch in flight; NULL: it has none yet */
    cudaStream_t stream;              /* for the kernels that compute */
    bool bulk;                        /* the copy engines copy the batch (bulk.cuh) */
    struct bale_cuda_host host;
    struct cuda_lists lists;
    struct cuda_chunk *chunks; /* the host's tables in device memory */
    struct cuda_frame *frames;
    struct cuda_result *results;
    struct cuda_move *moves;
    cudaEvent_t listed;   /* a table is in device memory */
    cudaEvent_t gathered; /* the chunks are in their cells */
    cudaEvent_t done;     /* the step is done */
};

struct bale_cuda_device {
    struct bale_cuda_settings settings;
    struct bale_driver_device info;
    uint64_t context_size;
    bool available[CUDA_CODECS];
    bool fits[CUDA_CODECS]; /* the multiprocessors are enough, and have the shared memory */
    bool waits;             /* it has entered waiting.cu */
    size_t packed_cell;
    /* All slots' copies in, and all copies out, one after the other: one at a time fills the bus
     * and is done soonest, so that copies in, computing and copies out of different slots
     * overlap. */
    cudaStream_t in;
    cudaStream_t out;

    pthread_mutex_t mutex; /* guards the workspaces; held while a batch is launched in one */
    uint8_t *memory;       /* of all workspaces and slots; layout.cu divides it */
    uint64_t memory_size;
    struct cuda_stub stubs[CUDA_CODECS];
    struct cuda_rooms rooms;
    unsigned workspace_count;
    struct cuda_workspace workspaces[BALE_CUDA_SLOTS];
    struct bale_cuda_slot slots[BALE_CUDA_SLOTS];
};

/* codecs.cu: what the codec does; nullptr for CUDA_STORE. */
const cuda_codec_ops *bale_cuda_ops(enum cuda_codec codec);

/* layout.cu: divides memory into workspaces and slots of so many cells each, and sets
 * device->workspace_count. Returns the size; with a NULL memory it only computes that. SIZE_MAX:
 * nvCOMP gives no size. */
size_t bale_cuda_lay_out(struct bale_cuda_device *device, uint8_t *memory, unsigned workspaces,
                         unsigned slots, uint32_t cells);

/* slot_memory.cu: the parts of a slot outside of the device's memory. */
int bale_cuda_slot_open(struct bale_cuda_slot *slot, struct bale_cuda_device *device,
                        uint32_t cells);
void bale_cuda_slot_close(struct bale_cuda_slot *slot);

/* slot.cu: parts of an encode, each on the slot's stream, with the kernels of
 * kernels/cuda/chunk.cuh and round.cuh. The batch uses the slot's workspace, if it has one; to: the
 * cells that are decoded to. */
cuda_batch bale_cuda_batch_of(struct bale_cuda_slot *slot, uint32_t count, void **to);
/* Rounds frames that say so; aligned: also those whose elements are aligned (codec.cuh). */
cudaError_t bale_cuda_round(struct bale_cuda_slot *slot, uint32_t count, bool aligned);
/* Rounds, and does what the codec does before raw cells are hashed. Needs no workspace. */
cudaError_t bale_cuda_begin(struct bale_cuda_slot *slot, enum cuda_codec codec, uint32_t count);
cudaError_t bale_cuda_keep_raw(struct bale_cuda_slot *slot, uint32_t count);
cudaError_t bale_cuda_hash_parts(struct bale_cuda_slot *slot, enum cuda_codec codec,
                                 uint32_t count);
cudaError_t bale_cuda_choose(struct bale_cuda_slot *slot, enum cuda_codec codec, uint32_t count);
cudaError_t bale_cuda_compare(struct bale_cuda_slot *slot, uint32_t count);

/* workspace.cu: launches the step of a batch that needs a workspace; the slot's stream waits until
 * the workspace is free. The slot has it until it leaves it, when the batch is done. */
typedef cudaError_t bale_cuda_step(struct bale_cuda_slot *slot, enum cuda_codec codec,
                                   uint32_t count);
cudaError_t bale_cuda_in_workspace(struct bale_cuda_slot *slot, enum cuda_codec codec,
                                   uint32_t count, bale_cuda_step *step);
void bale_cuda_leave_workspace(struct bale_cuda_slot *slot);

/* waiting.cu: whether the device has multiprocessors enough for one engine more of this process
 * whose kernels' blocks wait for each other (kernels/codec/tickets.cuh). If so it counts until it
 * leaves. Engines of other processes take turns with it, unless MPS runs them at the same time:
 * then all of them have to be so few. */
bool bale_cuda_enter_waiting(int ordinal);
void bale_cuda_leave_waiting(int ordinal);

/* trial.cu: does a batch of each codec in the first slot, so that all kernels are loaded. */
int bale_cuda_try_codecs(struct bale_cuda_device *device);

/* runtime.cu */
cudaError_t bale_cuda_open_stream(cudaStream_t *stream);
int bale_cuda_error(cudaError_t error);

#endif
