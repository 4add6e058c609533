/* LZSS (lzss.cuh): the cuda_codec_ops of an LZSS codec. */
#ifndef BALE_KERNELS_LZSS_STEPS_CUH
#define BALE_KERNELS_LZSS_STEPS_CUH

#include "kernels/codec/codec.cuh"
#include "kernels/codec/launch.cuh"
#include "kernels/codec/parts.cuh"
#include "kernels/lzss/decode.cuh"
#include "kernels/lzss/encode.cuh"

namespace bale_lzss
{
/* The most pieces of any chunk with symbols of this size whose sets have so many words (0: any
 * number). 0: no chunk is like that. */
template <typename CODEC>
uint32_t most_pieces(const cuda_batch *b, unsigned symbol_log2, unsigned words)
{
    uint32_t most = 0;

    for (uint32_t c = 0; c < b->count; c++) {
        const geometry g = CODEC::of(b->host[c].parameter);
        if (g.symbol_log2 == symbol_log2 && (words == 0 || words_of(g.window) == words))
            most = max(most, cut_of(g, b->host[c].raw_length).pieces);
    }
    return most;
}

template <unsigned LOG2, unsigned WORDS>
constexpr size_t ENCODER_SHARED = ENCODE_WARPS *
                                  sizeof(encoder_shared<LOG2, WORDS>); /* bytes for a block */

template <typename CODEC, unsigned LOG2, unsigned WORDS>
cudaError_t encode_some(const cuda_batch *b)
{
    const uint32_t pieces = most_pieces<CODEC>(b, LOG2, WORDS);
    const uint32_t blocks = (pieces + ENCODE_WARPS - 1) / ENCODE_WARPS;

    if (pieces == 0)
        return cudaSuccess;
    return bale_launch::start(encode_pieces<CODEC, LOG2, WORDS>, b->count * blocks,
                              32 * ENCODE_WARPS, ENCODER_SHARED<LOG2, WORDS>, b->stream, b->chunks,
                              blocks, b->lists.raw, (uint8_t *)b->temp);
}

template <typename CODEC> cudaError_t join(const cuda_batch *b)
{
    return bale_launch::start(join_pieces<CODEC>, b->count, 32 * JOIN_WARPS, 0, b->stream,
                              b->chunks, b->lists, (uint8_t *)b->temp);
}

template <typename CODEC, unsigned LOG2> cudaError_t decode_some(const cuda_batch *b)
{
    if (most_pieces<CODEC>(b, LOG2, 0) == 0)
        return cudaSuccess;
    return bale_launch::start(decode<CODEC, LOG2>, b->count, 32 * DECODE_WARPS, BALE_CUDA_CELL,
                              b->stream, b->chunks, b->lists, b->to);
}

template <typename CODEC, unsigned LOG2, unsigned WORDS> cudaError_t open_encode()
{
    return bale_launch::allow_shared_memory((const void *)encode_pieces<CODEC, LOG2, WORDS>,
                                            ENCODER_SHARED<LOG2, WORDS>);
}

template <typename CODEC, unsigned LOG2> cudaError_t open_decode()
{
    return bale_launch::allow_shared_memory((const void *)decode<CODEC, LOG2>, BALE_CUDA_CELL);
}

constexpr cuda_codec_ops steps(uint16_t trial, cudaError_t (*open)(),
                               cudaError_t (*encode)(const cuda_batch *),
                               cudaError_t (*decode)(const cuda_batch *))
{
    cuda_codec_ops ops = {};

    ops.trial = trial;
    ops.open = open;
    ops.room = SCRATCH;
    ops.encode = encode;
    ops.decode = decode;
    return ops;
}
} // namespace bale_lzss

#endif
