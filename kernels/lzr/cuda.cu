/* lzr (spec.md) on the device. */
#include "kernels/codec/codec.cuh"
#include "kernels/codec/launch.cuh"
#include "kernels/lzr/decode.cuh"
#include "kernels/lzr/encode.cuh"

namespace
{
using bale_lzr::room;

template <typename SEARCH> cudaError_t allow()
{
    return bale_launch::allow_shared_memory((const void *)bale_lzr::encode<SEARCH>,
                                            sizeof(typename SEARCH::shared));
}

cudaError_t open()
{
    return bale_launch::in_order(
        allow<bale_lzr::fast>, allow<bale_lzr::full>,
        [] {
            return bale_launch::allow_shared_memory((const void *)bale_lzr::decode,
                                                    sizeof(bale_lzr::shared));
        });
}

/* Encodes the chunks of the search's level, if there are any. */
template <typename SEARCH> cudaError_t encode_some(const cuda_batch *b)
{
    uint32_t i = 0;

    while (i < b->count && !SEARCH::takes(b->host[i].parameter))
        i++;
    if (i == b->count)
        return cudaSuccess;
    return bale_launch::start(bale_lzr::encode<SEARCH>, b->count, bale_lzr::ENCODE_THREADS,
                              sizeof(typename SEARCH::shared), b->stream, b->chunks, b->lists,
                              b->rooms);
}

cudaError_t encode(const cuda_batch *b)
{
    return bale_launch::in_order([b] { return encode_some<bale_lzr::fast>(b); },
                                 [b] { return encode_some<bale_lzr::full>(b); });
}

cudaError_t decode(const cuda_batch *b)
{
    return bale_launch::start(bale_lzr::decode, b->count, bale_lzr::THREADS,
                              sizeof(bale_lzr::shared), b->stream, b->chunks, b->lists, b->to);
}

constexpr cuda_codec_ops steps()
{
    cuda_codec_ops ops = {};

    ops.trial = 1;
    ops.block_room = sizeof(room);
    ops.open = open;
    ops.encode = encode;
    ops.decode = decode;
    return ops;
}
} // namespace

extern const cuda_codec_ops bale_cuda_lzr = steps();
