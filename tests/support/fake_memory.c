#include "tests/support/fake_memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "tests/support/fake_words.h"

void fake_memory_open(struct fake_memory *memory)
{
    const char *device = getenv("BALE_FAKE_MEMORY");

    pthread_mutex_init(&memory->lock, NULL);
    if (device)
        (void)sscanf(device, "%" SCNuPTR " %zu %" SCNuPTR, &memory->device, &memory->device_size,
                     &memory->real);
}

void fake_memory_close(struct fake_memory *memory)
{
    pthread_mutex_destroy(&memory->lock);
}

bool fake_memory_is_device(const struct fake_memory *memory, const void *bytes)
{
    return (uintptr_t)bytes - memory->device < memory->device_size;
}

uint8_t *fake_memory_real(const struct fake_memory *memory, const void *bytes)
{
    uintptr_t at = (uintptr_t)bytes;

    return (uint8_t *)(fake_memory_is_device(memory, bytes) ? at - memory->device + memory->real
                                                            : at);
}

/* With the lock. */
static bool is_pinned(const struct fake_memory *memory, const uint8_t *start, size_t size)
{
    for (unsigned i = 0; i < memory->range_count; i++) {
        const uint8_t *from = memory->ranges[i].start;
        size_t part = memory->ranges[i].size;
        if (start >= from && start < from + part) {
            size_t inside = (size_t)(from + part - start);
            return size <= inside || is_pinned(memory, from + part, size - inside);
        }
    }
    return false;
}

bool fake_memory_has(struct fake_memory *memory, const struct bale_item *item)
{
    size_t stored = item->kind == BALE_ITEM_ENCODE ? item->capacity : item->stored_length;

    pthread_mutex_lock(&memory->lock);
    bool raw = item->memory_kind == BALE_MEMORY_DEVICE
                   ? item->device == FAKE_DEVICE && fake_memory_is_device(memory, item->raw)
                   : is_pinned(memory, item->raw, item->frame.raw_length);
    bool both = raw && is_pinned(memory, item->stored, stored);
    pthread_mutex_unlock(&memory->lock);
    return both;
}

int fake_memory_pin(struct fake_memory *memory, void *start, size_t size)
{
    unsigned most = fake_word("pin") ? fake_word("pin") : FAKE_RANGES;
    int err = BALE_E_NOMEM;

    fake_hang_if("pin-hangs");
    pthread_mutex_lock(&memory->lock);
    if (memory->range_count < most) {
        memory->ranges[memory->range_count++] = (struct fake_range){start, size};
        err = BALE_OK;
    }
    pthread_mutex_unlock(&memory->lock);
    return err;
}

int fake_memory_copy(struct fake_memory *memory, const struct bale_gpu_copy *copies, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t *to = fake_memory_real(memory, copies[i].to);
        if (++memory->copies == fake_word("copy"))
            return BALE_E_DEVICE;
        if (copies[i].from)
            memcpy(to, fake_memory_real(memory, copies[i].from), copies[i].length);
        else
            memset(to, 0, copies[i].length);
    }
    return BALE_OK;
}

uint64_t fake_memory_pinned(struct fake_memory *memory)
{
    uint64_t size = 0;

    pthread_mutex_lock(&memory->lock);
    for (unsigned i = 0; i < memory->range_count; i++)
        size += memory->ranges[i].size;
    pthread_mutex_unlock(&memory->lock);
    return size;
}
