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
    using bale_launch::allow_shared_memory;

    return bale_launch::in_order(
        [] {
            return allow_shared_memory((const void *)bale_cusz::decode,
                                       bale_cusz::decode_room(LARGE));
        },
        [] {
            return allow_shared_memory((const void *)bale_cusz::count_matches,
                                       sizeof(bale_cusz::match_shared));
        },
        [] {
            return allow_shared_memory((const void *)bale_cusz::measure<true>,
                                       bale_cusz::ENCODE_ROOM<true>);
        },
        [] {
            return allow_shared_memory((const void *)bale_cusz::encode<true>,
                                       bale_cusz::ENCODE_ROOM<true>);
        });
}

/* Whether a frame is to have matches, or is not. */
bool any_frame(const cuda_batch *b, bool matches)
{
    for (uint32_t f = 0; f < b->frame_count; f++)
        if ((b->host_frames[f].field.pipeline == BALE_PIPELINE_GPULZ_HUFFMAN) == matches)
            return true;
    return false;
}

/* Launches a kernel with a block for each cell, if there are frames for it. */
template <typename KERNEL>
cudaError_t start(const cuda_batch *b, bool any, KERNEL kernel, unsigned threads, size_t shared)
{
    return any ? bale_launch::start(kernel, b->count, threads, shared, b->stream, b->chunks,
                                    b->frames, b->lists)
               : cudaSuccess;
}

/* Each kernel reads what the one before it has found out of all cells of a chunk or frame. */
cudaError_t encode(const cuda_batch *b)
{
    using namespace bale_cusz;
    const bool plain = any_frame(b, false), matches = any_frame(b, true);

    return bale_launch::in_order(
        [=] {
            return cudaMemsetAsync(b->lists.parts, 0, b->frame_count * (size_t)BALE_CUDA_PART,
                                   b->stream);
        },
        [=] { return start(b, true, sample, COUNT_THREADS, 0); },
        [=] { return start(b, plain, count, COUNT_THREADS, 0); },
        [=] { return start(b, matches, count_matches, MATCH_THREADS, sizeof(match_shared)); },
        [=] {
            return bale_launch::start(learn, b->frame_count, LEARN_THREADS, 0, b->stream, b->chunks,
                                      b->frames, b->lists);
        },
        [=] { return start(b, plain, measure<false>, ENCODE_THREADS, ENCODE_ROOM<false>); },
        [=] { return start(b, matches, measure<true>, ENCODE_THREADS, ENCODE_ROOM<true>); },
        [=] {
            return start(b, plain, bale_cusz::encode<false>, ENCODE_THREADS, ENCODE_ROOM<false>);
        },
        [=] {
            return start(b, matches, bale_cusz::encode<true>, ENCODE_THREADS, ENCODE_ROOM<true>);
        });
}

cudaError_t decode(const cuda_batch *b)
{
    const unsigned threads = threads_for(b);

    return bale_launch::start(bale_cusz::decode, b->count, threads, bale_cusz::decode_room(threads),
                              b->stream, b->chunks, b->lists, b->to);
}
} // namespace

extern const cuda_codec_ops bale_cuda_cusz = bale_cuda_own_steps(open, encode, decode);
