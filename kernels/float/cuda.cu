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
using bale_float::row_shared;

/* As many as there are multiprocessors: then each block has one for itself, else two share it. */
constexpr uint32_t FEW_FRAMES = 132;

/* So few that all parts of attempts run at a time. */
constexpr uint32_t FEWEST_FRAMES = 16;

/* So few that they are decoded by a block each, though a block for a chunk has less to do in
 * all. */
#ifndef BALE_FLOAT_FEW_CELLS
#define BALE_FLOAT_FEW_CELLS (FEW_FRAMES * (FLOAT_CHUNK / BALE_CUDA_CELL))
#endif

cudaError_t open()
{
    return bale_launch::in_order(
        [] {
            return bale_launch::allow_shared_memory((const void *)bale_float::learn_rows,
                                                    sizeof(row_shared));
        },
        [] {
            return bale_launch::allow_shared_memory((const void *)bale_float::encode,
                                                    sizeof(encode_shared));
        },
        [] {
            return bale_launch::allow_shared_memory((const void *)bale_float::decode<false>,
                                                    sizeof(decode_shared));
        },
        [] {
            return bale_launch::allow_shared_memory((const void *)bale_float::decode<true>,
                                                    sizeof(decode_shared));
        },
        [] {
            return bale_launch::allow_shared_memory((const void *)bale_float::decode_tiles,
                                                    sizeof(decode_shared));
        });
}

cudaError_t try_step(const cuda_batch *b, uint32_t step)
{
    /* Of few frames, a warp for each task, and of the fewest, for each part of one. */
    const uint32_t of_warp = b->frame_count > FEW_FRAMES ? 4 : 1;
    const uint32_t parts = b->frame_count > FEWEST_FRAMES ? 1 : bale_float::parts_of(step);
    const uint32_t tasks = bale_float::attempts_most(step) * parts * bale_float::WINDOW_PAIRS;
    const uint32_t each = tasks / (of_warp * bale_float::STEP_THREADS / 32);

    return bale_launch::start_in_turn(bale_float::try_step, b->frame_count * each,
                                      bale_float::STEP_THREADS, 0, b->stream, b->chunks, b->frames,
                                      b->lists, step, parts, each);
}

/* Whether rows are looked for in some frames, whether some may have planes, and chunks of
 * several. */
struct unknown {
    bool rows, planes, inner_planes;
};

unknown find_unknown(const cuda_batch *b)
{
    unknown its = {};

    for (uint32_t f = 0; f < b->frame_count; f++) {
        const bale_field *field = &b->host_frames[f].field;
        const uint32_t size = bale_field_element(field);
        const uint64_t most = FLOAT_CHUNK / (size > 0 ? size : sizeof(uint16_t));
        const bool planes = field->dims[0] == 0 || field->dims[2] > 1;
        its.rows = its.rows || field->dims[0] == 0;
        its.planes = its.planes || planes;
        its.inner_planes = its.inner_planes || field->dims[0] == 0 ||
                           (planes && field->dims[1] < most / field->dims[0] + 1);
    }
    return its;
}

/* Whether some frames may have attempts of the step. */
bool may_have(const unknown &its, uint32_t step)
{
    return step == bale_float::STEP_PLANES || step == bale_float::STEP_ROWS_AGAIN
               ? its.inner_planes
               : step != bale_float::STEP_PLANES_ONLY || its.planes;
}

/* The layouts of all frames. */
cudaError_t learn(const cuda_batch *b)
{
    const unsigned threads =
        b->frame_count > FEW_FRAMES ? bale_float::THREADS : bale_float::THREADS_MAX;
    const unknown its = find_unknown(b);
    cudaError_t error = bale_launch::start(bale_float::begin, b->frame_count, threads,
                                           sizeof(bale_float::begin_shared), b->stream, b->chunks,
                                           b->frames, b->lists);

    for (uint32_t step = 0; step < bale_float::STEPS && !error; step++) {
        if (step == bale_float::STEP_ROWS && its.rows)
            error = bale_launch::start_in_turn(bale_float::learn_rows, b->frame_count, threads,
                                               sizeof(row_shared), b->stream, b->chunks, b->frames,
                                               b->lists);
        if (!error && may_have(its, step))
            error = try_step(b, step);
    }
    return error;
}

cudaError_t clear_work(const cuda_batch *b)
{
    return cudaMemsetAsync(b->lists.work, 0, b->count * (size_t)BALE_CUDA_WORK, b->stream);
}

cudaError_t encode(const cuda_batch *b)
{
    const bool is_long = bale_cuda_has_long_chunks(b);
    const size_t shared = sizeof(encode_shared) - (is_long ? 0 : bale_float::HALO_BYTES);

    return bale_launch::in_order(
        [=] { return is_long ? clear_work(b) : cudaSuccess; }, [=] { return learn(b); },
        [=] {
            return bale_launch::start_in_turn(bale_float::encode, b->count, bale_float::THREADS,
                                              shared, b->stream, b->chunks, b->lists, is_long);
        });
}

cudaError_t decode(const cuda_batch *b)
{
    const bool is_long = bale_cuda_has_long_chunks(b);
    const size_t shared = sizeof(decode_shared) - bale_float::ROWS_BYTES;

    if (is_long && b->count <= BALE_FLOAT_FEW_CELLS)
        return bale_launch::in_order([=] { return clear_work(b); },
                                     [=] {
                                         return bale_launch::start_by_ticket(
                                             bale_float::decode_tiles, b->count,
                                             bale_float::THREADS, shared, b->stream, b->chunks,
                                             b->lists, b->to);
                                     });
    return bale_launch::start(is_long ? bale_float::decode<true> : bale_float::decode<false>,
                              b->count, bale_float::THREADS,
                              is_long ? sizeof(decode_shared) : shared, b->stream, b->chunks,
                              b->lists, b->to);
}
} // namespace

extern const cuda_codec_ops bale_cuda_float = bale_cuda_own_steps(open, encode, decode, true);
