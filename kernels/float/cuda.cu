/* float (spec.md) on the device. */
#include "kernels/codec/codec.cuh"
#include "kernels/codec/launch.cuh"
#include "kernels/float/decode.cuh"
#include "kernels/float/encode.cuh"
#include "kernels/float/learn.cuh"

namespace
{
using bale_float::decode_shared;
using bale_float::encode_shared;
using bale_float::learn_shared;

cudaError_t open()
{
    return bale_launch::in_order(
        [] {
            return bale_launch::allow_shared_memory((const void *)bale_float::learn,
                                                    sizeof(learn_shared));
        },
        [] {
            return bale_launch::allow_shared_memory((const void *)bale_float::encode,
                                                    sizeof(encode_shared));
        },
        [] {
            return bale_launch::allow_shared_memory((const void *)bale_float::decode,
                                                    sizeof(decode_shared));
        });
}

cudaError_t encode(const cuda_batch *b)
{
    return bale_launch::in_order(
        [=] {
            return bale_launch::start(bale_float::learn, b->frame_count, bale_float::THREADS,
                                      sizeof(learn_shared), b->stream, b->chunks, b->frames,
                                      b->lists);
        },
        [=] {
            return bale_launch::start(bale_float::encode, b->count, bale_float::THREADS,
                                      sizeof(encode_shared), b->stream, b->chunks, b->lists);
        });
}

cudaError_t decode(const cuda_batch *b)
{
    return bale_launch::start(bale_float::decode, b->count, bale_float::THREADS,
                              sizeof(decode_shared), b->stream, b->chunks, b->lists, b->to);
}

constexpr cuda_codec_ops steps()
{
    cuda_codec_ops ops = {};

    ops.open = open;
    ops.encode = encode;
    ops.decode = decode;
    return ops;
}
} // namespace

extern const cuda_codec_ops bale_cuda_float = steps();
