/* What every CUDA source here needs of the runtime: its errors as bale_errs, and streams. */
#include "kernels/cuda/device.cuh"

extern "C" {
#include "format/err.h"
#include "format/reason.h"
}

/* Our work comes after all others' on the device. */
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
        (void)cudaGetLastError(); /* it does not stick */
        return BALE_E_NOMEM;
    default:
        return BALE_E_DEVICE;
    }
}
