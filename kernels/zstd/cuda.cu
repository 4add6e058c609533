/* zstd (spec.md) in the CUDA engine: nvCOMP's. */
#include "kernels/codec/nvcomp.cuh"

namespace
{
constexpr uint8_t stub[] = {0x28, 0xB5, 0x2F, 0xFD, 0x20, 1, 0x09, 0, 0, 0};
} // namespace

extern const cuda_codec_ops bale_cuda_zstd =
    bale_nvcomp::steps<NVCOMP_ZSTD>(stub, sizeof stub, CUDA_STREAM_ZSTD);
