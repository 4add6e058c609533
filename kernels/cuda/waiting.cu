#include <pthread.h>

#include "kernels/codec/tickets.cuh"
#include "kernels/cuda/device.cuh"

extern "C" {
#include "kernels/engine/gpu.h"
}

namespace
{
/* Blocks of an engine that may wait for later ones at a time. */
constexpr unsigned WAITING = BALE_CUDA_SLOTS * (bale_tickets::TOGETHER - 1);

pthread_mutex_t waiting_mutex = PTHREAD_MUTEX_INITIALIZER;
unsigned waiting[BALE_GPU_DEVICES]; /* engines, by the device's number; guarded by waiting_mutex */
} // namespace

/* A multiprocessor runs a block of any kernel at least. */
bool bale_cuda_enter_waiting(int ordinal)
{
    int processors = 0;

    if (ordinal >= BALE_GPU_DEVICES ||
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, ordinal) != cudaSuccess)
        return false;
    pthread_mutex_lock(&waiting_mutex);
    bool enough = (unsigned)processors > WAITING * (waiting[ordinal] + 1);
    waiting[ordinal] += enough;
    pthread_mutex_unlock(&waiting_mutex);
    return enough;
}

void bale_cuda_leave_waiting(int ordinal)
{
    pthread_mutex_lock(&waiting_mutex);
    waiting[ordinal]--;
    pthread_mutex_unlock(&waiting_mutex);
}
