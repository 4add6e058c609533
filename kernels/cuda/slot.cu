#include "kernels/cuda/device.cuh"

#include "kernels/codec/launch.cuh"
#include "kernels/cuda/bulk.cuh"
#include "kernels/cuda/chunk.cuh"
#include "kernels/cuda/copy.cuh"
#include "kernels/cuda/round.cuh"
#include "kernels/cuda/test_faults.cuh"

extern "C" {
#include "format/err.h"
}

namespace
{
bool has_part(cuda_codec codec)
{
    return bale_codec_has_part(bale_cuda_codecs[codec].id);
}

constexpr unsigned THREADS = bale_chunk_rules::THREADS, WARPS = THREADS / 32;
/* Blocks of the kernels that copy. Each direction alone fills the bus with them. With more
 * blocks of one direction the other starves when both copy: on an H100 24 and 4 move 40 GB/s
 * each way, 132 and 8 only 27. */
constexpr uint32_t BLOCKS_IN = 24, BLOCKS_OUT = 4;

unsigned warps_for(uint32_t count)
{
    return (count + WARPS - 1) / WARPS;
}

/* Copies a table to the device, on the slot's stream, so that the stream that waits for it goes
 * on with other slots' copies. */
template <typename T>
cudaError_t send_table(bale_cuda_slot *slot, T *table, const T *host, uint32_t count,
                       cudaStream_t stream)
{
    cudaError_t error =
        cudaMemcpyAsync(table, host, count * sizeof *host, cudaMemcpyHostToDevice, slot->stream);

    if (!error)
        error = cudaEventRecord(slot->listed, slot->stream);
    return error ? error : cudaStreamWaitEvent(stream, slot->listed, 0);
}

/* Copies the chunks to their cells by the copy engines. */
cudaError_t gather_bulk(bale_cuda_slot *slot, uint8_t *cells, size_t cell, uint32_t count)
{
    const cuda_chunk *chunks = slot->host.chunks;

    for (uint32_t c = 0; c < count; c++)
        slot->host.moves[c] =
            cuda_move{chunks[c].address, (uintptr_t)(cells + c * cell), chunks[c].length};
    return bale_cuda_bulk(slot, count, slot->device->in);
}

cudaError_t gather_cells(bale_cuda_slot *slot, uint8_t *cells, size_t cell, uint32_t count,
                         uint32_t blocks, cudaStream_t stream)
{
    return bale_launch::start(bale_copy::gather, min(count, blocks), bale_copy::THREADS, 0, stream,
                              slot->chunks, count, cells, cell, slot->bulk, slot->lists.lengths,
                              slot->results);
}

/* Copies the chunks and their table to the device; the slot's stream waits for that. */
cudaError_t gather(bale_cuda_slot *slot, uint8_t *cells, size_t cell, uint32_t count)
{
    cudaStream_t in = slot->device->in;
    cudaError_t error = bale_cuda_fault_batch(slot);

    if (!error)
        error = send_table(slot, slot->chunks, slot->host.chunks, count, in);
    if (!error)
        error = slot->bulk ? gather_bulk(slot, cells, cell, count)
                           : gather_cells(slot, cells, cell, count, BLOCKS_IN, in);
    if (!error)
        error = cudaEventRecord(slot->gathered, in);
    return error ? error : cudaStreamWaitEvent(slot->stream, slot->gathered, 0);
}

/* How many frames the chunks are of. */
uint32_t frames_of(const bale_cuda_slot *slot, uint32_t count)
{
    return slot->host.chunks[count - 1].frame + 1;
}

/* Copies the table of frames to the device, for a codec that reads it. */
cudaError_t send_frames(bale_cuda_slot *slot, cuda_codec codec, uint32_t count)
{
    return has_part(codec) ? cudaMemcpyAsync(slot->frames, slot->host.frames,
                                             frames_of(slot, count) * sizeof *slot->frames,
                                             cudaMemcpyHostToDevice, slot->stream)
                           : cudaSuccess;
}

/* Copies the frames' extent parts to their cells and checks them. A few KiB each: the slot's stream
 * copies them beside the other slots' chunks. */
cudaError_t take_parts(bale_cuda_slot *slot, cuda_codec codec, uint32_t count)
{
    const uint32_t frames = frames_of(slot, count);
    cudaError_t error = send_frames(slot, codec, count);

    if (error || !has_part(codec))
        return error;
    error = bale_launch::start(bale_copy::gather_parts, min(frames, BLOCKS_IN), bale_copy::THREADS,
                               0, slot->stream, slot->frames, frames, slot->lists);
    return error
               ? error
               : bale_launch::start(bale_chunk_rules::check_parts, warps_for(frames), THREADS, 0,
                                    slot->stream, slot->frames, frames, slot->lists, slot->results);
}

cudaError_t pack(bale_cuda_slot *slot, cuda_codec codec, uint32_t count)
{
    const cuda_codec_ops *ops = bale_cuda_ops(codec);
    const cuda_batch batch = bale_cuda_batch_of(slot, count, slot->lists.back_addresses);
    cudaError_t error = ops->encode(&batch);

    if (!error)
        error = bale_cuda_hash_parts(slot, codec, count);
    if (!error)
        error = bale_cuda_choose(slot, codec, count);
    if (error || !slot->lists.back)
        return error;
    error = ops->decode(&batch);
    return error ? error : bale_cuda_compare(slot, count);
}

cudaError_t unpack(bale_cuda_slot *slot, cuda_codec codec, uint32_t count)
{
    const cuda_batch batch = bale_cuda_batch_of(slot, count, slot->lists.raw_addresses);
    const cudaError_t error = bale_cuda_ops(codec)->decode(&batch);

    if (error)
        return error;
    return bale_launch::start(bale_chunk_rules::finish_decode, warps_for(count), THREADS, 0,
                              slot->stream, slot->chunks, count, slot->lists, slot->results);
}

/* If any launch of a step fails, drains the slot and gives up its workspace. */
int drain_on_error(bale_cuda_slot *slot, cudaError_t error)
{
    if (error) {
        (void)cudaStreamSynchronize(slot->device->in);
        (void)cudaStreamSynchronize(slot->stream);
        bale_cuda_leave_workspace(slot);
    }
    return bale_cuda_error(error);
}

cudaError_t fetch_results(bale_cuda_slot *slot, cuda_codec codec, uint32_t count)
{
    cudaError_t error =
        cudaMemcpyAsync((void *)slot->host.results, slot->results, count * sizeof(cuda_result),
                        cudaMemcpyDeviceToHost, slot->stream);

    if (!error && has_part(codec))
        error = cudaMemcpyAsync((void *)slot->host.made, slot->lists.made,
                                frames_of(slot, count) * sizeof(cuda_part), cudaMemcpyDeviceToHost,
                                slot->stream);
    return error ? error : cudaEventRecord(slot->done, slot->stream);
}

/* If as much goes out as comes in, kernels that copy slow each other down: on an H200 they move
 * 35 GB/s each way, and the copy engines 42. Copy engines one way and kernels the other way are
 * slower than either alone. */
bool is_bulk(cuda_codec codec)
{
    return BALE_CUDA_HAS_BULK && codec == CUDA_STORE;
}

cudaError_t encode(bale_cuda_slot *slot, cuda_codec codec, uint32_t count)
{
    cudaError_t error;

    slot->bulk = is_bulk(codec);
    error = gather(slot, slot->lists.raw, BALE_CUDA_CELL, count);
    if (!error && slot->bulk) /* only finds out whether the bytes are all equal */
        error = gather_cells(slot, slot->lists.raw, BALE_CUDA_CELL, count, count, slot->stream);
    if (!error)
        error = send_frames(slot, codec, count);
    if (!error)
        error = bale_cuda_begin(slot, codec, count);
    if (!error)
        error = bale_cuda_keep_raw(slot, count);
    if (!error && codec != CUDA_STORE)
        error = bale_cuda_in_workspace(slot, codec, count, pack);
    return error ? error : fetch_results(slot, codec, count);
}

cudaError_t scatter(bale_cuda_slot *slot, uint32_t count, cudaStream_t out)
{
    cudaError_t error = send_table(slot, slot->moves, slot->host.moves, count, out);

    if (error)
        return error;
    return bale_launch::start(bale_copy::scatter, min(count, BLOCKS_OUT), bale_copy::THREADS, 0,
                              out, slot->moves, count);
}

cudaError_t decode(bale_cuda_slot *slot, cuda_codec codec, uint32_t count)
{
    cuda_lists lists = slot->lists;
    cudaError_t error;

    slot->bulk = is_bulk(codec);
    if (codec == CUDA_STORE) {
        lists.packed = lists.raw;
        lists.packed_cell = BALE_CUDA_CELL;
    }
    error = gather(slot, lists.packed, lists.packed_cell, count);
    if (error)
        return error;
    error =
        bale_launch::start(bale_chunk_rules::check, warps_for(count), THREADS, 0, slot->stream,
                           slot->chunks, count, lists, slot->device->stubs[codec], slot->results);
    if (!error)
        error = take_parts(slot, codec, count);
    if (!error && codec != CUDA_STORE)
        error = bale_cuda_in_workspace(slot, codec, count, unpack);
    return error ? error : fetch_results(slot, codec, count);
}
} // namespace

cuda_batch bale_cuda_batch_of(struct bale_cuda_slot *slot, uint32_t count, void **to)
{
    return cuda_batch{slot->device->settings.nvcomp,
                      slot->host.chunks,
                      slot->chunks,
                      count,
                      slot->frames,
                      frames_of(slot, count),
                      slot->host.frames,
                      slot->lists,
                      slot->results,
                      to,
                      slot->workspace ? slot->workspace->temp : nullptr,
                      slot->workspace ? slot->workspace->temp_bytes : 0,
                      slot->device->rooms,
                      slot->stream};
}

cudaError_t bale_cuda_round(struct bale_cuda_slot *slot, uint32_t count, bool aligned)
{
    const cuda_frame *frames = slot->host.frames;
    bool any = false;

    for (uint32_t f = 0; f < frames_of(slot, count); f++)
        any |= frames[f].rounds && (aligned || !bale_cuda_has_aligned_elements(frames[f]));
    return any ? bale_launch::start(bale_round::round_cells, count, bale_round::THREADS, 0,
                                    slot->stream, slot->chunks, slot->frames, slot->lists.raw,
                                    aligned, slot->results)
               : cudaSuccess;
}

cudaError_t bale_cuda_begin(struct bale_cuda_slot *slot, enum cuda_codec codec, uint32_t count)
{
    const cuda_codec_ops *ops = bale_cuda_ops(codec);
    const cuda_batch batch = bale_cuda_batch_of(slot, count, nullptr);
    const cudaError_t error = bale_cuda_round(slot, count, false);

    return error || !ops || !ops->begin ? error : ops->begin(&batch);
}

cudaError_t bale_cuda_keep_raw(struct bale_cuda_slot *slot, uint32_t count)
{
    return bale_launch::start(bale_chunk_rules::keep_raw, warps_for(count), THREADS, 0,
                              slot->stream, slot->chunks, count, slot->lists, slot->results);
}

cudaError_t bale_cuda_hash_parts(struct bale_cuda_slot *slot, enum cuda_codec codec, uint32_t count)
{
    const uint32_t frames = frames_of(slot, count);

    return has_part(codec) ? bale_launch::start(bale_chunk_rules::hash_parts, warps_for(frames),
                                                THREADS, 0, slot->stream, frames, slot->lists)
                           : cudaSuccess;
}

cudaError_t bale_cuda_choose(struct bale_cuda_slot *slot, enum cuda_codec codec, uint32_t count)
{
    bale_cuda_fault_packed(slot);
    return bale_launch::start(bale_chunk_rules::choose, warps_for(count), THREADS, 0, slot->stream,
                              slot->chunks, count, slot->lists, slot->device->stubs[codec],
                              slot->results);
}

cudaError_t bale_cuda_compare(struct bale_cuda_slot *slot, uint32_t count)
{
    return bale_launch::start(bale_chunk_rules::compare, count, THREADS, 0, slot->stream,
                              slot->chunks, count, slot->lists, slot->results);
}

int bale_cuda_slot_use(struct bale_cuda_slot *slot)
{
    return bale_cuda_error(cudaSetDevice(slot->device->settings.ordinal));
}

int bale_cuda_encode(struct bale_cuda_slot *slot, enum cuda_codec codec, uint32_t count)
{
    return drain_on_error(slot, encode(slot, codec, count));
}

int bale_cuda_decode(struct bale_cuda_slot *slot, enum cuda_codec codec, uint32_t count)
{
    return drain_on_error(slot, decode(slot, codec, count));
}

int bale_cuda_scatter(struct bale_cuda_slot *slot, uint32_t count)
{
    cudaStream_t out = slot->device->out;
    cudaError_t error;

    bale_cuda_fault_scatter(out);
    error = slot->bulk ? bale_cuda_bulk(slot, count, out) : scatter(slot, count, out);
    if (!error)
        error = cudaEventRecord(slot->done, out);
    if (error) /* the items go back to their owners: nothing may write to them any more */
        (void)cudaStreamSynchronize(out);
    return bale_cuda_error(error);
}

int bale_cuda_wait(struct bale_cuda_slot *slot)
{
    cudaError_t error = cudaEventSynchronize(slot->done);

    bale_cuda_leave_workspace(slot);
    return bale_cuda_error(error);
}
