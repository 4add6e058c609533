#include "format/reason.h"
#include "kernels/cuda/driver.h"

#include <ctype.h>
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

extern "C" {
#include "format/err.h"
}

namespace
{
struct driver_functions {
    CUresult (*init)(unsigned);
    CUresult (*count)(int *);
    CUresult (*get)(CUdevice *, int);
    CUresult (*name)(char *, int, CUdevice);
    CUresult (*bus)(char *, int, CUdevice);
    CUresult (*memory)(size_t *, CUdevice);
    CUresult (*attribute)(int *, CUdevice_attribute, CUdevice);
    CUresult (*current)(CUcontext *);
    CUresult (*set_current)(CUcontext);
    CUresult (*error)(CUresult, const char **);
};

/* The part of NVML that is used here: its header is not always installed. */
struct nvml_memory {
    unsigned long long total, free, used;
};
struct nvml_functions {
    int (*init)(void);
    int (*by_bus)(const char *, void **);
    int (*memory)(void *, nvml_memory *);
    bool ready;
};

pthread_mutex_t open_mutex = PTHREAD_MUTEX_INITIALIZER;
bool driver_is_open;     /* guarded by open_mutex */
driver_functions driver; /* set once, by bale_driver_open */
nvml_functions nvml;

template <typename T> bool find(void *library, const char *name, T *function)
{
    *function = (T)dlsym(library, name);
    return *function != nullptr;
}

bool find_all(void *library)
{
    return find(library, "cuInit", &driver.init) &&
           find(library, "cuDeviceGetCount", &driver.count) &&
           find(library, "cuDeviceGet", &driver.get) &&
           find(library, "cuDeviceGetName", &driver.name) &&
           find(library, "cuDeviceGetPCIBusId", &driver.bus) &&
           find(library, "cuDeviceTotalMem_v2", &driver.memory) &&
           find(library, "cuDeviceGetAttribute", &driver.attribute) &&
           find(library, "cuCtxGetCurrent", &driver.current) &&
           find(library, "cuCtxSetCurrent", &driver.set_current) &&
           find(library, "cuGetErrorString", &driver.error);
}

void open_nvml()
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);

    nvml.ready = library && find(library, "nvmlInit_v2", &nvml.init) &&
                 find(library, "nvmlDeviceGetHandleByPciBusId_v2", &nvml.by_bus) &&
                 find(library, "nvmlDeviceGetMemoryInfo", &nvml.memory) && nvml.init() == 0;
}

int open_driver(struct bale_reason *why)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    const char *text = "unknown error";

    if (!library) {
        bale_reason_set(why, "there is no CUDA driver (libcuda.so.1)");
        return BALE_E_DEVICE;
    }
    if (!find_all(library)) {
        bale_reason_set(why, "the CUDA driver is too old");
        return BALE_E_DEVICE;
    }
    CUresult result = driver.init(0);
    if (result != CUDA_SUCCESS) {
        driver.error(result, &text);
        bale_reason_set(why, "the CUDA driver does not start: %s", text);
        return BALE_E_DEVICE;
    }
    open_nvml();
    return BALE_OK;
}

/* The NUMA node of a device; -1: unknown. */
int node_of(const char *bus)
{
    char path[96];
    int node = -1;

    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/numa_node", bus);
    FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    if (fscanf(file, "%d", &node) != 1)
        node = -1;
    fclose(file);
    return node;
}
} // namespace

int bale_driver_open(struct bale_reason *why)
{
    int err = BALE_OK;

    pthread_mutex_lock(&open_mutex);
    if (!driver_is_open)
        err = open_driver(why);
    driver_is_open = err == BALE_OK;
    pthread_mutex_unlock(&open_mutex);
    return err;
}

int bale_driver_count(void)
{
    int count = 0;

    return driver.count(&count) == CUDA_SUCCESS ? count : 0;
}

int bale_driver_query(int ordinal, struct bale_driver_device *device)
{
    CUdevice handle;
    size_t memory = 0;
    int mode = 0, same_place = 0;

    memset(device, 0, sizeof *device);
    device->ordinal = ordinal;
    if (driver.get(&handle, ordinal) != CUDA_SUCCESS ||
        driver.name(device->name, sizeof device->name, handle) != CUDA_SUCCESS ||
        driver.bus(device->bus, sizeof device->bus, handle) != CUDA_SUCCESS ||
        driver.memory(&memory, handle) != CUDA_SUCCESS ||
        driver.attribute(&mode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, handle) != CUDA_SUCCESS ||
        driver.attribute(&same_place, CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM,
                         handle) != CUDA_SUCCESS)
        return BALE_E_DEVICE;
    for (char *p = device->bus; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    device->node = node_of(device->bus);
    device->memory = memory;
    device->exclusive = mode == CU_COMPUTEMODE_EXCLUSIVE_PROCESS;
    device->prohibited = mode == CU_COMPUTEMODE_PROHIBITED;
    device->usable = same_place;
    return BALE_OK;
}

int bale_driver_nearest(void)
{
    unsigned node = 0;
    int count = bale_driver_count();

    if (getcpu(nullptr, &node) != 0)
        return 0;
    for (int i = 0; i < count; i++) {
        struct bale_driver_device device;
        if (bale_driver_query(i, &device) == BALE_OK && device.node == (int)node)
            return i;
    }
    return 0;
}

void *bale_driver_context(void)
{
    CUcontext context = nullptr;

    return driver.current(&context) == CUDA_SUCCESS ? (void *)context : nullptr;
}

void bale_driver_set_context(void *context)
{
    (void)driver.set_current((CUcontext)context);
}

uint64_t bale_driver_free(const struct bale_driver_device *device)
{
    void *handle;
    nvml_memory memory = {};

    if (!nvml.ready || nvml.by_bus(device->bus, &handle) != 0 || nvml.memory(handle, &memory) != 0)
        return UINT64_MAX;
    return memory.free;
}
