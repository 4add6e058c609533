/* fsst on the device: encoding raw cells to packed ones, with the symbols of their frame's part. A
 * block for a chunk, a thread for a split. A thread writes its codes to its row, over the bytes that
 * it has parsed. If codes take more than those, it only counts from there on, and parses once more
 * when their place in the packed cell is known; few splits begin so, or the chunk is stored raw. */
#ifndef BALE_KERNELS_FSST_ENCODE_CUH
#define BALE_KERNELS_FSST_ENCODE_CUH

#include "kernels/codec/bytes.cuh"
#include "kernels/codec/lists.h"
#include "kernels/codec/shared.cuh"
#include "kernels/fsst/block.cuh"
#include "kernels/fsst/rows.cuh"

namespace bale_fsst
{
struct encode_shared {
    rows r;
    matcher m;
    uint32_t length[SPLITS]; /* of the splits' codes */
    uint32_t at[SPLITS];     /* where they go, behind the lengths */
    uint32_t sums[WARPS_MAX];
    uint32_t least, most;
    uint32_t over[SPLITS / 32]; /* bits: the split's codes are not in its row */
};

/* Codes that become words of a row. */
class row_writer
{
  public:
    __device__ explicit row_writer(uint32_t *row) : row_(row)
    {
    }

    /* One byte or two, the first one lowest. parsed: bytes of the row that are not needed. */
    __device__ void put(uint32_t bytes, uint32_t count, uint32_t parsed)
    {
        held_ |= (uint64_t)bytes << 8 * (length_ % 4);
        length_ += count;
        if (length_ % 4 < count)
            flush(length_ / 4 - 1, parsed);
    }

    /* The last bytes. The row is not needed any more. */
    __device__ void end()
    {
        if (length_ % 4 != 0)
            flush(length_ / 4, ROW);
    }

    __device__ uint32_t length() const
    {
        return length_;
    }

    __device__ bool over() const
    {
        return over_;
    }

  private:
    __device__ void flush(uint32_t word, uint32_t parsed)
    {
        over_ = over_ || 4 * word + 4 > parsed;
        if (!over_)
            row_[word] = (uint32_t)held_;
        held_ >>= 32;
    }

    uint32_t *row_;
    uint64_t held_ = 0;
    uint32_t length_ = 0;
    bool over_ = false;
};

/* Calls put(codes, how many, bytes parsed) for each step of a split; load(at) has the bytes there. */
template <typename LOAD, typename PUT>
__device__ inline void parse(const matcher *m, uint32_t length, LOAD load, PUT put)
{
    for (uint32_t at = 0; at < length;) {
        const match found = match_at(m, load(at), length - at);
        at += found.length;
        if (found.item < LITERAL)
            put(found.item, 1u, at);
        else
            put(ESCAPE | (found.item - LITERAL) << 8, 2u, at);
    }
}

/* By a block: parses the splits, and sets what is in s about their lengths. */
__device__ inline void parse_rows(encode_shared *s, uint32_t raw_length)
{
    const uint32_t length = split_length(raw_length);
    uint32_t *row = s->r.words + threadIdx.x * ROW_WORDS;
    row_writer out(row);

    parse(
        &s->m, length, [row](uint32_t at) { return load_eight(row, at); },
        [&out](uint32_t codes, uint32_t count, uint32_t parsed) { out.put(codes, count, parsed); });
    out.end();
    s->length[threadIdx.x] = out.length();
    if (length > 0) {
        atomicMin(&s->least, out.length());
        atomicMax(&s->most, out.length());
    }
    const uint32_t over = __ballot_sync(bale_warp::ALL, out.over());
    if (bale_warp::lane() == 0)
        s->over[threadIdx.x / 32] = over;
}

/* By a thread: byte i of the packed lengths. */
__device__ inline uint8_t lengths_byte(const encode_shared *s, uint32_t splits, uint32_t width,
                                       uint32_t i)
{
    uint32_t byte = 0;

    for (uint32_t k = 8 * i / width; k < splits && k * width < 8 * i + 8; k++) {
        const uint32_t value = s->length[k] - s->least;
        byte |= k * width >= 8 * i ? value << (k * width - 8 * i) : value >> (8 * i - k * width);
    }
    return (uint8_t)byte;
}

/* By a block: the head and the lengths. */
__device__ inline void write_lengths(const encode_shared *s, uint32_t splits, uint32_t width,
                                     uint8_t *out)
{
    if (threadIdx.x < 2)
        out[threadIdx.x] = (uint8_t)(s->least >> 8 * threadIdx.x);
    if (threadIdx.x == 2)
        out[2] = (uint8_t)width;
    for (uint32_t i = threadIdx.x; i < (splits * width + 7) / 8; i += THREADS)
        out[HEAD + i] = lengths_byte(s, splits, width, i);
}

/* By a thread: parses its split once more, from the raw cell, to where its codes go. */
__device__ inline void parse_to(const encode_shared *s, const uint8_t *raw, uint32_t raw_length,
                                uint8_t *out)
{
    const uint8_t *from = raw + threadIdx.x * SPLIT;
    const uint32_t length = split_length(raw_length);
    const auto load = [from, length](uint32_t at) {
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < SYMBOL && at + i < length; i++)
            bytes |= (uint64_t)from[at + i] << 8 * i;
        return bytes;
    };

    parse(&s->m, length, load, [&out](uint32_t codes, uint32_t count, uint32_t) {
        *out++ = (uint8_t)codes;
        if (count == 2)
            *out++ = (uint8_t)(codes >> 8);
    });
}

/* By a block: the codes of all splits. */
__device__ inline void write_codes(const encode_shared *s, const uint8_t *raw, uint32_t raw_length,
                                   uint8_t *out)
{
    const uint32_t splits = (raw_length + SPLIT - 1) / SPLIT;

    for (uint32_t i = threadIdx.x / 32; i < splits; i += THREADS / 32)
        if (!(s->over[i / 32] >> i % 32 & 1))
            bale_bytes::copy_to_unaligned(
                out + s->at[i], (const uint8_t *)(s->r.words + i * ROW_WORDS), s->length[i]);
    if (s->over[threadIdx.x / 32] >> threadIdx.x % 32 & 1)
        parse_to(s, raw, raw_length, out + s->at[threadIdx.x]);
}

/* By a block: encodes a chunk to out. Returns the length, or 0 if it is more than limit. */
__device__ inline uint32_t encode_chunk(encode_shared *s, const uint8_t *raw, uint32_t raw_length,
                                        uint32_t limit, uint8_t *out)
{
    const uint32_t splits = (raw_length + SPLIT - 1) / SPLIT;
    uint32_t codes;

    if (threadIdx.x == 0) {
        s->least = 2 * SPLIT;
        s->most = 0;
    }
    load_rows(&s->r, raw, raw_length);
    __syncthreads();
    parse_rows(s, raw_length);
    s->at[threadIdx.x] = sum_before(s->length[threadIdx.x], s->sums, &codes);
    __syncthreads();
    const uint32_t width = 32 - __clz((int)(s->most - s->least));
    const uint32_t head = HEAD + (splits * width + 7) / 8;
    if (head + codes > limit)
        return 0;
    write_lengths(s, splits, width, out);
    write_codes(s, raw, raw_length, out + head);
    return head + codes;
}

__global__ void __launch_bounds__(THREADS) encode(const cuda_chunk *chunks, cuda_lists lists)
{
    const uint32_t c = blockIdx.x;
    const cuda_chunk chunk = chunks[c];
    const uint32_t part_length = lists.made[chunk.frame].length;
    encode_shared *s = (encode_shared *)bale_shared::memory;
    uint32_t total = 0;

    if (part_length > 0) {
        build_matcher(lists.parts + (size_t)chunk.frame * BALE_CUDA_PART, part_length, &s->m);
        total = encode_chunk(s, lists.raw + (size_t)c * BALE_CUDA_CELL, chunk.raw_length,
                             chunk.limit, lists.packed + c * lists.packed_cell);
    }
    if (threadIdx.x == 0) {
        lists.packed_lengths[c] = total;
        lists.statuses[c] = 0;
    }
}
} // namespace bale_fsst

#endif
