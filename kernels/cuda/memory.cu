/* Memory and streams of the process that the engine is part of. They belong to the primary
 * context, which all CUDA runtimes of a process share. */
#include <cuda_runtime.h>

#include "kernels/cuda/device.cuh"

extern "C" {
#include "format/err.h"
#include "kernels/engine/gpu.h"
}

namespace
{
/* Sleeps instead of spinning, whatever the process has set for its context. */
cudaError_t wait_for(cudaStream_t stream)
{
    cudaEvent_t event;
    cudaError_t error =
        cudaEventCreateWithFlags(&event, cudaEventBlockingSync | cudaEventDisableTiming);

    if (error)
        return error;
    error = cudaEventRecord(event, stream);
    if (!error)
        error = cudaEventSynchronize(event);
    cudaEventDestroy(event);
    return error;
}

cudaError_t copy_async(const bale_gpu_copy &copy, cudaStream_t stream)
{
    return copy.from ? cudaMemcpyAsync(copy.to, copy.from, copy.length, cudaMemcpyDefault, stream)
                     : cudaMemsetAsync(copy.to, 0, copy.length, stream);
}
} // namespace

int bale_cuda_memory_kind(int ordinal, const void *memory, bool *on_device, int *device)
{
    cudaPointerAttributes info = {};
    cudaError_t error = cudaSetDevice(ordinal);

    if (!error)
        error = cudaPointerGetAttributes(&info, memory);
    *on_device = !error && info.type == cudaMemoryTypeDevice;
    *device = info.device;
    return bale_cuda_error(error);
}

/* An event can be recorded only in streams of its own device; for others the stream itself is
 * waited for. */
int bale_cuda_wait_stream(int ordinal, void *stream)
{
    cudaError_t error = cudaSetDevice(ordinal);

    if (!error)
        error = wait_for((cudaStream_t)stream);
    if (error == cudaErrorInvalidResourceHandle) {
        (void)cudaGetLastError();
        error = cudaStreamSynchronize((cudaStream_t)stream);
    }
    return bale_cuda_error(error);
}

int bale_cuda_copy(int ordinal, const struct bale_gpu_copy *copies, size_t count)
{
    cudaStream_t stream;
    cudaError_t error = cudaSetDevice(ordinal);

    if (!error)
        error = bale_cuda_open_stream(&stream);
    if (error)
        return bale_cuda_error(error);
    for (size_t i = 0; i < count && !error; i++)
        error = copy_async(copies[i], stream);
    /* Also after an error: copies that were started end before the caller frees the memory. */
    cudaError_t ended = wait_for(stream);
    cudaStreamDestroy(stream);
    return bale_cuda_error(error ? error : ended);
}
