#include "kernels/cuda/device.cuh"

#include <string.h>

#include "kernels/cuda/chunk.cuh"
#include "kernels/cuda/copy.cuh"
#include "kernels/cuda/fault.cuh"

extern "C" {
#include "format/err.h"
}

namespace
{
constexpr size_t ALIGNMENT = 256;
constexpr unsigned WARPS = bale_chunk_rules::THREADS / 32;

/* Hands out the parts of a slot's memory, or only counts when it has none. */
struct carver {
    uint8_t *memory;
    size_t at;
};

template <typename T> void carve(carver *c, T **part, size_t bytes)
{
    *part = c->memory ? (T *)(c->memory + c->at) : nullptr;
    c->at += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* nvCOMP's working memory for so many cells: the most that any codec and direction wants. */
size_t temp_size(const bale_cuda_device *device, uint32_t cells)
{
    const size_t total = (size_t)cells * BALE_CUDA_CELL;
    size_t most = 0;

    for (int c = CUDA_LZ4; c < CUDA_CODECS; c++) {
        const nvcomp_codec *codec = bale_cuda_codec(device, (cuda_codec)c);
        size_t encode = 0, decode = 0;
        if (!codec)
            continue;
        if (codec->compress_temp(cells, BALE_CUDA_CELL, nvcomp_options{}, &encode, total, 0) != 0 ||
            codec->decompress_temp(cells, BALE_CUDA_CELL, bale_nvcomp_decompress_options(), &decode,
                                   total, 0) != 0)
            return SIZE_MAX;
        most = encode > most ? encode : most;
        most = decode > most ? decode : most;
    }
    return most;
}

/* Sets all that lies in device memory; returns its size. */
size_t carve_slot(bale_cuda_slot *slot, const bale_cuda_device *device, uint8_t *memory,
                  uint32_t cells, size_t temp)
{
    carver c = {memory, 0};
    cuda_lists *lists = &slot->lists;

    carve(&c, &lists->raw, (size_t)cells * BALE_CUDA_CELL);
    carve(&c, &lists->packed, cells * device->packed_cell);
    if (device->settings.verify && device->settings.nvcomp)
        carve(&c, &lists->back, (size_t)cells * BALE_CUDA_CELL);
    lists->packed_cell = device->packed_cell;
    carve(&c, &lists->raw_places, cells * sizeof(void *));
    carve(&c, &lists->packed_places, cells * sizeof(void *));
    carve(&c, &lists->back_places, cells * sizeof(void *));
    carve(&c, &lists->lengths, cells * sizeof(size_t));
    carve(&c, &lists->packed_lengths, cells * sizeof(size_t));
    carve(&c, &lists->decode_from, cells * sizeof(void *));
    carve(&c, &lists->decode_from_lengths, cells * sizeof(size_t));
    carve(&c, &lists->decode_room, cells * sizeof(size_t));
    carve(&c, &lists->decoded_lengths, cells * sizeof(size_t));
    carve(&c, &lists->statuses, cells * sizeof(int));
    carve(&c, &slot->chunks, cells * sizeof *slot->chunks);
    carve(&c, &slot->results, cells * sizeof *slot->results);
    carve(&c, &slot->moves, cells * sizeof *slot->moves);
    carve(&c, (uint8_t **)&slot->temp, temp);
    slot->temp_bytes = temp;
    return c.at;
}

template <typename T> cudaError_t take_host(T **table, uint32_t cells)
{
    return cudaHostAlloc((void **)table, cells * sizeof **table, cudaHostAllocPortable);
}

cudaError_t open_host(bale_cuda_slot *slot, uint32_t cells)
{
    bale_cuda_host *host = &slot->host;
    cudaError_t error = take_host(&host->chunks, cells);

    if (!error)
        error = take_host((cuda_result **)&host->results, cells);
    if (!error)
        error = take_host(&host->moves, cells);
    host->cells = cells;
    host->raw = (uintptr_t)slot->lists.raw;
    host->packed = (uintptr_t)slot->lists.packed;
    host->raw_cell = BALE_CUDA_CELL;
    host->packed_cell = slot->lists.packed_cell;
    return error;
}

cudaError_t open_event(cudaEvent_t *event, unsigned flags)
{
    return cudaEventCreateWithFlags(event, flags | cudaEventDisableTiming);
}

cudaError_t open_streams(bale_cuda_slot *slot)
{
    cudaError_t error = bale_cuda_open_stream(&slot->stream);

    if (!error)
        error = open_event(&slot->gathered, 0);
    return error ? error : open_event(&slot->done, cudaEventBlockingSync);
}

unsigned warps_for(uint32_t count)
{
    return (count + WARPS - 1) / WARPS;
}

unsigned blocks_for(const bale_cuda_slot *slot, uint32_t count)
{
    return count < slot->device->blocks ? count : slot->device->blocks;
}

/* Takes the chunks' table and what it tells of to the device; the slot's stream waits for that. */
cudaError_t gather(bale_cuda_slot *slot, uint8_t *cells, size_t cell, uint32_t count)
{
    cudaStream_t in = slot->device->in;
    cudaError_t error = bale_cuda_fault_batch(slot);

    if (!error)
        error = cudaMemcpyAsync(slot->chunks, slot->host.chunks, count * sizeof(cuda_chunk),
                                cudaMemcpyHostToDevice, in);
    if (error)
        return error;
    bale_copy::gather<<<blocks_for(slot, count), bale_copy::THREADS, 0, in>>>(
        slot->chunks, count, cells, cell, slot->lists.lengths, slot->results);
    error = cudaPeekAtLastError();
    if (!error)
        error = cudaEventRecord(slot->gathered, in);
    return error ? error : cudaStreamWaitEvent(slot->stream, slot->gathered, 0);
}

bool decompress(bale_cuda_slot *slot, const nvcomp_codec *codec, void **to, uint32_t count)
{
    const cuda_lists *l = &slot->lists;

    return codec->decompress(l->decode_from, l->decode_from_lengths, l->decode_room,
                             l->decoded_lengths, count, slot->temp, slot->temp_bytes, to,
                             bale_nvcomp_decompress_options(), l->statuses, slot->stream) == 0;
}

bool compress(bale_cuda_slot *slot, const nvcomp_codec *codec, uint32_t count)
{
    const cuda_lists *l = &slot->lists;

    return codec->compress(l->raw_places, l->lengths, BALE_CUDA_CELL, count, slot->temp,
                           slot->temp_bytes, l->packed_places, l->packed_lengths, nvcomp_options{},
                           l->statuses, slot->stream) == 0;
}

cudaError_t pack(bale_cuda_slot *slot, cuda_codec which, uint32_t count)
{
    const nvcomp_codec *codec = bale_cuda_codec(slot->device, which);
    const cuda_stub stub = slot->device->stubs[which];

    if (!codec || !compress(slot, codec, count))
        return cudaErrorUnknown;
    bale_cuda_fault_packed(slot);
    bale_chunk_rules::choose<<<warps_for(count), bale_chunk_rules::THREADS, 0, slot->stream>>>(
        slot->chunks, count, which == CUDA_ZSTD, slot->lists, stub, slot->results);
    if (slot->lists.back) {
        if (!decompress(slot, codec, slot->lists.back_places, count))
            return cudaErrorUnknown;
        bale_chunk_rules::compare<<<count, bale_chunk_rules::THREADS, 0, slot->stream>>>(
            slot->chunks, count, slot->lists, slot->results);
    }
    return cudaPeekAtLastError();
}

cudaError_t unpack(bale_cuda_slot *slot, cuda_codec which, uint32_t count)
{
    const nvcomp_codec *codec = bale_cuda_codec(slot->device, which);

    if (!codec || !decompress(slot, codec, slot->lists.raw_places, count))
        return cudaErrorUnknown;
    bale_chunk_rules::settle<<<warps_for(count), bale_chunk_rules::THREADS, 0, slot->stream>>>(
        slot->chunks, count, slot->lists, slot->results);
    return cudaPeekAtLastError();
}

cudaError_t fetch_results(bale_cuda_slot *slot, uint32_t count)
{
    cudaError_t error =
        cudaMemcpyAsync((void *)slot->host.results, slot->results, count * sizeof(cuda_result),
                        cudaMemcpyDeviceToHost, slot->stream);

    return error ? error : cudaEventRecord(slot->done, slot->stream);
}
} // namespace

size_t bale_cuda_slot_size(const struct bale_cuda_device *device, uint32_t cells)
{
    bale_cuda_slot none = {};
    size_t temp = temp_size(device, cells);

    return temp == SIZE_MAX ? SIZE_MAX : carve_slot(&none, device, nullptr, cells, temp);
}

int bale_cuda_slot_open(struct bale_cuda_slot *slot, struct bale_cuda_device *device,
                        uint8_t *memory, uint32_t cells)
{
    cudaError_t error;

    slot->device = device;
    carve_slot(slot, device, memory, cells, temp_size(device, cells));
    error = open_host(slot, cells);
    if (!error)
        error = open_streams(slot);
    if (!error) {
        const unsigned threads = bale_chunk_rules::THREADS;
        bale_chunk_rules::set_places<<<(cells + threads - 1) / threads, threads, 0, slot->stream>>>(
            slot->lists, cells);
        error = cudaStreamSynchronize(slot->stream);
    }
    return bale_cuda_error(error);
}

void bale_cuda_slot_close(struct bale_cuda_slot *slot)
{
    if (slot->gathered)
        cudaEventDestroy(slot->gathered);
    if (slot->done)
        cudaEventDestroy(slot->done);
    if (slot->stream)
        cudaStreamDestroy(slot->stream);
    cudaFreeHost(slot->host.chunks);
    cudaFreeHost((void *)slot->host.results);
    cudaFreeHost(slot->host.moves);
    memset(slot, 0, sizeof *slot);
}

const struct bale_cuda_host *bale_cuda_slot_host(const struct bale_cuda_slot *slot)
{
    return &slot->host;
}

int bale_cuda_slot_use(struct bale_cuda_slot *slot)
{
    return bale_driver_context_use(slot->device->context);
}

int bale_cuda_encode(struct bale_cuda_slot *slot, enum cuda_codec codec, uint32_t count)
{
    cudaError_t error = gather(slot, slot->lists.raw, BALE_CUDA_CELL, count);

    if (!error) {
        bale_chunk_rules::
            keep_raw<<<warps_for(count), bale_chunk_rules::THREADS, 0, slot->stream>>>(
                slot->chunks, count, slot->lists, slot->results);
        error = cudaPeekAtLastError();
    }
    if (!error && codec != CUDA_STORE)
        error = pack(slot, codec, count);
    return bale_cuda_error(error ? error : fetch_results(slot, count));
}

int bale_cuda_decode(struct bale_cuda_slot *slot, enum cuda_codec codec, uint32_t count)
{
    cudaError_t error = gather(slot, slot->lists.packed, slot->lists.packed_cell, count);

    if (!error) {
        bale_chunk_rules::check<<<warps_for(count), bale_chunk_rules::THREADS, 0, slot->stream>>>(
            slot->chunks, count, codec == CUDA_ZSTD, slot->lists, slot->device->stubs[codec],
            slot->results);
        error = cudaPeekAtLastError();
    }
    if (!error && codec != CUDA_STORE)
        error = unpack(slot, codec, count);
    return bale_cuda_error(error ? error : fetch_results(slot, count));
}

int bale_cuda_scatter(struct bale_cuda_slot *slot, uint32_t count)
{
    cudaStream_t out = slot->device->out;
    cudaError_t error = cudaMemcpyAsync(slot->moves, slot->host.moves, count * sizeof(cuda_move),
                                        cudaMemcpyHostToDevice, out);

    if (!error) {
        bale_copy::scatter<<<blocks_for(slot, count), bale_copy::THREADS, 0, out>>>(slot->moves,
                                                                                    count);
        error = cudaPeekAtLastError();
    }
    return bale_cuda_error(error ? error : cudaEventRecord(slot->done, out));
}

int bale_cuda_wait(struct bale_cuda_slot *slot)
{
    return bale_cuda_error(cudaEventSynchronize(slot->done));
}
