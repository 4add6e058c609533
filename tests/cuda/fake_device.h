/* What the sources of the fake device share. */
#ifndef BALE_TESTS_CUDA_FAKE_DEVICE_H
#define BALE_TESTS_CUDA_FAKE_DEVICE_H

#include "kernels/cuda/device.h"

enum { FAKE_PACKED_CELL = BALE_CUDA_CELL + 256 };

struct bale_cuda_slot {
    const struct bale_cuda_device *device;
    struct bale_cuda_host host;
    struct bale_scratch *scratch;
    uint8_t *raw;
    uint8_t *packed;
    uint8_t *parts;
};

/* Whether the fault of that name was asked for. Any thread. */
bool fake_fault_is_on(const char *name);

/* Entry c of the slot's table of chunks; those before it were done. One thread at a time uses a
 * slot. */
void fake_encode_chunk(struct bale_cuda_slot *slot, enum cuda_codec codec, uint32_t c);
void fake_decode_chunk(struct bale_cuda_slot *slot, enum cuda_codec codec, uint32_t c);

#endif
