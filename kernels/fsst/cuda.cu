/* fsst (spec.md) on the device. */
#include "kernels/codec/codec.cuh"
#include "kernels/codec/launch.cuh"
#include "kernels/fsst/decode.cuh"
#include "kernels/fsst/encode.cuh"
#include "kernels/fsst/learn.cuh"

namespace
{
using bale_fsst::decode_shared;
using bale_fsst::encode_shared;
using bale_fsst::learn_shared;

cudaError_t open()
{
    return bale_launch::in_order(
        [] {
            return bale_launch::allow_shared_memory((const void *)bale_fsst::learn,
                                                    sizeof(learn_shared));
        },
        [] {
            return bale_launch::allow_shared_memory((const void *)bale_fsst::encode,
                                                    sizeof(encode_shared));
        },
        [] {
            return bale_launch::allow_shared_memory((const void *)bale_fsst::decode,
                                                    sizeof(decode_shared));
        });
}

cudaError_t encode(const cuda_batch *b)
{
    return bale_launch::in_order(
        [=] {
            return bale_launch::start(bale_fsst::learn, b->frame_count, bale_fsst::LEARN_THREADS,
                                      sizeof(learn_shared), b->stream, b->chunks, b->frames,
                                      b->lists);
        },
        [=] {
            return bale_launch::start(bale_fsst::encode, b->count, bale_fsst::THREADS,
                                      sizeof(encode_shared), b->stream, b->chunks, b->lists);
        });
}

cudaError_t decode(const cuda_batch *b)
{
    return bale_launch::start(bale_fsst::decode, b->count, bale_fsst::THREADS,
                              sizeof(decode_shared), b->stream, b->chunks, b->lists, b->to);
}
} // namespace

extern const cuda_codec_ops bale_cuda_fsst = bale_cuda_own_steps(open, encode, decode);
