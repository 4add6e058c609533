/* The first batch of each codec on a device. */
#include <string.h>

#include "kernels/cuda/device.cuh"

extern "C" {
#include "format/err.h"
}

namespace
{
/* Encodes and decodes a chunk, so that all kernels of the codec are loaded: later that would
 * take memory and time within a batch. */
int try_codec(bale_cuda_device *d, cuda_codec codec, const uint8_t *data)
{
    bale_cuda_slot *slot = &d->slots[0];
    cuda_chunk *chunk = &slot->host.chunks[0];
    cuda_frame *frame = &slot->host.frames[0];
    int err;

    memset(chunk, 0, sizeof *chunk);
    chunk->address = (uintptr_t)data;
    chunk->length = chunk->raw_length = chunk->limit = chunk->chunk_size = BALE_CUDA_CELL;
    chunk->whole = chunk->stored = BALE_CUDA_CELL;
    chunk->parameter = codec == CUDA_STORE ? 0 : bale_cuda_ops(codec)->trial;
    memset(frame, 0, sizeof *frame);
    frame->raw_length = BALE_CUDA_CELL;
    frame->rounds = bale_codec_is_lossy(bale_cuda_codecs[codec].id);
    frame->field.offset = 1; /* not aligned, so that the engine rounds, too */
    err = bale_cuda_encode(slot, codec, 1);
    if (err == BALE_OK)
        err = bale_cuda_wait(slot);
    if (err == BALE_OK && slot->host.results[0].flags & CUDA_MISMATCH)
        err = BALE_E_DEVICE;
    chunk->checksum = slot->host.results[0].raw_hash;
    frame->address = slot->host.parts; /* the part is in its cell already */
    frame->checksum = slot->host.made[0].hash;
    frame->length = slot->host.made[0].length;
    if (err == BALE_OK)
        err = bale_cuda_decode(slot, codec, 1);
    if (err == BALE_OK)
        err = bale_cuda_wait(slot);
    return err == BALE_OK && slot->host.results[0].flags != 0 ? BALE_E_DEVICE : err;
}
} // namespace

int bale_cuda_try_codecs(struct bale_cuda_device *d)
{
    bale_cuda_slot *slot = &d->slots[0];
    uint8_t *data = nullptr;
    int err = bale_cuda_error(cudaHostAlloc((void **)&data, BALE_CUDA_CELL, cudaHostAllocMapped));

    if (err < 0)
        return err;
    for (unsigned i = 0; i < BALE_CUDA_CELL; i++)
        data[i] = (uint8_t)(i / 7 * (i % 5));
    for (int c = CUDA_STORE; err == BALE_OK && c < CUDA_CODECS; c++)
        if (d->available[c])
            err = try_codec(d, (cuda_codec)c, data);
    if (err == BALE_OK) {
        slot->host.moves[0] = cuda_move{slot->host.raw, (uintptr_t)data, BALE_CUDA_CELL};
        err = bale_cuda_scatter(slot, 1);
    }
    if (err == BALE_OK)
        err = bale_cuda_wait(slot);
    cudaFreeHost(data);
    return err;
}
