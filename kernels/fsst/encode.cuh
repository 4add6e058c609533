/* fsst on the device: encoding raw cells to packed ones, with the symbols of their frame's part. A
 * block for a chunk, a thread for a split. A thread writes its codes to a row in shared memory,
 * which has room for those of bytes that shrink well, so that many blocks run beside each other. A
 * split whose codes take more is only counted from there on, and parsed once more when its place in
 * the packed cell is known. */
#ifndef BALE_KERNELS_FSST_ENCODE_CUH
#define BALE_KERNELS_FSST_ENCODE_CUH

#include "kernels/codec/bytes.cuh"
#include "kernels/codec/lists.h"
#include "kernels/codec/shared.cuh"
#include "kernels/fsst/block.cuh"
#include "kernels/fsst/split.cuh"

namespace bale_fsst
{
/* An odd number, so that threads that are at the same word of their rows use different banks; and
 * as many as let four blocks run on a multiprocessor. */
constexpr uint32_t CODE_WORDS = SPLIT * 93 / 512 | 1;

struct encode_shared {
    uint32_t rows[SPLITS * CODE_WORDS + 1]; /* copies read a word behind a row */
    matcher m;
    uint32_t length[SPLITS]; /* of the splits' codes */
    uint32_t at[SPLITS];     /* where they go, behind the lengths */
    uint32_t sums[WARPS_MAX];
    uint32_t least, most;
};

/* Codes that become words of a row, as long as there is room. */
class row_writer
{
  public:
    __device__ explicit row_writer(uint32_t *row) : row_(row)
    {
    }

    /* One byte or two, the first one lowest. */
    __device__ void put(uint32_t bytes, uint32_t count)
    {
        held_ |= (uint64_t)bytes << 8 * (length_ % 4);
        length_ += count;
        if (length_ % 4 < count)
            flush(length_ / 4 - 1);
    }

    __device__ void end()
    {
        if (length_ % 4 != 0)
            flush(length_ / 4);
    }

    __device__ uint32_t length() const
    {
        return length_;
    }

  private:
    __device__ void flush(uint32_t word)
    {
        if (word < CODE_WORDS)
            row_[word] = (uint32_t)held_;
        held_ >>= 32;
    }

    uint32_t *row_;
    uint64_t held_ = 0;
    uint32_t length_ = 0;
};

/* Codes that go to any address, as words where all of a word is theirs. */
class cell_writer
{
  public:
    __device__ explicit cell_writer(uint8_t *to)
        : to_(to - (uintptr_t)to % 4), first_((uint32_t)((uintptr_t)to % 4)), length_(first_)
    {
    }

    __device__ void put(uint32_t bytes, uint32_t count)
    {
        held_ |= (uint64_t)bytes << 8 * (length_ % 4);
        length_ += count;
        if (length_ % 4 < count) {
            flush(length_ / 4 * 4 - 4, 4);
            held_ >>= 32;
        }
    }

    __device__ void end()
    {
        flush(length_ / 4 * 4, length_ % 4);
    }

  private:
    __device__ void flush(uint32_t at, uint32_t count)
    {
        if (count == 4 && at >= first_) {
            *(uint32_t *)(to_ + at) = (uint32_t)held_;
            return;
        }
        for (uint32_t i = 0; i < count; i++)
            if (at + i >= first_)
                to_[at + i] = (uint8_t)(held_ >> 8 * i);
    }

    uint8_t *to_;
    uint32_t first_; /* bytes of the first word that belong to others */
    uint32_t length_;
    uint64_t held_ = 0;
};

/* By a thread: parses its split of a chunk to a writer. */
template <typename WRITER>
__device__ inline void parse_split(const matcher *m, const uint8_t *raw, uint32_t raw_length,
                                   WRITER *out)
{
    const uint32_t length = split_length(raw_length);
    split_reader in(raw + threadIdx.x * SPLIT, length);

    for (uint32_t at = 0; at < length;) {
        const match found = match_at(m, in.eight(), length - at);
        const bool literal = found.item >= LITERAL;
        out->put(literal ? ESCAPE | (found.item - LITERAL) << 8 : found.item, literal ? 2 : 1);
        at += found.length;
        in.go_on(found.length);
    }
    out->end();
}

/* By a block: parses the splits to rows, and sets what is in s about their lengths. */
__device__ inline void parse_rows(encode_shared *s, const uint8_t *raw, uint32_t raw_length)
{
    row_writer out(s->rows + threadIdx.x * CODE_WORDS);

    parse_split(&s->m, raw, raw_length, &out);
    s->length[threadIdx.x] = out.length();
    if (out.length() > 0) {
        atomicMin(&s->least, out.length());
        atomicMax(&s->most, out.length());
    }
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

/* By a block: the codes of all splits. */
__device__ inline void write_codes(const encode_shared *s, const uint8_t *raw, uint32_t raw_length,
                                   uint8_t *out)
{
    const uint32_t splits = (raw_length + SPLIT - 1) / SPLIT;

    for (uint32_t i = threadIdx.x / 32; i < splits; i += THREADS / 32)
        if (s->length[i] <= 4 * CODE_WORDS)
            bale_bytes::copy_to_unaligned(
                out + s->at[i], (const uint8_t *)(s->rows + i * CODE_WORDS), s->length[i]);
    if (s->length[threadIdx.x] > 4 * CODE_WORDS) {
        cell_writer again(out + s->at[threadIdx.x]);
        parse_split(&s->m, raw, raw_length, &again);
    }
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
    __syncthreads();
    parse_rows(s, raw, raw_length);
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

__global__ void __launch_bounds__(THREADS, 4) encode(const cuda_chunk *chunks, cuda_lists lists)
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
