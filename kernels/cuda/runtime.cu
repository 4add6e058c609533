/* The CUDA runtime's errors as bale_errs, and streams of the lowest priority. */
#include "kernels/cuda/device.cuh"

extern "C" {
#include "format/err.h"
#include "format/reason.h"
}

/* Other programs' work on the device comes before ours. */
cudaError_t bale_cuda_open_stream(cudaStream_t *stream)
{
    int least = 0, greatest = 0;
    cudaError_t error = cudaDeviceGetStreamPriorityRange(&least, &greatest);

    return error ? error : cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking, least);
}

int bale_cuda_error(cudaError_t error)
{
    switch (error) {
    case cudaSuccess:
        return BALE_OK;
    case cudaErrorMemoryAllocation:
        (void)cudaGetLastError(); /* clears it: this error is not sticky */
        return BALE_E_NOMEM;
    default:
        return BALE_E_DEVICE;
    }
}
