/* LZSS (lzss.cuh): the steps of a codec of the CUDA engine. */
#ifndef BALE_KERNELS_LZSS_LZSS_STEPS_CUH
#define BALE_KERNELS_LZSS_LZSS_STEPS_CUH

#include "kernels/cuda/codec.cuh"
#include "kernels/lzss/lzss_decode.cuh"
#include "kernels/lzss/lzss_encode.cuh"

namespace bale_lzss
{
template <unsigned LOG2> constexpr size_t DESKS = ENCODE_WARPS<LOG2> * sizeof(desk<LOG2>);

inline int temp(const struct nvcomp *, uint32_t cells, size_t *bytes)
{
    *bytes = cells * SCRATCH;
    return 0;
}

/* For symbols of every size: a launch for those that no chunk has costs a few microseconds. */
template <typename CODEC, unsigned LOG2 = 0> cudaError_t encode_batch(const cuda_batch *b)
{
    encode<CODEC, LOG2><<<b->count, 32 * ENCODE_WARPS<LOG2>, DESKS<LOG2>, b->stream>>>(
        b->chunks, b->lists, (uint8_t *)b->temp);
    const cudaError_t error = cudaPeekAtLastError();
    if constexpr (LOG2 < CODEC::SYMBOL_LOG2_MAX)
        return error ? error : encode_batch<CODEC, LOG2 + 1>(b);
    return error;
}

template <typename CODEC, unsigned LOG2 = 0> cudaError_t decode_batch(const cuda_batch *b)
{
    decode<CODEC, LOG2>
        <<<b->count, 32 * DECODE_WARPS, BALE_CUDA_CELL, b->stream>>>(b->chunks, b->lists, b->to);
    const cudaError_t error = cudaPeekAtLastError();
    if constexpr (LOG2 < CODEC::SYMBOL_LOG2_MAX)
        return error ? error : decode_batch<CODEC, LOG2 + 1>(b);
    return error;
}

/* A decoder's block has more shared memory than any is given unasked. */
template <typename CODEC, unsigned LOG2 = 0> cudaError_t open()
{
    const cudaError_t error =
        cudaFuncSetAttribute((const void *)decode<CODEC, LOG2>,
                             cudaFuncAttributeMaxDynamicSharedMemorySize, (int)BALE_CUDA_CELL);

    static_assert(DESKS<LOG2> + sizeof(sizes) <= 48u << 10, "more than a block is given unasked");
    if constexpr (LOG2 < CODEC::SYMBOL_LOG2_MAX)
        return error ? error : open<CODEC, LOG2 + 1>();
    return error;
}

template <typename CODEC> constexpr cuda_codec_ops steps(uint16_t trial)
{
    cuda_codec_ops ops = {};

    ops.trial = trial;
    ops.open = open<CODEC>;
    ops.temp = temp;
    ops.encode = encode_batch<CODEC>;
    ops.decode = decode_batch<CODEC>;
    return ops;
}
} // namespace bale_lzss

#endif
