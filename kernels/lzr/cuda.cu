/* lzr (spec.md) on the device. */
#include "kernels/codec/codec.cuh"
#include "kernels/codec/launch.cuh"
#include "kernels/lzr/decode.cuh"
#include "kernels/lzr/encode.cuh"

namespace
{
using bale_lzr::encode_shared;
using bale_lzr::room;

cudaError_t open()
{
    return bale_launch::in_order(
        [] {
            return bale_launch::allow_shared_memory((const void *)bale_lzr::encode,
                                                    sizeof(encode_shared));
        },
        [] {
            return bale_launch::allow_shared_memory((const void *)bale_lzr::decode,
                                                    sizeof(bale_lzr::shared));
        });
}

cudaError_t encode(const cuda_batch *b)
{
    return bale_launch::start(bale_lzr::encode, b->count, bale_lzr::ENCODE_THREADS,
                              sizeof(encode_shared), b->stream, b->chunks, b->lists, b->rooms);
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
