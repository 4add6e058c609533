#include "kernels/cuda/fault.cuh"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern "C" {
#include "format/err.h"
}

namespace
{
constexpr uint64_t MIB = 1u << 20;
constexpr uint64_t CONTEXT_GUESS = 600 * MIB; /* where NVML does not say what ours takes */
constexpr size_t CELL_ALIGNMENT = 256;
constexpr size_t STUB_SIZE = 256;

/* Streams that decode to one byte; kernels/lz4/spec.md and kernels/zstd/spec.md. */
constexpr uint8_t lz4_stub[] = {0x10, 0};
constexpr uint8_t zstd_stub[] = {0x28, 0xB5, 0x2F, 0xFD, 0x20, 1, 0x09, 0, 0, 0};

void say(char *why, size_t why_size, const char *what, cudaError_t error)
{
    snprintf(why, why_size, "%s: %s", what, cudaGetErrorString(error));
}

/* The largest that nvCOMP may make of a cell, or a cell. */
int find_packed_cell(bale_cuda_device *d)
{
    size_t most = BALE_CUDA_CELL;

    for (int c = CUDA_LZ4; c < CUDA_CODECS; c++) {
        const nvcomp_codec *codec = bale_cuda_codec(d, (cuda_codec)c);
        size_t bytes = 0;
        if (codec && codec->bound(BALE_CUDA_CELL, nvcomp_options{}, &bytes) != 0)
            return BALE_E_DEVICE;
        most = bytes > most ? bytes : most;
    }
    d->packed_cell = (most + CELL_ALIGNMENT - 1) / CELL_ALIGNMENT * CELL_ALIGNMENT;
    return BALE_OK;
}

cudaError_t put_stub(bale_cuda_device *d, cuda_codec codec, const uint8_t *bytes, uint32_t length)
{
    uint8_t *place = d->memory + codec * STUB_SIZE;

    d->stubs[codec] = cuda_stub{place, length};
    return cudaMemcpy(place, bytes, length, cudaMemcpyHostToDevice);
}

cudaError_t allocate(bale_cuda_device *d, uint64_t size)
{
    cudaError_t error = bale_cuda_fault_allocation(size);

    if (!error)
        error = cudaMalloc((void **)&d->memory, size);
    if (error)
        return error;
    d->memory_size = size;
    error = put_stub(d, CUDA_LZ4, lz4_stub, sizeof lz4_stub);
    return error ? error : put_stub(d, CUDA_ZSTD, zstd_stub, sizeof zstd_stub);
}

/* count slots of so many cells each. */
int open_slots(bale_cuda_device *d, unsigned count, uint32_t cells)
{
    const size_t size = bale_cuda_slot_size(d, cells), stubs = CUDA_CODECS * STUB_SIZE;
    int err = bale_cuda_error(allocate(d, stubs + count * size));

    for (unsigned i = 0; err == BALE_OK && i < count; i++)
        err = bale_cuda_slot_open(&d->slots[i], d, d->memory + stubs + i * size, cells);
    return err;
}

void close_slots(bale_cuda_device *d)
{
    for (unsigned i = 0; i < BALE_CUDA_SLOTS; i++)
        bale_cuda_slot_close(&d->slots[i]);
    cudaFree(d->memory);
    d->memory = nullptr;
    d->memory_size = 0;
}

/* A chunk goes through a codec both ways, so that all kernels are loaded: later that would take
 * memory and time within a batch. */
int try_codec(bale_cuda_device *d, cuda_codec codec, const uint8_t *data)
{
    bale_cuda_slot *slot = &d->slots[0];
    cuda_chunk *chunk = &slot->host.chunks[0];
    int err;

    memset(chunk, 0, sizeof *chunk);
    chunk->place = (uintptr_t)data;
    chunk->length = chunk->raw_length = chunk->limit = chunk->chunk_size = BALE_CUDA_CELL;
    err = bale_cuda_encode(slot, codec, 1);
    if (err == BALE_OK)
        err = bale_cuda_wait(slot);
    if (err == BALE_OK && slot->host.results[0].flags & CUDA_MISMATCH)
        err = BALE_E_DEVICE;
    chunk->checksum = slot->host.results[0].raw_hash;
    if (err == BALE_OK)
        err = bale_cuda_decode(slot, codec, 1);
    if (err == BALE_OK)
        err = bale_cuda_wait(slot);
    return err == BALE_OK && slot->host.results[0].flags != 0 ? BALE_E_DEVICE : err;
}

int try_codecs(bale_cuda_device *d)
{
    uint8_t *data = nullptr;
    int err = bale_cuda_error(cudaHostAlloc((void **)&data, BALE_CUDA_CELL, cudaHostAllocMapped));

    if (err < 0)
        return err;
    for (unsigned i = 0; i < BALE_CUDA_CELL; i++)
        data[i] = (uint8_t)(i / 7 * (i % 5));
    for (int c = CUDA_STORE; err == BALE_OK && c < CUDA_CODECS; c++)
        if (c == CUDA_STORE || bale_cuda_codec(d, (cuda_codec)c))
            err = try_codec(d, (cuda_codec)c, data);
    if (err == BALE_OK) {
        d->slots[0].host.moves[0] =
            cuda_move{d->slots[0].host.raw, (uintptr_t)data, BALE_CUDA_CELL};
        err = bale_cuda_scatter(&d->slots[0], 1);
    }
    if (err == BALE_OK)
        err = bale_cuda_wait(&d->slots[0]);
    cudaFreeHost(data);
    return err;
}

/* Loads what there is to load and finds out what memory the context takes by that. */
int measure_context(bale_cuda_device *d, uint64_t free_before, char *why, size_t why_size)
{
    int err = open_slots(d, 1, BALE_CUDA_CELLS_MIN);
    uint64_t free_now;

    if (err == BALE_OK)
        err = try_codecs(d);
    if (err < 0) {
        say(why, why_size, "the first batch failed", cudaPeekAtLastError());
        return err;
    }
    close_slots(d);
    free_now = bale_driver_free(&d->about);
    d->context_size = CONTEXT_GUESS;
    if (free_before != UINT64_MAX && free_now != UINT64_MAX && free_now < free_before)
        d->context_size = free_before - free_now;
    return BALE_OK;
}

/* The most cells a slot may have for all to fit; 0: none. */
uint32_t cells_for(const bale_cuda_device *d, uint64_t budget)
{
    uint32_t low = 0, high = BALE_CUDA_CELLS_MAX;

    budget /= BALE_CUDA_SLOTS;
    while (low < high) {
        uint32_t middle = (low + high + 1) / 2;
        if (bale_cuda_slot_size(d, middle) <= budget)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Takes less where the device has less. */
int open_all_slots(bale_cuda_device *d, char *why, size_t why_size)
{
    const uint64_t limit = d->settings.memory;
    uint64_t rest = CUDA_CODECS * STUB_SIZE + d->context_size;
    uint64_t budget = limit > rest ? limit - rest : 0;
    uint32_t cells = cells_for(d, budget);
    int err = BALE_E_NOMEM;

    for (; cells >= BALE_CUDA_CELLS_MIN && err == BALE_E_NOMEM; cells /= 2) {
        err = open_slots(d, BALE_CUDA_SLOTS, cells);
        if (err < 0)
            close_slots(d);
    }
    if (err < 0)
        snprintf(why, why_size,
                 "no memory for batches: %llu MiB may be taken, of which the context has %llu",
                 (unsigned long long)(limit / MIB), (unsigned long long)(d->context_size / MIB));
    return err;
}

int open_device(bale_cuda_device *d, char *why, size_t why_size)
{
    uint64_t free_before = bale_driver_free(&d->about);
    int processors = 0;
    int err = bale_driver_context_create(d->settings.ordinal, &d->context);

    if (err < 0) {
        snprintf(why, why_size, "%s does not give a context", d->about.name);
        return err;
    }
    err = bale_cuda_error(
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, d->settings.ordinal));
    d->blocks = (unsigned)processors;
    if (err == BALE_OK)
        err = bale_cuda_error(bale_cuda_open_stream(&d->in));
    if (err == BALE_OK)
        err = bale_cuda_error(bale_cuda_open_stream(&d->out));
    if (err == BALE_OK)
        err = find_packed_cell(d);
    if (err < 0) {
        say(why, why_size, d->about.name, cudaPeekAtLastError());
        return err;
    }
    err = measure_context(d, free_before, why, why_size);
    return err < 0 ? err : open_all_slots(d, why, why_size);
}
} // namespace

/* Our work comes after all others' on the device. */
cudaError_t bale_cuda_open_stream(cudaStream_t *stream)
{
    int least = 0, greatest = 0;
    cudaError_t error = cudaDeviceGetStreamPriorityRange(&least, &greatest);

    return error ? error : cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking, least);
}

int bale_cuda_error(cudaError_t error)
{
    switch (error) {
    case cudaSuccess:
        return BALE_OK;
    case cudaErrorMemoryAllocation:
        (void)cudaGetLastError(); /* it does not stick */
        return BALE_E_NOMEM;
    default:
        return BALE_E_DEVICE;
    }
}

const struct nvcomp_codec *bale_cuda_codec(const struct bale_cuda_device *device,
                                           enum cuda_codec codec)
{
    const nvcomp *n = device->settings.nvcomp;

    switch (codec) {
    case CUDA_LZ4:
        return n ? &n->codecs[NVCOMP_LZ4] : nullptr;
    case CUDA_ZSTD:
        return n ? &n->codecs[NVCOMP_ZSTD] : nullptr;
    default:
        return nullptr;
    }
}

int bale_cuda_device_open(const struct bale_cuda_settings *settings,
                          struct bale_cuda_device **device, char *why, size_t why_size)
{
    bale_cuda_device *d = (bale_cuda_device *)calloc(1, sizeof *d);
    int err = d ? bale_driver_ask(settings->ordinal, &d->about) : BALE_E_NOMEM;

    if (err < 0) {
        snprintf(why, why_size, "device %d does not answer", settings->ordinal);
        free(d);
        return err;
    }
    d->settings = *settings;
    err = open_device(d, why, why_size);
    if (err < 0) {
        bale_cuda_device_close(d);
        return err;
    }
    bale_driver_context_use(nullptr);
    *device = d;
    return BALE_OK;
}

/* With the context all goes that is in it. */
void bale_cuda_device_close(struct bale_cuda_device *device)
{
    if (!device)
        return;
    if (device->context && bale_driver_context_use(device->context) == BALE_OK) {
        close_slots(device);
        if (device->in)
            cudaStreamDestroy(device->in);
        if (device->out)
            cudaStreamDestroy(device->out);
        bale_driver_context_destroy(device->context);
    }
    free(device);
}

uint64_t bale_cuda_device_memory(const struct bale_cuda_device *device)
{
    return device->memory_size + device->context_size;
}

struct bale_cuda_slot *bale_cuda_device_slot(struct bale_cuda_device *device, unsigned i)
{
    return &device->slots[i];
}

bool bale_cuda_device_alive(struct bale_cuda_device *device)
{
    size_t free_bytes, total;

    if (bale_driver_context_use(device->context) < 0)
        return false;
    (void)cudaGetLastError();
    return cudaMemGetInfo(&free_bytes, &total) == cudaSuccess;
}

int bale_cuda_pin(struct bale_cuda_device *device, void *memory, size_t size)
{
    int err = bale_driver_context_use(device->context);

    if (err == BALE_OK)
        err = bale_cuda_error(
            cudaHostRegister(memory, size, cudaHostRegisterPortable | cudaHostRegisterMapped));
    bale_driver_context_use(nullptr);
    return err;
}

void bale_cuda_unpin(struct bale_cuda_device *device, void *memory)
{
    if (bale_driver_context_use(device->context) == BALE_OK)
        cudaHostUnregister(memory);
    bale_driver_context_use(nullptr);
}
