/* kernels/cuda/device.h without a GPU: cells in the host's memory, chunks compressed by the CPU's
 * codecs (fake_chunks.c). With it the host's part of the CUDA engine makes a plug-in that the tests
 * run everywhere. Faults are asked for as in kernels/cuda/test_faults.cuh. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "kernels/engine/gpu.h"
#include "kernels/frame/registry.h"
#include "tests/cuda/fake_device.h"
#include "tests/cuda/fake_room.h"

enum {
    CELLS = 300,
    CELLS_FEW = 20,
    HANG_US = 2000000,
    SHRINK_US = 2000,
    SLOW_US = 3000000,
    LATE_US = 1000,
    LATE_BYTE = 0x77,
    CONTEXT = 60, /* bytes of device memory, as one may say */
};

struct bale_cuda_device {
    struct bale_cuda_settings settings;
    bool has_slots;
    struct bale_cuda_slot slots[BALE_CUDA_SLOTS];
};

static atomic_bool dead; /* an error sticks */

static _Atomic(const char *) fault;

void bale_cuda_fault_set(const char *name);
void bale_cuda_fault_set(const char *name)
{
    atomic_store(&fault, name);
}

bool fake_fault_is_on(const char *name)
{
    const char *set = atomic_load(&fault);

    return set && strcmp(set, name) == 0;
}

/* Nothing is opened: the codecs are the CPU's. BALE_FAKE_NO_NVCOMP: as where the library is
 * missing. */
int bale_nvcomp_open(struct nvcomp *nvcomp, struct bale_reason *why)
{
    (void)nvcomp;
    if (!getenv("BALE_FAKE_NO_NVCOMP"))
        return BALE_OK;
    bale_reason_set(why, "the fake device has none");
    return BALE_E_NOENT;
}

static void open_slot(struct bale_cuda_slot *slot, const struct bale_cuda_device *device,
                      uint32_t cells)
{
    slot->device = device;
    slot->raw = malloc((size_t)cells * BALE_CUDA_CELL);
    slot->packed = malloc((size_t)cells * FAKE_PACKED_CELL);
    slot->parts = malloc((size_t)cells * BALE_CUDA_PART);
    slot->host = (struct bale_cuda_host){
        .chunks = calloc(cells, sizeof(struct cuda_chunk)),
        .frames = calloc(cells, sizeof(struct cuda_frame)),
        .results = calloc(cells, sizeof(struct cuda_result)),
        .made = calloc(cells, sizeof(struct cuda_part)),
        .moves = calloc((size_t)2 * cells, sizeof(struct cuda_move)),
        .cells = cells,
        .raw = (uintptr_t)slot->raw,
        .packed = (uintptr_t)slot->packed,
        .parts = (uintptr_t)slot->parts,
        .raw_cell = BALE_CUDA_CELL,
        .packed_cell = FAKE_PACKED_CELL,
    };
    bale_scratch_create(&slot->scratch);
}

void bale_cuda_device_free_slots(struct bale_cuda_device *device)
{
    if (device->has_slots)
        fake_room_give(device->settings.memory);
    device->has_slots = false;
    for (unsigned i = 0; i < BALE_CUDA_SLOTS; i++) {
        struct bale_cuda_slot *slot = &device->slots[i];
        bale_scratch_destroy(slot->scratch);
        free(slot->raw);
        free(slot->packed);
        free(slot->parts);
        free(slot->host.chunks);
        free(slot->host.frames);
        free((void *)(uintptr_t)slot->host.results);
        free((void *)(uintptr_t)slot->host.made);
        free(slot->host.moves);
        *slot = (struct bale_cuda_slot){0};
    }
}

int bale_cuda_device_allocate_slots(struct bale_cuda_device *device, struct bale_reason *why)
{
    if (fake_fault_is_on("slots") || !fake_room_take(device->settings.memory)) {
        bale_reason_set(why, "no memory for batches");
        return BALE_E_NOMEM;
    }
    for (unsigned i = 0; i < BALE_CUDA_SLOTS; i++)
        open_slot(&device->slots[i], device, fake_fault_is_on("alloc") ? CELLS_FEW : CELLS);
    device->has_slots = true;
    return BALE_OK;
}

int bale_cuda_device_open(const struct bale_cuda_settings *settings,
                          struct bale_cuda_device **device, struct bale_reason *why)
{
    if (fake_fault_is_on("opening"))
        usleep(HANG_US);
    *device = calloc(1, sizeof **device);
    if (!*device) {
        bale_reason_set(why, "out of memory");
        return BALE_E_NOMEM;
    }
    if (fake_fault_is_on("alloc"))
        usleep(SHRINK_US);
    (*device)->settings = *settings;
    settings->phase_ns[BALE_GPU_CONTEXT]++;
    atomic_store(&dead, false);
    return bale_cuda_device_allocate_slots(*device, why);
}

void bale_cuda_device_close(struct bale_cuda_device *device)
{
    if (!device)
        return;
    bale_cuda_device_free_slots(device);
    free(device);
}

bool bale_cuda_device_fits(const struct bale_cuda_device *device, enum cuda_codec codec)
{
    (void)device;
    (void)codec;
    return true;
}

bool bale_cuda_device_has(const struct bale_cuda_device *device, enum cuda_codec codec)
{
    return !bale_cuda_codecs[codec].nvcomp || device->settings.nvcomp;
}

uint64_t bale_cuda_device_memory(const struct bale_cuda_device *device)
{
    return device->has_slots ? device->settings.memory : CONTEXT;
}

unsigned bale_cuda_device_workspaces(const struct bale_cuda_device *device)
{
    (void)device;
    return 1;
}

struct bale_cuda_slot *bale_cuda_device_slot(struct bale_cuda_device *device, unsigned i)
{
    return &device->slots[i];
}

bool bale_cuda_device_alive(struct bale_cuda_device *device)
{
    (void)device;
    return !atomic_load(&dead);
}

/* The last one that was registered. */
static _Atomic(uintptr_t) range_begin;

/* Of several ranges the first is pinned, and the next has to wait, while that is the fault. */
int bale_cuda_pin(int ordinal, void *memory, size_t size)
{
    static atomic_bool waits;

    (void)ordinal;
    (void)size;
    while (fake_fault_is_on("pinning") && atomic_load(&waits))
        usleep(LATE_US);
    atomic_store(&waits, fake_fault_is_on("pinning"));
    atomic_store(&range_begin, (uintptr_t)memory);
    return BALE_OK;
}

int bale_cuda_memory_kind(int ordinal, const void *memory, bool *on_device, int *device)
{
    (void)memory;
    *on_device = false;
    *device = ordinal;
    return BALE_OK;
}

int bale_cuda_wait_stream(int ordinal, void *stream)
{
    (void)ordinal;
    (void)stream;
    return BALE_OK;
}

static bool crosses(const void *memory, size_t length)
{
    uintptr_t border = atomic_load(&range_begin), begin = (uintptr_t)memory;

    return begin < border && length > border - begin;
}

/* Like the driver it refuses what does not lie within one range. */
int bale_cuda_copy(int ordinal, const struct bale_gpu_copy *copies, size_t count)
{
    (void)ordinal;
    for (size_t i = 0; i < count; i++) {
        const struct bale_gpu_copy *c = &copies[i];
        if (crosses(c->to, c->length) || crosses(c->from, c->length))
            return BALE_E_DEVICE;
        if (c->from)
            memcpy(c->to, c->from, c->length);
        else
            memset(c->to, 0, c->length);
    }
    return BALE_OK;
}

void bale_cuda_unpin(int ordinal, void *memory)
{
    (void)ordinal;
    (void)memory;
}

const struct bale_cuda_host *bale_cuda_slot_host(const struct bale_cuda_slot *slot)
{
    return &slot->host;
}

int bale_cuda_slot_use(struct bale_cuda_slot *slot)
{
    (void)slot;
    return BALE_OK;
}

static int begin_batch(void)
{
    if (fake_fault_is_on("stray"))
        atomic_store(&dead, true);
    if (fake_fault_is_on("launch") || atomic_load(&dead))
        return BALE_E_DEVICE;
    return fake_fault_is_on("nomem") ? BALE_E_NOMEM : BALE_OK;
}

/* One that hangs leaves the items alone: when it has come back they are somebody else's. */
static int run_batch(struct bale_cuda_slot *slot, enum cuda_codec codec, uint32_t count,
                     void (*run_chunk)(struct bale_cuda_slot *, enum cuda_codec, uint32_t))
{
    int err = bale_cuda_device_has(slot->device, codec) ? begin_batch() : BALE_E_DEVICE;

    if (fake_fault_is_on("slow"))
        usleep(SLOW_US);
    if (fake_fault_is_on("hang")) {
        usleep(HANG_US);
        return BALE_OK;
    }
    for (uint32_t c = 0; err == BALE_OK && c < count; c++)
        run_chunk(slot, codec, c);
    return err;
}

int bale_cuda_encode(struct bale_cuda_slot *slot, enum cuda_codec codec, uint32_t count)
{
    return run_batch(slot, codec, count, fake_encode_chunk);
}

int bale_cuda_decode(struct bale_cuda_slot *slot, enum cuda_codec codec, uint32_t count)
{
    return run_batch(slot, codec, count, fake_decode_chunk);
}

/* Until the fault is over; one that finds another one hanging may die of it instead. */
static void hang_late(void)
{
    static atomic_uint hanging;
    bool dies = atomic_fetch_add(&hanging, 1) > 0 && fake_fault_is_on("dies");

    if (dies)
        atomic_store(&dead, true);
    while (!dies && (fake_fault_is_on("late") || fake_fault_is_on("dies")))
        usleep(LATE_US);
    atomic_fetch_sub(&hanging, 1);
}

/* A late write does not write the expected bytes. */
int bale_cuda_scatter(struct bale_cuda_slot *slot, uint32_t count)
{
    bool late = fake_fault_is_on("late") || fake_fault_is_on("dies");

    if (fake_fault_is_on("slow"))
        usleep(SLOW_US);
    if (late)
        hang_late();
    for (uint32_t m = 0; m < count; m++) {
        const struct cuda_move *move = &slot->host.moves[m];
        void *to = (void *)(uintptr_t)move->to;
        if (late)
            memset(to, LATE_BYTE, move->length);
        else
            memcpy(to, (const void *)(uintptr_t)move->from, move->length);
    }
    return late ? BALE_E_DEVICE : BALE_OK;
}

/* The second run takes longer than the first, and so on: the median is known. */
int bale_cuda_measure(struct bale_cuda_slot *slot, enum cuda_codec codec, uint32_t count,
                      unsigned runs, const struct bale_cuda_times *times)
{
    for (unsigned i = 0; i < runs; i++) {
        times->round_ns[i] = 100 * (i + 1);
        times->encode_ns[i] = 1000 * (i + 1);
        times->decode_ns[i] = 10 * (i + 1);
    }
    return run_batch(slot, codec, count, fake_encode_chunk);
}

int bale_cuda_wait(struct bale_cuda_slot *slot)
{
    (void)slot;
    return BALE_OK;
}
