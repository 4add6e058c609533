#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/reason.h"
#include "kernels/base/clock.h"
#include "kernels/cuda/test_faults.cuh"

extern "C" {
#include "format/err.h"
#include "kernels/engine/gpu.h"
}

namespace
{
constexpr uint64_t MIB = 1u << 20;
constexpr uint64_t CONTEXT_GUESS = 640 * MIB; /* the context's size, if NVML does not show it */
constexpr size_t CELL_ALIGNMENT = 256;
constexpr uint32_t CELLS_WORTH = 128; /* a codec that leaves fewer to a slot is left out */

/* The most that any codec may make of a cell, and at least a cell. */
int find_packed_cell(bale_cuda_device *d)
{
    size_t most = BALE_CUDA_CELL;

    for (int c = CUDA_STORE + 1; c < CUDA_CODECS; c++) {
        const cuda_codec_ops *ops = bale_cuda_ops((cuda_codec)c);
        size_t bytes = 0;
        if (d->available[c] && ops->bound && ops->bound(d->settings.nvcomp, &bytes) != 0)
            return BALE_E_DEVICE;
        most = bytes > most ? bytes : most;
    }
    d->packed_cell = (most + CELL_ALIGNMENT - 1) / CELL_ALIGNMENT * CELL_ALIGNMENT;
    return BALE_OK;
}

/* Copies the codecs' stubs to the device. */
cudaError_t prepare_codecs(bale_cuda_device *d)
{
    cudaError_t error = cudaSuccess;

    for (int c = CUDA_STORE + 1; c < CUDA_CODECS && !error; c++) {
        const cuda_codec_ops *ops = bale_cuda_ops((cuda_codec)c);
        d->stubs[c].length = ops->stub_length;
        if (ops->stub)
            error = cudaMemcpy((void *)d->stubs[c].address, ops->stub, ops->stub_length,
                               cudaMemcpyHostToDevice);
    }
    return error;
}

bool may_wait(bale_cuda_device *d)
{
    d->waits = d->waits || bale_cuda_enter_waiting(d->settings.ordinal);
    return d->waits;
}

/* Opens the codecs in the context. Those whose blocks need more shared memory than the device has
 * for one, or wait for each other where it has too few multiprocessors, stay with the CPU. */
cudaError_t open_codecs(bale_cuda_device *d)
{
    cudaError_t error = cudaSuccess;

    d->fits[CUDA_STORE] = true;
    for (int c = CUDA_STORE + 1; c < CUDA_CODECS && !error; c++) {
        const cuda_codec_ops *ops = bale_cuda_ops((cuda_codec)c);
        error = ops->open ? ops->open() : cudaSuccess;
        d->fits[c] = error != cudaErrorInvalidValue;
        if (!d->fits[c]) {
            (void)cudaGetLastError();
            error = cudaSuccess;
        }
        if (ops->waits)
            d->fits[c] = d->fits[c] && may_wait(d);
    }
    return error;
}

int allocate(bale_cuda_device *d, unsigned workspaces, unsigned slots, uint32_t cells)
{
    const size_t size = bale_cuda_lay_out(d, nullptr, workspaces, slots, cells);
    cudaError_t error = size == SIZE_MAX ? cudaErrorUnknown : bale_cuda_fault_allocation(size);

    if (!error)
        error = cudaMalloc((void **)&d->memory, size);
    if (error)
        return bale_cuda_error(error);
    d->memory_size = size;
    error = cudaMemset(d->memory, 0, size); /* so that nothing depends on what was there */
    if (error)
        return bale_cuda_error(error);
    bale_cuda_lay_out(d, d->memory, workspaces, slots, cells);
    return bale_cuda_error(prepare_codecs(d));
}

int open_slots(bale_cuda_device *d, unsigned workspaces, unsigned slots, uint32_t cells)
{
    int err = allocate(d, workspaces, slots, cells);

    for (unsigned i = 0; err == BALE_OK && i < workspaces; i++)
        err = bale_cuda_error(
            cudaEventCreateWithFlags(&d->workspaces[i].left, cudaEventDisableTiming));
    for (unsigned i = 0; err == BALE_OK && i < slots; i++)
        err = bale_cuda_slot_open(&d->slots[i], d, cells);
    return err;
}

void close_slots(bale_cuda_device *d)
{
    for (unsigned i = 0; i < BALE_CUDA_SLOTS; i++)
        bale_cuda_slot_close(&d->slots[i]);
    for (unsigned i = 0; i < BALE_CUDA_SLOTS; i++) {
        if (d->workspaces[i].left)
            cudaEventDestroy(d->workspaces[i].left);
        memset(&d->workspaces[i], 0, sizeof d->workspaces[i]);
    }
    cudaFree(d->memory);
    d->memory = nullptr;
    d->memory_size = 0;
}

/* The most cells that each slot may have in the budget; 0: none fits. */
uint32_t cells_for(bale_cuda_device *d, uint64_t budget, unsigned workspaces)
{
    uint32_t low = 0, high = BALE_CUDA_CELLS_MAX;

    while (low < high) {
        uint32_t middle = (low + high + 1) / 2;
        if (bale_cuda_lay_out(d, nullptr, workspaces, BALE_CUDA_SLOTS, middle) <= budget)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* The memory that is left for workspaces and slots. */
uint64_t budget_beside(const bale_cuda_device *d, uint64_t context)
{
    return d->settings.memory > context ? d->settings.memory - context : 0;
}

/* Leaves out codecs that need too much memory, from the last, which needs the most. */
int choose_codecs(bale_cuda_device *d, uint64_t budget)
{
    int err = find_packed_cell(d);

    for (int c = CUDA_CODECS - 1; err == BALE_OK && c > CUDA_STORE; c--)
        if (d->available[c] && cells_for(d, budget, 1) < CELLS_WORTH) {
            d->available[c] = false;
            err = find_packed_cell(d);
        }
    return err;
}

/* As many workspaces as leave the slots at their full size, at least one. */
unsigned choose_workspaces(bale_cuda_device *d, uint64_t budget)
{
    unsigned workspaces = 1;

    while (workspaces < BALE_CUDA_SLOTS &&
           cells_for(d, budget, workspaces + 1) == BALE_CUDA_CELLS_MAX)
        workspaces++;
    return workspaces;
}

/* Loads all kernels and finds out how much memory the context takes then. */
int measure_context(bale_cuda_device *d, uint64_t free_before, struct bale_reason *why)
{
    int err = open_slots(d, 1, 1, BALE_CUDA_CELLS_MIN);
    uint64_t free_now;

    if (err == BALE_OK)
        err = bale_cuda_try_codecs(d);
    if (err < 0) {
        bale_reason_set(why, "%s: the first batch failed: %s", d->info.name, bale_err_text(err));
        return err;
    }
    close_slots(d);
    free_now = bale_driver_free(&d->info);
    d->context_size = CONTEXT_GUESS;
    /* Much more than the guess includes memory that another program has taken meanwhile. */
    if (free_before != UINT64_MAX && free_now != UINT64_MAX && free_now < free_before &&
        free_before - free_now < 2 * CONTEXT_GUESS)
        d->context_size = free_before - free_now;
    return BALE_OK;
}

/* Opens all slots; if the device has less memory than expected, fewer workspaces and smaller
 * slots. */
int open_all_slots(bale_cuda_device *d, struct bale_reason *why)
{
    const uint64_t budget = budget_beside(d, d->context_size);
    unsigned workspaces = choose_workspaces(d, budget);
    uint32_t cells = cells_for(d, budget, workspaces);
    int err = BALE_E_NOMEM;

    while (cells >= BALE_CUDA_CELLS_MIN && err == BALE_E_NOMEM) {
        err = open_slots(d, workspaces, BALE_CUDA_SLOTS, cells);
        if (err < 0)
            close_slots(d);
        if (workspaces > 1)
            workspaces--;
        else
            cells /= 2;
    }
    if (err < 0)
        bale_reason_set(
            why, "%s: no memory for batches: %llu MiB may be taken, of which the context has %llu",
            d->info.name, (unsigned long long)(d->settings.memory / MIB),
            (unsigned long long)(d->context_size / MIB));
    return err;
}

int open_context(bale_cuda_device *d, struct bale_reason *why)
{
    const int ordinal = d->settings.ordinal;
    cudaError_t error = cudaSuccess;

    if (!d->settings.shared)
        error =
            cudaInitDevice(ordinal, cudaDeviceScheduleBlockingSync, cudaInitDeviceFlagsAreValid);

    if (!error)
        error = cudaSetDevice(ordinal);
    if (!error)
        error = bale_cuda_open_stream(&d->in);
    if (!error)
        error = bale_cuda_open_stream(&d->out);
    if (!error)
        error = open_codecs(d);
    if (error)
        bale_reason_set(why, "%s: %s", d->info.name, cudaGetErrorString(error));
    return bale_cuda_error(error);
}

/* Adds the time since then to a phase, and returns the time. */
uint64_t end_phase(bale_cuda_device *d, bale_gpu_phase phase, uint64_t since)
{
    uint64_t now = bale_clock_ns();

    d->settings.phase_ns[phase] += now - since;
    return now;
}

int open_device(bale_cuda_device *d, struct bale_reason *why)
{
    uint64_t free_before = bale_driver_free(&d->info);
    uint64_t since = bale_clock_ns();
    int err = open_context(d, why);

    since = end_phase(d, BALE_GPU_CONTEXT, since);

    for (int c = CUDA_STORE; c < CUDA_CODECS; c++)
        d->available[c] = d->fits[c] && (!bale_cuda_codecs[c].nvcomp || d->settings.nvcomp);
    if (err == BALE_OK)
        err = choose_codecs(d, budget_beside(d, CONTEXT_GUESS));
    if (err == BALE_OK)
        err = measure_context(d, free_before, why);
    if (err == BALE_OK)
        err = choose_codecs(d, budget_beside(d, d->context_size));
    since = end_phase(d, BALE_GPU_CODECS, since);
    if (err == BALE_OK)
        err = open_all_slots(d, why);
    end_phase(d, BALE_GPU_SLOTS, since);
    return err;
}
} // namespace

int bale_cuda_device_open(const struct bale_cuda_settings *settings,
                          struct bale_cuda_device **device, struct bale_reason *why)
{
    bale_cuda_device *d = (bale_cuda_device *)calloc(1, sizeof *d);
    int err = d ? bale_driver_query(settings->ordinal, &d->info) : BALE_E_NOMEM;

    if (err < 0) {
        bale_reason_set(why, "device %d does not answer", settings->ordinal);
        free(d);
        return err;
    }
    d->settings = *settings;
    pthread_mutex_init(&d->mutex, nullptr);
    err = open_device(d, why);
    if (err < 0) {
        bale_cuda_device_close(d);
        return err;
    }
    *device = d;
    return BALE_OK;
}

void bale_cuda_device_free_slots(struct bale_cuda_device *device)
{
    if (cudaSetDevice(device->settings.ordinal) == cudaSuccess)
        close_slots(device);
}

int bale_cuda_device_allocate_slots(struct bale_cuda_device *device, struct bale_reason *why)
{
    cudaError_t error = cudaSetDevice(device->settings.ordinal);

    if (error) {
        bale_reason_set(why, "%s: %s", device->info.name, cudaGetErrorString(error));
        return bale_cuda_error(error);
    }
    return open_all_slots(device, why);
}

/* nvCOMP has a CUDA runtime of its own, which keeps the primary context as well, and only a
 * reset ends that. A reset would take the process's own memory as well, so a shared context
 * stays. */
void bale_cuda_device_close(struct bale_cuda_device *device)
{
    if (!device)
        return;
    if (cudaSetDevice(device->settings.ordinal) == cudaSuccess) {
        close_slots(device);
        if (device->in)
            cudaStreamDestroy(device->in);
        if (device->out)
            cudaStreamDestroy(device->out);
        if (!device->settings.shared)
            cudaDeviceReset();
    }
    if (device->waits)
        bale_cuda_leave_waiting(device->settings.ordinal);
    pthread_mutex_destroy(&device->mutex);
    free(device);
}

bool bale_cuda_device_has(const struct bale_cuda_device *device, enum cuda_codec codec)
{
    return device->available[codec];
}

bool bale_cuda_device_fits(const struct bale_cuda_device *device, enum cuda_codec codec)
{
    return device->fits[codec];
}

uint64_t bale_cuda_device_memory(const struct bale_cuda_device *device)
{
    return device->memory_size + device->context_size;
}

unsigned bale_cuda_device_workspaces(const struct bale_cuda_device *device)
{
    return device->workspace_count;
}

struct bale_cuda_slot *bale_cuda_device_slot(struct bale_cuda_device *device, unsigned i)
{
    return &device->slots[i];
}

bool bale_cuda_device_alive(struct bale_cuda_device *device)
{
    size_t free_bytes, total;

    if (cudaSetDevice(device->settings.ordinal) != cudaSuccess)
        return false;
    (void)cudaGetLastError();
    return cudaMemGetInfo(&free_bytes, &total) == cudaSuccess;
}

int bale_cuda_pin(int ordinal, void *memory, size_t size)
{
    cudaError_t error = cudaSetDevice(ordinal);

    if (!error)
        error = cudaHostRegister(memory, size, cudaHostRegisterPortable | cudaHostRegisterMapped);
    return bale_cuda_error(error);
}

void bale_cuda_unpin(int ordinal, void *memory)
{
    if (cudaSetDevice(ordinal) == cudaSuccess)
        cudaHostUnregister(memory);
}
