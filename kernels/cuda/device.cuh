/* A device and its slots from the inside. */
#ifndef BALE_KERNELS_CUDA_DEVICE_CUH
#define BALE_KERNELS_CUDA_DEVICE_CUH

#include <cuda_runtime.h>
#include <pthread.h>

#include "kernels/codec/codec.cuh"
#include "kernels/codec/lists.h"
#include "kernels/cuda/device.h"

/* A codec's working memory, for a batch at a time. For nvCOMP's zstd it is more than 1 GiB however few
 * the chunks are, so it is not each slot's. */
struct cuda_workspace {
    void *temp;
    size_t temp_bytes;
    cudaEvent_t left; /* the last batch is through with it */
    unsigned batches; /* in it or on their way; guarded by the device's mutex */
};

struct bale_cuda_slot {
    struct bale_cuda_device *device;
    struct cuda_workspace *workspace; /* of the batch under way, once it is in one */
    cudaStream_t stream;              /* what is computed */
    bool bulk;                        /* the batch is copied by the copy engines (bulk.cuh) */
    struct bale_cuda_host host;
    struct cuda_lists lists;
    struct cuda_chunk *chunks; /* the host's tables in device memory */
    struct cuda_result *results;
    struct cuda_move *moves;
    cudaEvent_t listed; /* a table is there */
    cudaEvent_t gathered;
    cudaEvent_t done;
};

struct bale_cuda_device {
    struct bale_cuda_settings settings;
    struct bale_driver_device info;
    uint64_t context_size;
    bool available[CUDA_CODECS];
    size_t packed_cell;
    /* All slots' copies each way, one after the other: one at a time is as fast as the bus, and is done
     * soonest, so that copies in, work and copies out of different slots go side by side. */
    cudaStream_t in;
    cudaStream_t out;

    pthread_mutex_t mutex; /* one puts a batch in a workspace at a time */
    uint8_t *memory;       /* of all workspaces and slots */
    uint64_t memory_size;
    struct cuda_stub stubs[CUDA_CODECS];
    unsigned workspace_count;
    struct cuda_workspace workspaces[BALE_CUDA_SLOTS];
    struct bale_cuda_slot slots[BALE_CUDA_SLOTS];
};

/* codecs.cu: what the codec does; nullptr for CUDA_STORE. */
const cuda_codec_ops *bale_cuda_ops(enum cuda_codec codec);

/* layout.cu: slots of so many cells each, and workspaces, in one piece of memory. Sets device->workspace_count and
 * what lies in memory, which may be NULL to ask for the size: SIZE_MAX: a codec does not say. */
size_t bale_cuda_lay_out(struct bale_cuda_device *device, uint8_t *memory, unsigned workspaces,
                         unsigned slots, uint32_t cells);

/* slot.cu: what of a slot is not in the device's memory. */
int bale_cuda_slot_open(struct bale_cuda_slot *slot, struct bale_cuda_device *device,
                        uint32_t cells);
void bale_cuda_slot_close(struct bale_cuda_slot *slot);

/* slot.cu: parts of an encode, each on the slot's stream; kernels/cuda/chunk.cuh says what they do.
 * The batch is one in the slot's workspace; to: where what is decoded goes. */
cuda_batch bale_cuda_batch_of(struct bale_cuda_slot *slot, uint32_t count, void **to);
cudaError_t bale_cuda_keep_raw(struct bale_cuda_slot *slot, uint32_t count);
cudaError_t bale_cuda_choose(struct bale_cuda_slot *slot, enum cuda_codec codec, uint32_t count);
cudaError_t bale_cuda_compare(struct bale_cuda_slot *slot, uint32_t count);

/* runtime.cu */
cudaError_t bale_cuda_open_stream(cudaStream_t *stream);
int bale_cuda_error(cudaError_t error);

#endif
