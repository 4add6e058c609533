/* fsst on the device: decoding packed cells to raw ones. The bytes are hostile, those of the part
 * too. A block for a chunk, a thread for a split, whose bytes go to a row in shared memory; from
 * there the block writes whole lines. */
#ifndef BALE_KERNELS_FSST_DECODE_CUH
#define BALE_KERNELS_FSST_DECODE_CUH

#include "kernels/codec/lists.h"
#include "kernels/codec/shared.cuh"
#include "kernels/fsst/block.cuh"
#include "kernels/fsst/rows.cuh"

namespace bale_fsst
{
struct decode_shared {
    rows r;
    symbols s;
    uint32_t sums[WARPS_MAX];
};

/* Symbols that become words of a row. */
class symbol_writer
{
  public:
    __device__ explicit symbol_writer(uint32_t *row) : row_(row)
    {
    }

    /* Up to 8 bytes; the others are zero. */
    __device__ void put(uint64_t bytes, uint32_t length)
    {
        const uint32_t have = length_ % 4, words = (have + length) / 4;
        const uint64_t low = held_ | bytes << 8 * have;
        const uint32_t high = have == 0 ? 0 : (uint32_t)(bytes >> (64 - 8 * have));
        uint32_t *to = row_ + length_ / 4;

        if (words >= 1)
            to[0] = (uint32_t)low;
        if (words >= 2)
            to[1] = (uint32_t)(low >> 32);
        held_ = words == 0 ? (uint32_t)low : words == 1 ? (uint32_t)(low >> 32) : high;
        length_ += length;
    }

    __device__ void end()
    {
        if (length_ % 4 != 0)
            row_[length_ / 4] = held_;
    }

    __device__ uint32_t length() const
    {
        return length_;
    }

  private:
    uint32_t *row_;
    uint32_t held_ = 0; /* the bytes of a word that is not full */
    uint32_t length_ = 0;
};

/* The codes of a split, four at a time, loaded as aligned words some steps before they are used.
 * All threads of a warp step together, whatever the address of their codes, and so wait together. */
class code_reader
{
  public:
    __device__ code_reader(const uint8_t *in, uint32_t length)
        : next_((const uint32_t *)(in - (uintptr_t)in % 4)), end_(in + length),
          shift_(8 * ((uintptr_t)in % 4))
    {
        for (uint32_t i = 0; i < AHEAD; i++)
            words_[i] = load();
    }

    /* Those behind the split may be any. */
    __device__ uint32_t four()
    {
        const uint32_t codes = __funnelshift_r(words_[0], words_[1], shift_);

        for (uint32_t i = 0; i + 1 < AHEAD; i++)
            words_[i] = words_[i + 1];
        words_[AHEAD - 1] = load();
        return codes;
    }

  private:
    static constexpr uint32_t AHEAD = 8;

    __device__ uint32_t load()
    {
        return (const uint8_t *)next_ < end_ ? *next_++ : 0;
    }

    const uint32_t *next_;
    const uint8_t *end_;
    uint32_t shift_;
    uint32_t words_[AHEAD];
};

/* By a thread: decodes its split, which has so many codes, to exactly length bytes. False: it
 * breaks a rule; nothing is written behind the split. */
__device__ inline bool decode_split(const symbols *s, const uint8_t *in, uint32_t codes,
                                    uint32_t *row, uint32_t length)
{
    code_reader reader(in, codes);
    symbol_writer out(row);
    bool literal = false; /* the code before this one is the escape */

    for (uint32_t at = 0; at < codes; at += 4) {
        const uint32_t four = reader.four();
        uint64_t bytes[4];
        uint32_t n[4];
#pragma unroll
        for (uint32_t i = 0; i < 4; i++) { /* before any is stored, so that none waits */
            bytes[i] = s->bytes[four >> 8 * i & 0xff];
            n[i] = s->length[four >> 8 * i & 0xff];
        }
#pragma unroll
        for (uint32_t i = 0; i < 4 && at + i < codes; i++) {
            const uint32_t code = four >> 8 * i & 0xff;
            const uint64_t value = literal ? code : bytes[i];
            const uint32_t size = literal ? 1 : n[i];
            literal = !literal && code == ESCAPE;
            if ((size == 0 && !literal) || size > length - out.length())
                return false;
            out.put(value, size);
        }
    }
    out.end();
    return !literal && out.length() == length;
}

/* By a thread: the stored length of its split; the lengths are there. */
__device__ inline uint32_t stored_length(const uint8_t *in, uint32_t width)
{
    const uint32_t least = in[0] | (uint32_t)in[1] << 8;
    const uint32_t bit = threadIdx.x * width, end = (bit + width + 7) / 8;
    uint32_t bits = 0;

    for (uint32_t i = bit / 8; i < end; i++)
        bits |= (uint32_t)in[HEAD + i] << 8 * (i - bit / 8);
    return least + (bits >> bit % 8 & ((1u << width) - 1));
}

/* By a block: decodes a chunk to the rows. False, for all threads: it breaks a rule. */
__device__ inline bool decode_chunk(decode_shared *s, const uint8_t *in, uint32_t length,
                                    uint32_t raw_length)
{
    const uint32_t splits = (raw_length + SPLIT - 1) / SPLIT;
    const bool mine = threadIdx.x < splits;
    uint32_t codes;

    if (length < HEAD || in[2] > WIDTH_MAX)
        return false;
    const uint32_t width = in[2], bits = splits * width, head = HEAD + (bits + 7) / 8;
    if (head > length || (bits % 8 != 0 && in[head - 1] >> bits % 8 != 0))
        return false;
    const uint32_t stored = mine ? stored_length(in, width) : 0;
    const uint32_t at = sum_before(stored, s->sums, &codes);
    if (codes != length - head)
        return false;
    const bool fine =
        !mine || decode_split(&s->s, in + head + at, stored, s->r.words + threadIdx.x * ROW_WORDS,
                              split_length(raw_length));
    return __syncthreads_and(fine);
}

/* To: the chunks' cells. Chunks without a stream are skipped. */
__global__ void __launch_bounds__(THREADS)
    decode(const cuda_chunk *chunks, cuda_lists lists, void *const *to)
{
    const uint32_t c = blockIdx.x, raw_length = chunks[c].raw_length, frame = chunks[c].frame;
    const uint8_t *in = (const uint8_t *)lists.decode_from[c];
    const uint32_t length = (uint32_t)lists.decode_from_lengths[c];
    decode_shared *s = (decode_shared *)bale_shared::memory;

    if (length == 0)
        return;
    bool fine =
        read_part(lists.parts + (size_t)frame * BALE_CUDA_PART, lists.made[frame].length, &s->s);
    __syncthreads();
    fine = fine && decode_chunk(s, in, length, raw_length);
    if (fine)
        store_rows(&s->r, (uint8_t *)to[c], raw_length);
    if (threadIdx.x == 0) {
        lists.statuses[c] = !fine;
        lists.decoded_lengths[c] = fine ? raw_length : 0;
    }
}
} // namespace bale_fsst

#endif
