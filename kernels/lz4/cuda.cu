/* lz4 (spec.md) in the CUDA engine: nvCOMP's. */
#include "kernels/codec/nvcomp.cuh"

namespace
{
constexpr uint8_t stub[] = {0x10, 0};
} // namespace

extern const cuda_codec_ops bale_cuda_lz4 = bale_nvcomp::steps<NVCOMP_LZ4>(stub, sizeof stub);
