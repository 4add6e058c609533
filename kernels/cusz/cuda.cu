/* cusz (spec.md) on the device. */
#include "kernels/codec/codec.cuh"
#include "kernels/codec/launch.cuh"
#include "kernels/cusz/decode.cuh"
#include "kernels/cusz/encode.cuh"

namespace
{
cudaError_t open()
{
    using namespace bale_cusz;
    using bale_launch::allow_shared_memory;

    return bale_launch::in_order(
        [] { return allow_shared_memory((const void *)bale_cusz::decode, sizeof(decode_shared)); },
        [] {
            return allow_shared_memory((const void *)count_matches<uint32_t>, sizeof(match_shared));
        },
        [] {
            return allow_shared_memory((const void *)count_matches<uint64_t>, sizeof(match_shared));
        },
        [] {
            return allow_shared_memory((const void *)measure<uint32_t, true>, MEASURE_ROOM<true>);
        },
        [] {
            return allow_shared_memory((const void *)measure<uint64_t, true>, MEASURE_ROOM<true>);
        },
        [] { return allow_shared_memory((const void *)encode<uint32_t, true>, ENCODE_ROOM<true>); },
        [] {
            return allow_shared_memory((const void *)encode<uint64_t, true>, ENCODE_ROOM<true>);
        });
}

/* Whether there is a frame with words of the type, and matches or none. */
template <typename WORD> bool any_frame(const cuda_batch *b, bool matches)
{
    for (uint32_t f = 0; f < b->frame_count; f++) {
        const struct bale_field &field = b->host_frames[f].field;
        if ((field.type == BALE_FIELD_F64) == (sizeof(WORD) == 8) &&
            (field.pipeline == BALE_PIPELINE_GPULZ_HUFFMAN) == matches)
            return true;
    }
    return false;
}

/* Launches a kernel with a block for each cell. */
template <typename KERNEL>
cudaError_t start(const cuda_batch *b, KERNEL kernel, unsigned threads, size_t shared)
{
    return bale_launch::start(kernel, b->count, threads, shared, b->stream, b->chunks, b->frames,
                              b->lists);
}

template <typename WORD> cudaError_t count_frames(const cuda_batch *b)
{
    using namespace bale_cusz;
    cudaError_t error = cudaSuccess;

    if (any_frame<WORD>(b, false))
        error = start(b, count<WORD>, COUNT_THREADS, sizeof(count_shared));
    if (!error && any_frame<WORD>(b, true))
        error = start(b, count_matches<WORD>, MATCH_THREADS, sizeof(match_shared));
    return error;
}

template <typename WORD, bool MATCHES> cudaError_t encode_frames(const cuda_batch *b)
{
    using namespace bale_cusz;

    if (!any_frame<WORD>(b, MATCHES))
        return cudaSuccess;
    return bale_launch::in_order(
        [=] { return start(b, measure<WORD, MATCHES>, ENCODE_THREADS, MEASURE_ROOM<MATCHES>); },
        [=] {
            return start(b, bale_cusz::encode<WORD, MATCHES>, ENCODE_THREADS, ENCODE_ROOM<MATCHES>);
        });
}

/* Each kernel reads what the one before it has found out of all cells of a chunk or frame. */
cudaError_t encode(const cuda_batch *b)
{
    using namespace bale_cusz;

    return bale_launch::in_order(
        [=] {
            return cudaMemsetAsync(b->lists.parts, 0, b->frame_count * (size_t)BALE_CUDA_PART,
                                   b->stream);
        },
        [=] { return start(b, sample, COUNT_THREADS, 0); },
        [=] { return count_frames<uint32_t>(b); }, [=] { return count_frames<uint64_t>(b); },
        [=] {
            return bale_launch::start(learn, b->frame_count, LEARN_THREADS, 0, b->stream, b->chunks,
                                      b->frames, b->lists);
        },
        [=] { return encode_frames<uint32_t, false>(b); },
        [=] { return encode_frames<uint64_t, false>(b); },
        [=] { return encode_frames<uint32_t, true>(b); },
        [=] { return encode_frames<uint64_t, true>(b); });
}

/* Whether some chunks have several cells. */
bool has_long_chunks(const cuda_batch *b)
{
    for (uint32_t c = 0; c < b->count; c++)
        if (b->host[c].whole > BALE_CUDA_CELL)
            return true;
    return false;
}

/* Cells that a block decodes: several spare it the making of tables, but all multiprocessors should
 * have blocks. */
#ifndef BALE_CUSZ_BLOCKS
#define BALE_CUSZ_BLOCKS 512u
#endif
constexpr uint32_t EACH_MOST = 4;

cudaError_t decode(const cuda_batch *b)
{
    using namespace bale_cusz;
    const uint32_t most = b->count / BALE_CUSZ_BLOCKS;
    const uint32_t each = most < 1 ? 1 : most < EACH_MOST ? most : EACH_MOST;

    return bale_launch::in_order(
        [=] {
            return bale_launch::start(bale_cusz::decode, (b->count + each - 1) / each,
                                      DECODE_THREADS, sizeof(decode_shared), b->stream, b->chunks,
                                      b->count, each, b->lists, b->to);
        },
        [=] {
            return has_long_chunks(b) ? bale_launch::start(carry, b->count, FINISH_THREADS, 0,
                                                           b->stream, b->chunks, b->lists)
                                      : cudaSuccess;
        },
        [=] {
            return bale_launch::start(finish, b->count, FINISH_THREADS, 0, b->stream, b->chunks,
                                      b->lists, b->to);
        });
}
} // namespace

extern const cuda_codec_ops bale_cuda_cusz = bale_cuda_own_steps(open, encode, decode);
