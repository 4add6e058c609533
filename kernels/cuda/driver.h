/* The driver's interface and NVML, both opened at run time, for what has to be known before
 * there is a context. */
#ifndef BALE_KERNELS_CUDA_DRIVER_H
#define BALE_KERNELS_CUDA_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/reason.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bale_driver_device {
    int ordinal;
    char name[64];
    char bus[32]; /* PCI domain, bus and device, as in /sys */
    int node;     /* NUMA node; -1: unknown */
    uint64_t memory;
    bool exclusive;  /* compute mode: one process alone, which may be another */
    bool prohibited; /* compute mode: no process */
    bool usable;     /* can use the host's addresses of pinned memory */
};

/* Opens libcuda once for the process. BALE_OK, or BALE_E_DEVICE with why. */
int bale_driver_open(struct bale_reason *why);

/* The number of devices, and one of them, 0 to count - 1. query: BALE_E_DEVICE: there is none. */
int bale_driver_count(void);
int bale_driver_query(int ordinal, struct bale_driver_device *device);

/* The device nearest to the calling thread's CPU; 0 if they are all the same. */
int bale_driver_nearest(void);

/* The calling thread's context, or NULL, and restoring it: the thread may be the process's own. */
void *bale_driver_context(void);
void bale_driver_set_context(void *context);

/* Free bytes of a device's memory, without a context; UINT64_MAX: unknown, without NVML. */
uint64_t bale_driver_free(const struct bale_driver_device *device);

#ifdef __cplusplus
}
#endif

#endif
