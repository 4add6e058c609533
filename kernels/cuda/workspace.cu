/* Sharing the workspaces of a device among its slots. */
#include "kernels/cuda/device.cuh"

namespace
{
cuda_workspace *least_busy_workspace(bale_cuda_device *device)
{
    cuda_workspace *least = &device->workspaces[0];

    for (unsigned i = 1; i < device->workspace_count; i++)
        if (device->workspaces[i].batches < least->batches)
            least = &device->workspaces[i];
    return least;
}
} // namespace

cudaError_t bale_cuda_in_workspace(struct bale_cuda_slot *slot, enum cuda_codec codec,
                                   uint32_t count, bale_cuda_step *step)
{
    bale_cuda_device *device = slot->device;
    cudaError_t error;

    if (!device->available[codec])
        return cudaErrorUnknown;
    pthread_mutex_lock(&device->mutex);
    slot->workspace = least_busy_workspace(device);
    slot->workspace->batches++;
    error = cudaStreamWaitEvent(slot->stream, slot->workspace->left, 0);
    if (!error) {
        error = step(slot, codec, count);
        cudaError_t left = cudaEventRecord(slot->workspace->left, slot->stream);
        error = error ? error : left;
    }
    pthread_mutex_unlock(&device->mutex);
    return error;
}

void bale_cuda_leave_workspace(struct bale_cuda_slot *slot)
{
    if (!slot->workspace)
        return;
    pthread_mutex_lock(&slot->device->mutex);
    slot->workspace->batches--;
    pthread_mutex_unlock(&slot->device->mutex);
    slot->workspace = nullptr;
}
