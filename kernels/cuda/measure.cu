/* Runs a codec's kernels on data in device memory, with events around each direction. */
#include "kernels/codec/launch.cuh"
#include "kernels/cuda/device.cuh"

namespace
{
constexpr unsigned THREADS = 256;
constexpr unsigned COPIERS = 1024; /* so that all of a chunk is in flight at once */

enum { ROUND, ROUNDED, ENCODE, ENCODED, DECODE, COPIED, DECODED, MARKS };

__global__ void set_lengths(const cuda_chunk *chunks, uint32_t count, size_t *lengths)
{
    const uint32_t c = blockIdx.x * THREADS + threadIdx.x;

    if (c < count)
        lengths[c] = chunks[c].length;
}

/* A block for a chunk. A decode to device memory needs the chunks that are stored raw there as
 * well. */
__global__ void __launch_bounds__(COPIERS)
    copy_raw(const cuda_chunk *chunks, cuda_lists lists, const cuda_result *results)
{
    const uint32_t c = blockIdx.x, length = chunks[c].raw_length;
    const uint4 *from = (const uint4 *)(lists.raw + (size_t)c * BALE_CUDA_CELL);
    uint4 *to = (uint4 *)(lists.back + (size_t)c * BALE_CUDA_CELL);

    if (results[c].stored != chunks[c].whole)
        return;
    for (uint32_t k = threadIdx.x; k < (length + sizeof *to - 1) / sizeof *to; k += COPIERS)
        to[k] = from[k];
}

/* Does what gather() does for a batch, from memory that need not be pinned, on the slot's stream
 * alone. */
cudaError_t load(bale_cuda_slot *slot, uint32_t count)
{
    const cuda_chunk *chunks = slot->host.chunks;
    cudaError_t error = cudaMemcpyAsync(slot->chunks, chunks, count * sizeof *chunks,
                                        cudaMemcpyHostToDevice, slot->stream);

    for (uint32_t c = 0; c < count && !error; c++)
        error = cudaMemcpyAsync(slot->lists.raw + (size_t)c * BALE_CUDA_CELL,
                                (const void *)chunks[c].address, chunks[c].length,
                                cudaMemcpyHostToDevice, slot->stream);
    if (!error)
        error = cudaMemcpyAsync(slot->frames, slot->host.frames,
                                (chunks[count - 1].frame + 1) * sizeof *slot->frames,
                                cudaMemcpyHostToDevice, slot->stream);
    if (!error)
        error = cudaMemsetAsync(slot->results, 0, count * sizeof(cuda_result), slot->stream);
    if (error)
        return error;
    error = bale_launch::start(set_lengths, (count + THREADS - 1) / THREADS, THREADS, 0,
                               slot->stream, slot->chunks, count, slot->lists.lengths);
    return error ? error : cudaStreamSynchronize(slot->stream);
}

/* By a kernel that does nothing else. */
cudaError_t round_alone(bale_cuda_slot *slot, uint32_t count, const cudaEvent_t *marks)
{
    cudaError_t error = cudaEventRecord(marks[ROUND], slot->stream);

    if (!error)
        error = bale_cuda_round(slot, count, true);
    return error ? error : cudaEventRecord(marks[ROUNDED], slot->stream);
}

/* What is rounded already takes as long to round again. */
cudaError_t encode(bale_cuda_slot *slot, cuda_codec codec, const cuda_batch *batch,
                   const cudaEvent_t *marks)
{
    cudaError_t error = cudaEventRecord(marks[ENCODE], batch->stream);

    if (!error)
        error = bale_cuda_begin(slot, codec, batch->count);
    if (!error)
        error = bale_cuda_ops(codec)->encode(batch);
    return error ? error : cudaEventRecord(marks[ENCODED], batch->stream);
}

/* Copies on a second stream, while the slot's stream decodes, both timed from the same mark. */
cudaError_t copy_beside(const cuda_batch *batch, const cuda_result *results, cudaStream_t beside,
                        const cudaEvent_t *marks)
{
    cudaError_t error = cudaStreamWaitEvent(beside, marks[DECODE], 0);

    if (error)
        return error;
    error = bale_launch::start(copy_raw, batch->count, COPIERS, 0, beside, batch->chunks,
                               batch->lists, results);
    return error ? error : cudaEventRecord(marks[COPIED], beside);
}

cudaError_t decode(const cuda_batch *batch, const cuda_codec_ops *ops, const cuda_result *results,
                   cudaStream_t beside, const cudaEvent_t *marks)
{
    cudaError_t error = cudaEventRecord(marks[DECODE], batch->stream);

    if (!error)
        error = copy_beside(batch, results, beside, marks);
    if (!error)
        error = ops->decode(batch);
    if (!error)
        error = cudaStreamWaitEvent(batch->stream, marks[COPIED], 0);
    return error ? error : cudaEventRecord(marks[DECODED], batch->stream);
}

cudaError_t between(const cudaEvent_t *marks, int from, int to, double *ns)
{
    float milliseconds = 0;
    cudaError_t error = cudaEventElapsedTime(&milliseconds, marks[from], marks[to]);

    *ns = milliseconds * 1e6;
    return error;
}

/* Sets the times of run i. The kernels before each mark let the host get ahead, so that the device
 * never waits for a launch. */
cudaError_t run_once(bale_cuda_slot *slot, cuda_codec codec, uint32_t count,
                     const cudaEvent_t *marks, const bale_cuda_times *times, unsigned i)
{
    const cuda_codec_ops *ops = bale_cuda_ops(codec);
    const cuda_batch batch = bale_cuda_batch_of(slot, count, slot->lists.back_addresses);
    cudaError_t error = bale_cuda_keep_raw(slot, count);

    if (!error)
        error = round_alone(slot, count, marks);
    if (!error)
        error = encode(slot, codec, &batch, marks);
    if (!error)
        error = bale_cuda_choose(slot, codec, count);
    if (!error)
        error = decode(&batch, ops, slot->results, slot->device->in, marks);
    if (!error)
        error = bale_cuda_compare(slot, count);
    if (!error)
        error = cudaStreamSynchronize(slot->stream);
    if (!error)
        error = between(marks, ROUND, ROUNDED, &times->round_ns[i]);
    if (!error)
        error = between(marks, ENCODE, ENCODED, &times->encode_ns[i]);
    return error ? error : between(marks, DECODE, DECODED, &times->decode_ns[i]);
}

/* The first run only warms up. */
cudaError_t run_all(bale_cuda_slot *slot, cuda_codec codec, uint32_t count, unsigned runs,
                    const cudaEvent_t *marks, const bale_cuda_times *times)
{
    cudaError_t error = load(slot, count);

    if (!error)
        error = run_once(slot, codec, count, marks, times, 0);
    for (unsigned i = 0; i < runs && !error; i++)
        error = run_once(slot, codec, count, marks, times, i);
    if (!error)
        error = cudaMemcpy((void *)slot->host.made, slot->lists.made,
                           (slot->host.chunks[count - 1].frame + 1) * sizeof(cuda_part),
                           cudaMemcpyDeviceToHost);
    return error ? error
                 : cudaMemcpy((void *)slot->host.results, slot->results,
                              count * sizeof(cuda_result), cudaMemcpyDeviceToHost);
}
} // namespace

int bale_cuda_measure(struct bale_cuda_slot *slot, enum cuda_codec codec, uint32_t count,
                      unsigned runs, const struct bale_cuda_times *times)
{
    cudaEvent_t marks[MARKS] = {};
    cudaError_t error = cudaSuccess;

    slot->workspace = &slot->device->workspaces[0];
    for (int i = 0; i < MARKS && !error; i++)
        error = cudaEventCreate(&marks[i]);
    if (!error)
        error = run_all(slot, codec, count, runs, marks, times);
    (void)cudaStreamSynchronize(slot->device->in);
    (void)cudaStreamSynchronize(slot->stream);
    for (cudaEvent_t mark : marks)
        if (mark)
            cudaEventDestroy(mark);
    slot->workspace = nullptr;
    return bale_cuda_error(error);
}
