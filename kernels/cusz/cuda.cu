/* cusz (spec.md) on the device. */
#include "kernels/codec/codec.cuh"
#include "kernels/codec/launch.cuh"
#include "kernels/cusz/decode.cuh"
#include "kernels/cusz/encode.cuh"

namespace
{
/* Chunks of a cell have few segments, so that small blocks, several at a time, do more of them. */
constexpr unsigned SMALL = 256, LARGE = bale_cusz::THREADS_MAX;

unsigned threads_for(const cuda_batch *b)
{
    for (uint32_t c = 0; c < b->count; c++)
        if (b->host[c].whole > BALE_CUDA_CELL)
            return LARGE;
    return SMALL;
}

cudaError_t open()
{
    return bale_launch::allow_shared_memory((const void *)bale_cusz::decode,
                                            bale_cusz::decode_room(LARGE));
}

/* Each kernel reads what the one before it has found out of all cells of a chunk or frame. */
cudaError_t encode(const cuda_batch *b)
{
    return bale_launch::in_order(
        [=] {
            return cudaMemsetAsync(b->lists.parts, 0, b->frame_count * (size_t)BALE_CUDA_PART,
                                   b->stream);
        },
        [=] {
            return bale_launch::start(bale_cusz::sample, b->count, bale_cusz::COUNT_THREADS, 0,
                                      b->stream, b->chunks, b->frames, b->lists);
        },
        [=] {
            return bale_launch::start(bale_cusz::count, b->count, bale_cusz::COUNT_THREADS, 0,
                                      b->stream, b->chunks, b->frames, b->lists);
        },
        [=] {
            return bale_launch::start(bale_cusz::learn, b->frame_count, bale_cusz::LEARN_THREADS, 0,
                                      b->stream, b->chunks, b->frames, b->lists);
        },
        [=] {
            return bale_launch::start(bale_cusz::measure, b->count, bale_cusz::ENCODE_THREADS,
                                      sizeof(bale_cusz::encode_shared), b->stream, b->chunks,
                                      b->frames, b->lists);
        },
        [=] {
            return bale_launch::start(bale_cusz::encode, b->count, bale_cusz::ENCODE_THREADS,
                                      sizeof(bale_cusz::encode_shared), b->stream, b->chunks,
                                      b->frames, b->lists);
        });
}

cudaError_t decode(const cuda_batch *b)
{
    const unsigned threads = threads_for(b);

    return bale_launch::start(bale_cusz::decode, b->count, threads, bale_cusz::decode_room(threads),
                              b->stream, b->chunks, b->lists, b->to);
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

extern const cuda_codec_ops bale_cuda_cusz = steps();
