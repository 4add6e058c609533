/* cusz on the device: codes on their way into a chunk, by a warp for a segment. */
#ifndef BALE_KERNELS_CUSZ_BITS_CUH
#define BALE_KERNELS_CUSZ_BITS_CUH

#include "kernels/cusz/elements.cuh"

namespace bale_cusz
{
/* What is written of a chunk by one block: the words [begin, end) of its stored bytes, in which the
 * codes of its segments begin. What is left of the last word is the next segments', so the block
 * goes on with these as far as it needs. last: the chunk's last word with codes, of which only
 * bytes are written, for behind them the list begins; the block keeps it in shared memory. */
struct target {
    uint32_t *words;
    uint32_t begin, end, last;
    uint32_t *last_word;

    __device__ void add(uint32_t at, uint32_t bits) const
    {
        if (at < begin || at >= end || bits == 0)
            return;
        if (at == last)
            atomicOr(last_word, bits);
        else
            atomicOr(&words[at], swapped(bits));
    }
};

/* By a warp: bits on their way to their place. */
class bit_writer
{
  public:
    /* buffer: zeros; so it is left. */
    __device__ bit_writer(uint32_t *buffer, const target &to, uint32_t at)
        : buffer_(buffer), to_(to), word_(at / 32), held_(at % 32)
    {
    }

    __device__ bool is_behind() const
    {
        return word_ >= to_.end;
    }

    /* By all lanes: where the lane's bits begin, if it has so many; end() follows. */
    __device__ void begin(uint32_t bits)
    {
        const uint32_t upto = bale_warp::inclusive_sum(bits);

        at_ = held_ + upto - bits;
        held_ += __shfl_sync(ALL, upto, 31);
    }

    /* By a lane: 32 bits at most. */
    __device__ void put(uint32_t value, uint32_t bits)
    {
        const uint64_t placed = bits ? (uint64_t)value << (64 - bits) >> at_ % 32 : 0;

        if ((uint32_t)(placed >> 32))
            atomicOr(&buffer_[at_ / 32], (uint32_t)(placed >> 32));
        if ((uint32_t)placed)
            atomicOr(&buffer_[at_ / 32 + 1], (uint32_t)placed);
        at_ += bits;
    }

    /* By all lanes: hands on the words that are full, or at the last one's end all. */
    __device__ void end(bool all)
    {
        const uint32_t full = held_ / 32;

        __syncwarp();
        if (full == 0 && !all)
            return;
        const uint32_t left = buffer_[full];
        for (uint32_t k = bale_warp::lane(); k < full; k += 32)
            to_.add(word_ + k, buffer_[k]);
        __syncwarp();
        for (uint32_t k = bale_warp::lane(); k <= full; k += 32)
            buffer_[k] = 0;
        __syncwarp();
        word_ += full;
        held_ %= 32;
        if (bale_warp::lane() == 0 && all)
            to_.add(word_, left);
        else if (bale_warp::lane() == 0)
            buffer_[0] = left;
        __syncwarp();
    }

  private:
    uint32_t *buffer_;
    const target &to_;
    uint32_t word_, held_, at_;
};
} // namespace bale_cusz

#endif
