/* A device and its slots from the inside. */
#ifndef BALE_KERNELS_CUDA_DEVICE_CUH
#define BALE_KERNELS_CUDA_DEVICE_CUH

#include <cuda_runtime.h>

#include "kernels/cuda/device.h"
#include "kernels/cuda/lists.h"

struct bale_cuda_slot {
    struct bale_cuda_device *device;
    struct bale_cuda_host host;
    struct cuda_lists lists;
    struct cuda_chunk *chunks; /* the host's tables in device memory */
    struct cuda_result *results;
    struct cuda_move *moves;
    void *temp; /* nvCOMP's */
    size_t temp_bytes;
    cudaStream_t stream;
    cudaEvent_t gathered;
    cudaEvent_t done;
};

struct bale_cuda_device {
    struct bale_cuda_settings settings;
    struct bale_driver_device about;
    void *context;
    uint8_t *memory;
    uint64_t memory_size;
    uint64_t context_size;
    unsigned blocks; /* as many as copies are made with */
    /* All slots' copies each way, one after the other: one at a time is as fast as the bus, and is done
     * soonest, so that copies in, work and copies out of different slots go side by side. */
    cudaStream_t in;
    cudaStream_t out;
    size_t packed_cell;
    struct cuda_stub stubs[CUDA_CODECS];
    struct bale_cuda_slot slots[BALE_CUDA_SLOTS];
};

/* slot.cu: how much device memory a slot of so many cells takes; SIZE_MAX: nvCOMP does not say. */
size_t bale_cuda_slot_size(const struct bale_cuda_device *device, uint32_t cells);

/* Makes a slot of size bytes of device memory, aligned to 256. */
int bale_cuda_slot_open(struct bale_cuda_slot *slot, struct bale_cuda_device *device,
                        uint8_t *memory, uint32_t cells);
void bale_cuda_slot_close(struct bale_cuda_slot *slot);

/* The functions of a codec that nvCOMP does. */
const struct nvcomp_codec *bale_cuda_codec(const struct bale_cuda_device *device,
                                           enum cuda_codec codec);

cudaError_t bale_cuda_open_stream(cudaStream_t *stream);
int bale_cuda_error(cudaError_t error);

#endif
