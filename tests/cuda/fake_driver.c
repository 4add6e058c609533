/* kernels/cuda/driver.h without a driver: two devices, of whose memory other programs leave as much
 * as bale_driver_set_free and fake_room.h say, and which serve one process alone if
 * bale_driver_set_exclusive does. */
#include <stdatomic.h>

#include "kernels/cuda/driver.h"

#include "format/err.h"
#include "tests/cuda/fake_room.h"

#ifndef FAKE_MEMORY_GIB
#define FAKE_MEMORY_GIB 64
#endif

static atomic_bool exclusive;

void bale_driver_set_exclusive(bool only);
void bale_driver_set_exclusive(bool only)
{
    atomic_store(&exclusive, only);
}

int bale_driver_open(struct bale_reason *why)
{
    bale_reason_set(why, "none");
    return BALE_OK;
}

int bale_driver_count(void)
{
    return 2;
}

int bale_driver_query(int ordinal, struct bale_driver_device *device)
{
    *device = (struct bale_driver_device){.ordinal = ordinal,
                                          .name = "fake",
                                          .node = ordinal,
                                          .memory = (uint64_t)FAKE_MEMORY_GIB << 30,
                                          .exclusive = atomic_load(&exclusive),
                                          .usable = true};
    return ordinal < 2 ? BALE_OK : BALE_E_DEVICE;
}

int bale_driver_nearest(void)
{
    return 1;
}

void *bale_driver_context(void)
{
    return NULL;
}

void bale_driver_set_context(void *context)
{
    (void)context;
}

static atomic_uint_fast64_t left = UINT64_MAX, looks;

void bale_driver_set_free(uint64_t bytes);
void bale_driver_set_free(uint64_t bytes)
{
    atomic_store(&left, bytes);
}

/* How often bale_driver_free was called. */
uint64_t bale_driver_looks(void);
uint64_t bale_driver_looks(void)
{
    return atomic_load(&looks);
}

uint64_t bale_driver_free(const struct bale_driver_device *device)
{
    uint64_t bytes = atomic_load(&left), room = fake_room_free();

    atomic_fetch_add(&looks, 1);
    bytes = room < bytes ? room : bytes;
    return bytes < device->memory ? bytes : device->memory;
}
