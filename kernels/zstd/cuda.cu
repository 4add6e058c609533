/* zstd (spec.md) in the CUDA engine: nvCOMP's, and what nvCOMP does not check or do of the
 * specification. */
#include "kernels/codec/launch.cuh"
#include "kernels/codec/nvcomp.cuh"

namespace
{
constexpr unsigned THREADS = 32; /* each reads the headers of one stream */

/* A frame of one byte. */
constexpr uint8_t stub[] = {0x28, 0xB5, 0x2F, 0xFD, 0x20, 1, 0x09, 0, 0, 0};

/* Positions and bits in a frame (RFC 8878, 3.1.1). */
constexpr uint32_t DESCRIPTOR = 4, WINDOW = 5;
constexpr uint32_t SINGLE_SEGMENT = 0x20, DICTIONARY_OR_RESERVED = 0x0b, CHECKSUM = 4;
constexpr uint32_t HEADER_MAX = 18, BLOCK_HEADER = 3, BLOCK_MAX = 128u << 10, CHECKSUM_BYTES = 4;
constexpr uint32_t BLOCK_RAW = 0, BLOCK_RLE = 1, BLOCK_RESERVED = 3;

/* The length of a frame's header, or 0 if the specification refuses it. At least HEADER_MAX bytes
 * may be read. */
__device__ uint32_t header_length(const uint8_t *in, uint32_t raw_length, uint32_t chunk_size)
{
    const uint32_t descriptor = in[DESCRIPTOR], size_flag = descriptor >> 6;
    const bool single = descriptor & SINGLE_SEGMENT;
    uint64_t window = 0, content = 0;
    uint32_t at = WINDOW, content_bytes = size_flag ? 1u << size_flag : single;

    if (in[0] != 0x28 || in[1] != 0xB5 || in[2] != 0x2F || in[3] != 0xFD ||
        descriptor & DICTIONARY_OR_RESERVED)
        return 0;
    if (!single) {
        window = (uint64_t)1 << (10 + (in[at] >> 3));
        window += window / 8 * (in[at] & 7);
        at++;
    }
    for (uint32_t i = 0; i < content_bytes; i++)
        content |= (uint64_t)in[at + i] << 8 * i;
    if (content_bytes == 2)
        content += 256;
    if (content_bytes > 0 && content != raw_length)
        return 0;
    if ((single ? content : window) > chunk_size)
        return 0;
    return at + content_bytes;
}

/* Whether the headers of the frame and its blocks say that the bytes are exactly one frame that the
 * specification allows. nvCOMP's decoder does not check that, and some bytes make it run for ever.
 */
__device__ bool is_one_frame(const uint8_t *in, uint32_t length, uint32_t raw_length,
                             uint32_t chunk_size)
{
    uint8_t head[HEADER_MAX];
    uint32_t at;

    for (uint32_t i = 0; i < HEADER_MAX; i++)
        head[i] = i < length ? in[i] : 0;
    at = header_length(head, raw_length, chunk_size);
    if (at == 0)
        return false;
    for (bool last = false; !last;) {
        if (length < at + BLOCK_HEADER)
            return false;
        uint32_t header = in[at] | (uint32_t)in[at + 1] << 8 | (uint32_t)in[at + 2] << 16;
        uint32_t type = header >> 1 & 3, size = header >> 3;
        last = header & 1;
        if (type == BLOCK_RESERVED || size > BLOCK_MAX ||
            ((type == BLOCK_RAW || type == BLOCK_RLE) && size > raw_length))
            return false;
        at += BLOCK_HEADER + (type == BLOCK_RLE ? 1 : size);
        if (at > length)
            return false;
    }
    return at + (head[DESCRIPTOR] & CHECKSUM ? CHECKSUM_BYTES : 0) == length;
}

/* nvCOMP declares a window of 1 MiB for every chunk, but the specification allows no more than the
 * chunk size. No match reaches back beyond the chunk's start, so a window of the chunk size, which
 * is a power of two, is also true. The length of the header stays the same. */
__device__ void fit_window(uint8_t *in, uint32_t length, uint32_t chunk_size)
{
    const uint32_t least = (uint32_t)(31 - __clz((int)chunk_size) - 10) << 3;

    if (length > WINDOW && !(in[DESCRIPTOR] & SINGLE_SEGMENT) && in[WINDOW] > least)
        in[WINDOW] = (uint8_t)least;
}

/* Runs after nvCOMP's encoder. Makes each stream one that the specification allows; if that is not
 * possible, its chunk is stored raw. */
__global__ void __launch_bounds__(THREADS)
    fit_streams(const cuda_chunk *chunks, uint32_t count, cuda_lists lists)
{
    const uint32_t c = blockIdx.x * THREADS + threadIdx.x;

    if (c >= count)
        return;
    const cuda_chunk chunk = chunks[c];
    uint8_t *packed = lists.packed + c * lists.packed_cell;
    const size_t length = lists.packed_lengths[c];

    if (lists.statuses[c] != 0 || length == 0 || length > chunk.limit)
        return; /* is stored raw */
    fit_window(packed, (uint32_t)length, chunk.chunk_size);
    if (!is_one_frame(packed, (uint32_t)length, chunk.raw_length, chunk.chunk_size))
        lists.packed_lengths[c] = 0;
}

/* The stub in device memory. */
__device__ alignas(16) const uint8_t one_byte[] = {0x28, 0xB5, 0x2F, 0xFD, 0x20, 1, 0x09, 0, 0, 0};
static_assert(sizeof one_byte == sizeof stub, "two copies of the stub");

/* Runs before nvCOMP's decoder. Replaces each stream that the specification does not allow by the
 * stub. The stub decodes to one byte, so the chunk is refused for its length: a chunk of one byte
 * is never compressed. */
__global__ void __launch_bounds__(THREADS)
    refuse_streams(const cuda_chunk *chunks, uint32_t count, cuda_lists lists)
{
    const uint32_t c = blockIdx.x * THREADS + threadIdx.x;

    if (c >= count ||
        is_one_frame((const uint8_t *)lists.decode_from[c], (uint32_t)lists.decode_from_lengths[c],
                     (uint32_t)lists.decode_room[c], chunks[c].chunk_size))
        return;
    lists.decode_from[c] = one_byte;
    lists.decode_from_lengths[c] = sizeof one_byte;
}

unsigned blocks_for(const cuda_batch *b)
{
    return (b->count + THREADS - 1) / THREADS;
}

cudaError_t encode(const cuda_batch *b)
{
    return bale_launch::in_order([b] { return bale_nvcomp::encode<NVCOMP_ZSTD>(b); },
                                 [b] {
                                     return bale_launch::start(fit_streams, blocks_for(b), THREADS,
                                                               0, b->stream, b->chunks, b->count,
                                                               b->lists);
                                 });
}

cudaError_t decode(const cuda_batch *b)
{
    return bale_launch::in_order(
        [b] {
            return bale_launch::start(refuse_streams, blocks_for(b), THREADS, 0, b->stream,
                                      b->chunks, b->count, b->lists);
        },
        [b] { return bale_nvcomp::decode<NVCOMP_ZSTD>(b); });
}

constexpr cuda_codec_ops steps()
{
    cuda_codec_ops ops = bale_nvcomp::steps<NVCOMP_ZSTD>(stub, sizeof stub);

    ops.encode = encode;
    ops.decode = decode;
    return ops;
}
} // namespace

extern const cuda_codec_ops bale_cuda_zstd = steps();
