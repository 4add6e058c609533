/* cusz (spec.md) on the device. */
#include "kernels/codec/codec.cuh"
#include "kernels/codec/launch.cuh"
#include "kernels/cusz/decode.cuh"
#include "kernels/cusz/encode.cuh"

namespace
{
/* With few cells, the time that one takes counts rather than how many are done at a time. */
#ifndef BALE_CUSZ_FEW_CELLS
#define BALE_CUSZ_FEW_CELLS 264 /* two for each multiprocessor */
#endif
unsigned cell_threads(const cuda_batch *b)
{
    return b->count <= BALE_CUSZ_FEW_CELLS ? bale_cusz::CELL_THREADS_MAX : bale_cusz::CELL_THREADS;
}

/* Lets blocks of a kernel have what they need at most. */
template <typename KERNEL> cudaError_t allow(KERNEL kernel, size_t bytes)
{
    return bale_launch::allow_shared_memory((const void *)kernel, bytes);
}

template <typename WORD> cudaError_t allow_for_words()
{
    using namespace bale_cusz;

    return bale_launch::in_order(
        [] { return allow(count<WORD>, count_room(CELL_THREADS_MAX)); },
        [] { return allow(count_matches<WORD>, sizeof(match_shared)); },
        [] { return allow(measure<WORD, false>, measure_room<false>(CELL_THREADS_MAX)); },
        [] { return allow(measure<WORD, true>, measure_room<true>(CELL_THREADS)); },
        [] { return allow(bale_cusz::encode<WORD, false>, encode_room<false>(CELL_THREADS_MAX)); },
        [] { return allow(bale_cusz::encode<WORD, true>, encode_room<true>(CELL_THREADS)); });
}

cudaError_t open()
{
    return bale_launch::in_order(
        [] { return allow(bale_cusz::sample<false>, 0); }, /* loads it; the first batch rounds */
        [] { return allow(bale_cusz::decode, sizeof(bale_cusz::decode_shared)); },
        [] { return allow_for_words<uint32_t>(); }, [] { return allow_for_words<uint64_t>(); });
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
    const unsigned threads = cell_threads(b);
    cudaError_t error = cudaSuccess;

    if (any_frame<WORD>(b, false))
        error = start(b, count<WORD>, threads, count_room(threads));
    if (!error && any_frame<WORD>(b, true))
        error = start(b, count_matches<WORD>, MATCH_THREADS, sizeof(match_shared));
    return error;
}

template <typename WORD, bool MATCHES> cudaError_t encode_frames(const cuda_batch *b)
{
    using namespace bale_cusz;
    const unsigned threads = MATCHES ? CELL_THREADS : cell_threads(b);

    if (!any_frame<WORD>(b, MATCHES))
        return cudaSuccess;
    return bale_launch::in_order(
        [=] { return start(b, measure<WORD, MATCHES>, threads, measure_room<MATCHES>(threads)); },
        [=] {
            return start(b, bale_cusz::encode<WORD, MATCHES>, threads,
                         encode_room<MATCHES>(threads));
        });
}

bool any_rounds(const cuda_batch *b)
{
    for (uint32_t f = 0; f < b->frame_count; f++)
        if (b->host_frames[f].rounds)
            return true;
    return false;
}

template <bool ROUNDS> cudaError_t start_sample(const cuda_batch *b)
{
    return bale_launch::start(bale_cusz::sample<ROUNDS>, b->count, cell_threads(b), 0, b->stream,
                              b->chunks, b->frames, b->lists, b->results);
}

cudaError_t begin(const cuda_batch *b)
{
    return bale_launch::in_order(
        [=] {
            return cudaMemsetAsync(b->lists.parts, 0, b->frame_count * (size_t)BALE_CUDA_PART,
                                   b->stream);
        },
        [=] { return any_rounds(b) ? start_sample<true>(b) : start_sample<false>(b); });
}

/* Each kernel reads what the one before it has found out of all cells of a chunk or frame. */
cudaError_t encode(const cuda_batch *b)
{
    using namespace bale_cusz;

    return bale_launch::in_order(
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
            return bale_cuda_has_long_chunks(b)
                       ? bale_launch::start(carry, b->count, FINISH_THREADS, 0, b->stream,
                                            b->chunks, b->lists)
                       : cudaSuccess;
        },
        [=] {
            return bale_launch::start(finish, b->count, FINISH_THREADS, 0, b->stream, b->chunks,
                                      b->lists, b->to);
        });
}

constexpr cuda_codec_ops steps()
{
    cuda_codec_ops ops = bale_cuda_own_steps(open, encode, decode);

    ops.begin = begin;
    return ops;
}
} // namespace

extern const cuda_codec_ops bale_cuda_cusz = steps();
