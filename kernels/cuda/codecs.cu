#include "kernels/codec/codec.cuh"

#define OPS(name, id, nvcomp, encodes) &bale_cuda_##name,
static const cuda_codec_ops *const table[CUDA_CODECS] = {nullptr, BALE_CUDA_CODECS(OPS)};

const cuda_codec_ops *bale_cuda_ops(enum cuda_codec codec)
{
    return table[codec];
}
