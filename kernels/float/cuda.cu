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

/* As many as there are multiprocessors: then each block has one for itself, else two share it. */
constexpr uint32_t FEW_FRAMES = 132;

/* Whether some chunks have several cells. */
bool has_long_chunks(const cuda_batch *b)
{
    for (uint32_t c = 0; c < b->count; c++)
        if (b->host[c].whole > BALE_CUDA_CELL)
            return true;
    return false;
}

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
            return bale_launch::allow_shared_memory((const void *)bale_float::measure,
                                                    sizeof(encode_shared));
        },
        [] {
            return bale_launch::allow_shared_memory((const void *)bale_float::decode<false>,
                                                    sizeof(decode_shared));
        },
        [] {
            return bale_launch::allow_shared_memory((const void *)bale_float::decode<true>,
                                                    sizeof(decode_shared));
        });
}

cudaError_t encode(const cuda_batch *b)
{
    const bool is_long = has_long_chunks(b);
    const size_t shared = sizeof(encode_shared) - (is_long ? 0 : bale_float::HALO_BYTES);
    const unsigned threads =
        b->frame_count > FEW_FRAMES ? bale_float::THREADS : bale_float::THREADS_MAX;

    return bale_launch::in_order(
        [=] {
            return bale_launch::start(bale_float::learn, b->frame_count, threads,
                                      sizeof(learn_shared), b->stream, b->chunks, b->frames,
                                      b->lists);
        },
        [=] {
            return is_long
                       ? bale_launch::start(bale_float::measure, b->count, bale_float::THREADS,
                                            sizeof(encode_shared), b->stream, b->chunks, b->lists)
                       : cudaSuccess;
        },
        [=] {
            return bale_launch::start(bale_float::encode, b->count, bale_float::THREADS, shared,
                                      b->stream, b->chunks, b->lists);
        });
}

cudaError_t decode(const cuda_batch *b)
{
    const bool is_long = has_long_chunks(b);

    return bale_launch::in_order(
        [=] {
            return bale_launch::start(bale_float::decode<false>, b->count, bale_float::THREADS,
                                      sizeof(decode_shared) - bale_float::ROWS_BYTES, b->stream,
                                      b->chunks, b->lists, b->to);
        },
        [=] {
            return is_long ? bale_launch::start(bale_float::decode<true>, b->count,
                                                bale_float::THREADS, sizeof(decode_shared),
                                                b->stream, b->chunks, b->lists, b->to)
                           : cudaSuccess;
        });
}
} // namespace

extern const cuda_codec_ops bale_cuda_float = bale_cuda_own_steps(open, encode, decode);
