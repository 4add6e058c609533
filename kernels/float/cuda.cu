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
using bale_float::learn_rows_shared;
using bale_float::trial;

constexpr uint32_t MULTIPROCESSORS = 132; /* of the devices that this was measured on */

/* Threads of each of so many blocks: a multiprocessor has one for itself, or two share it. */
unsigned threads_of(uint32_t blocks)
{
    return blocks > MULTIPROCESSORS ? bale_float::THREADS : bale_float::THREADS_MAX;
}

/* So few that they are decoded by a block each, though a block for a chunk has less to do in
 * all. */
#ifndef BALE_FLOAT_FEW_CELLS
#define BALE_FLOAT_FEW_CELLS (MULTIPROCESSORS * (FLOAT_CHUNK / BALE_CUDA_CELL))
#endif

cudaError_t open()
{
    return bale_launch::in_order(
        [] {
            return bale_launch::allow_shared_memory((const void *)bale_float::learn_rows,
                                                    sizeof(learn_rows_shared));
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

/* What is not known of some frames: their types; their rows; whether they have rows and planes, and
 * chunks of several planes. */
struct unknown {
    bool types, rows, rows_or_planes, inner_planes;
};

unknown find_unknown(const cuda_batch *b)
{
    unknown its = {};

    for (uint32_t f = 0; f < b->frame_count; f++) {
        const bale_field *field = &b->host_frames[f].field;
        const uint32_t size = bale_field_element(field);
        const uint64_t most = FLOAT_CHUNK / (size > 0 ? size : sizeof(uint16_t));
        const bool planes = field->dims[0] == 0 || field->dims[2] > 1;
        its.types = its.types || size == 0;
        its.rows = its.rows || field->dims[0] == 0;
        its.rows_or_planes = its.rows_or_planes || field->dims[0] == 0 || field->dims[1] > 1;
        its.inner_planes =
            its.inner_planes || field->dims[0] == 0 ||
            (planes && field->dims[1] < (most + field->dims[0] - 1) / field->dims[0]);
    }
    return its;
}

/* Blocks for each frame: of all frames so many at least, but a frame has work for `most`. */
uint32_t blocks_each(const cuda_batch *b, uint32_t at_a_time, uint32_t most)
{
    const uint32_t share = (at_a_time + b->frame_count - 1) / b->frame_count;

    return share < most ? share : most;
}

cudaError_t learn_type(const cuda_batch *b)
{
    return bale_launch::start(bale_float::learn_type, FLOAT_SIZES * b->frame_count,
                              bale_float::THREADS, 0, b->stream, b->chunks, b->frames, b->lists);
}

cudaError_t learn_along(const cuda_batch *b)
{
    const uint32_t each = blocks_each(b, 2 * MULTIPROCESSORS, FLOAT_EXPONENTS);

    return bale_launch::start_in_turn(bale_float::learn_along, b->frame_count * each,
                                      bale_float::ALONG_THREADS, 0, b->stream, b->chunks, b->frames,
                                      b->lists, b->frame_count, b->count, each);
}

cudaError_t learn_rows(const cuda_batch *b)
{
    return bale_launch::start_in_turn(bale_float::learn_rows, b->frame_count,
                                      threads_of(b->frame_count), sizeof(learn_rows_shared),
                                      b->stream, b->frames, b->lists);
}

cudaError_t try_step(const cuda_batch *b, const trial &t)
{
    const uint32_t each = blocks_each(b, 2 * bale_float::STEP_BLOCKS * MULTIPROCESSORS,
                                      t.tasks() / (bale_float::STEP_THREADS / 32));

    return bale_launch::start_in_turn(bale_float::try_step, b->frame_count * each,
                                      bale_float::STEP_THREADS, 0, b->stream, b->lists, t, each);
}

/* What is tried once rows are known: few launches with much in them, or less work in more. */
cudaError_t try_ahead(const cuda_batch *b, const unknown &its)
{
    const trial rows = {{bale_float::TRY_ROWS, bale_float::TRY_PLANES}, 0, bale_float::STEP_ROWS};
    const trial planes = {{bale_float::TRY_PLANES, bale_float::TRY_LAST},
                          bale_float::TRY_ROWS_AGAIN - bale_float::TRY_PLANES,
                          bale_float::STEP_PLANES};

    return bale_launch::in_order(
        [=] { return try_step(b, rows); },
        [=] { return its.inner_planes ? try_step(b, planes) : cudaSuccess; });
}

/* Attempts from `first` to `end`, in no parts. */
trial whole(uint32_t first, uint32_t end, uint32_t step)
{
    return {{first, end}, end - first, step};
}

cudaError_t try_in_order(const cuda_batch *b, const unknown &its)
{
    const trial rows =
        whole(bale_float::TRY_ROWS, bale_float::TRY_PLANES_ONLY, bale_float::STEP_ROWS);
    const trial planes =
        whole(bale_float::TRY_PLANES, bale_float::TRY_ROWS_AGAIN, bale_float::STEP_PLANES);
    const trial again =
        whole(bale_float::TRY_ROWS_AGAIN, bale_float::TRY_LAST, bale_float::STEP_ROWS_AGAIN);
    const trial planes_only_and_interpolated = {
        {bale_float::TRY_PLANES_ONLY, bale_float::TRY_PLANES},
        bale_float::TRY_INTERPOLATED - bale_float::TRY_PLANES_ONLY,
        bale_float::STEP_PLANES_ONLY};

    return bale_launch::in_order(
        [=] { return try_step(b, rows); },
        [=] { return its.inner_planes ? try_step(b, planes) : cudaSuccess; },
        [=] { return its.inner_planes ? try_step(b, again) : cudaSuccess; },
        [=] {
            return its.rows_or_planes ? try_step(b, planes_only_and_interpolated) : cudaSuccess;
        });
}

/* The layouts of all frames. */
cudaError_t learn(const cuda_batch *b)
{
    const unknown its = find_unknown(b);
    const trial last = whole(bale_float::TRY_LAST, bale_float::TRIES, bale_float::STEP_LAST);

    return bale_launch::in_order([=] { return its.types ? learn_type(b) : cudaSuccess; },
                                 [=] { return learn_along(b); },
                                 [=] { return its.rows ? learn_rows(b) : cudaSuccess; },
                                 [=] {
                                     return b->frame_count <= bale_float::AHEAD_FRAMES
                                                ? try_ahead(b, its)
                                                : try_in_order(b, its);
                                 },
                                 [=] { return try_step(b, last); });
}

cudaError_t clear_work(const cuda_batch *b)
{
    return cudaMemsetAsync(b->lists.work, 0, b->count * (size_t)BALE_CUDA_WORK, b->stream);
}

cudaError_t encode(const cuda_batch *b)
{
    const bool is_long = bale_cuda_has_long_chunks(b);
    const size_t shared = sizeof(encode_shared) - (is_long ? 0 : bale_float::HALO_BYTES);

    return bale_launch::in_order([=] { return learn(b); },
                                 [=] {
                                     return bale_launch::start_in_turn(
                                         bale_float::encode, b->count, threads_of(b->count), shared,
                                         b->stream, b->chunks, b->lists, is_long);
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
