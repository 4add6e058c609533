/* kernels/cuda/driver.h without a driver: two devices. */
#include "kernels/cuda/driver.h"

#include "format/err.h"

#ifndef FAKE_MEMORY_GIB
#define FAKE_MEMORY_GIB 64
#endif

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

uint64_t bale_driver_free(const struct bale_driver_device *device)
{
    return device->memory;
}
