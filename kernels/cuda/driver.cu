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
struct driver {
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

/* What is used of NVML, whose header is not always there. */
struct nvml_memory {
    unsigned long long total, free, used;
};
struct nvml {
    int (*init)(void);
    int (*by_bus)(const char *, void **);
    int (*memory)(void *, nvml_memory *);
    bool ready;
};

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
bool ready; /* guarded by mutex */
driver cu;
nvml ml;

template <typename T> bool find(void *library, const char *name, T *function)
{
    *function = (T)dlsym(library, name);
    return *function != nullptr;
}

bool find_all(void *library)
{
    return find(library, "cuInit", &cu.init) && find(library, "cuDeviceGetCount", &cu.count) &&
           find(library, "cuDeviceGet", &cu.get) && find(library, "cuDeviceGetName", &cu.name) &&
           find(library, "cuDeviceGetPCIBusId", &cu.bus) &&
           find(library, "cuDeviceTotalMem_v2", &cu.memory) &&
           find(library, "cuDeviceGetAttribute", &cu.attribute) &&
           find(library, "cuCtxGetCurrent", &cu.current) &&
           find(library, "cuCtxSetCurrent", &cu.set_current) &&
           find(library, "cuGetErrorString", &cu.error);
}

void open_nvml()
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);

    ml.ready = library && find(library, "nvmlInit_v2", &ml.init) &&
               find(library, "nvmlDeviceGetHandleByPciBusId_v2", &ml.by_bus) &&
               find(library, "nvmlDeviceGetMemoryInfo", &ml.memory) && ml.init() == 0;
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
    CUresult result = cu.init(0);
    if (result != CUDA_SUCCESS) {
        cu.error(result, &text);
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

    pthread_mutex_lock(&mutex);
    if (!ready)
        err = open_driver(why);
    ready = err == BALE_OK;
    pthread_mutex_unlock(&mutex);
    return err;
}

int bale_driver_count(void)
{
    int count = 0;

    return cu.count(&count) == CUDA_SUCCESS ? count : 0;
}

int bale_driver_query(int ordinal, struct bale_driver_device *device)
{
    CUdevice handle;
    size_t memory = 0;
    int mode = 0, same_place = 0;

    memset(device, 0, sizeof *device);
    device->ordinal = ordinal;
    if (cu.get(&handle, ordinal) != CUDA_SUCCESS ||
        cu.name(device->name, sizeof device->name, handle) != CUDA_SUCCESS ||
        cu.bus(device->bus, sizeof device->bus, handle) != CUDA_SUCCESS ||
        cu.memory(&memory, handle) != CUDA_SUCCESS ||
        cu.attribute(&mode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, handle) != CUDA_SUCCESS ||
        cu.attribute(&same_place, CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM,
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

    return cu.current(&context) == CUDA_SUCCESS ? (void *)context : nullptr;
}

void bale_driver_set_context(void *context)
{
    (void)cu.set_current((CUcontext)context);
}

uint64_t bale_driver_free(const struct bale_driver_device *device)
{
    void *handle;
    nvml_memory memory = {};

    if (!ml.ready || ml.by_bus(device->bus, &handle) != 0 || ml.memory(handle, &memory) != 0)
        return UINT64_MAX;
    return memory.free;
}
