/* The one file that names codecs on the device. */
#include "kernels/cuda/device.cuh"

#define DECLARE(name, ...) extern const cuda_codec_ops bale_cuda_##name; /* kernels/name/cuda.cu */
BALE_DEVICE_CODEC_LIST(DECLARE)

const cuda_codec_ops *bale_cuda_ops(enum cuda_codec codec)
{
#define CASE(name, NAME, ...)                                                                      \
    case CUDA_##NAME:                                                                              \
        return &bale_cuda_##name;

    switch (codec) {
        BALE_DEVICE_CODEC_LIST(CASE)
    default:
        return nullptr;
    }
}
